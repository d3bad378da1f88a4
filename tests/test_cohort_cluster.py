"""The local cluster: whoever may talk to a scheduler may run code in it, so strangers may not."""

import subprocess
import sys

import pytest

from harness.cohort import cluster

STRANGER = """
import sys
from distributed import Client, Security
address, security = sys.argv[1], Security.temporary() if sys.argv[2] == "tls" else None
try:
    client = Client(address.replace("tls", sys.argv[2]), timeout=10, security=security)
    print(client.run_on_scheduler(lambda: "let in"))
except OSError as error:  # distributed's CommClosedError is one
    print("refused")
"""


@pytest.mark.parametrize("protocol", ["tcp", "tls"])
def test_nobody_without_its_certificate_is_answered(protocol: str) -> None:
    with cluster.local(1) as client:
        assert client.scheduler is not None
        command = [sys.executable, "-c", STRANGER, str(client.scheduler.address), protocol]
        told = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert told.stdout == "refused\n", told.stderr[-2000:]
        assert client.submit(len, "four").result(timeout=120) == 4
