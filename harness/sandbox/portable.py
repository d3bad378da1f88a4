"""An ordinary process for a submission: what macOS and Windows offer, and `--isolation process` anywhere.

It is a process of its own and no more: nothing keeps it from reading files. One process serves the facts of one module
after another, with fresh modules and reset global state for each; after any failure comes a new one. Clocks are on the
wall; whole frames are read by a thread, as pipes cannot be polled on every system.
"""

import contextlib
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, NoReturn

from harness.errors import GraderFault
from harness.impl import Crashed, Timeout
from harness.sandbox import wire
from harness.sandbox.client import Client, Output, Unhappy
from harness.sandbox.forked import IMPORT_SECONDS, ROOT, WALL_EXTRA, WALL_PER_CPU, environment

BOOT = (
    "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); "
    "import sys; sys.path.insert(0, sys.argv[1]); from harness.sandbox import child, zygote; "
    "zygote.import_libraries(); zygote.forget_the_project(); child.serve_over_standard_streams()"
)
WINDOWS_NEEDS = ("SYSTEMROOT", "TEMP", "TMP")
CHUNK = 1 << 16
START_SECONDS = 120.0


class Portable(Client):
    """A process that answers over its standard streams; what it prints comes over its standard error."""

    def __init__(self) -> None:
        super().__init__()
        self.missing = ["confinement"]
        self._process: subprocess.Popen[bytes] | None = None
        self._clean = False
        self._budget, self._used = 0.0, 0.0

    def wait_until_ready(self) -> None:
        """Nothing is started ahead."""

    def end(self) -> None:
        if self._process is not None:
            self._stop()

    def close(self) -> None:
        self.end()

    def _fresh(self, cpu: float) -> None:
        if not self._clean:
            self.end()
        if self._process is None:
            self._start()
        self.output = Output()
        self._clean = True
        self._budget, self._used = cpu * WALL_PER_CPU + WALL_EXTRA, 0.0

    def _start(self) -> None:
        variables = environment() | {name: os.environ[name] for name in WINDOWS_NEEDS if name in os.environ}
        self._process = subprocess.Popen(
            [sys.executable, "-s", "-P", "-B", "-c", BOOT, str(ROOT)],
            env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self._arrived: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._left = bytearray()
        for stream, take in ((self._process.stdout, self._arrived.put), (self._process.stderr, self._print)):
            assert stream is not None
            threading.Thread(target=_pump, args=(stream, take), daemon=True).start()
        self._budget, self._used = START_SECONDS, 0.0
        reply, _ = wire.read_from_child(self._reader())
        if not isinstance(reply, wire.Ready):
            raise GraderFault("the process of the submission did not start")

    def _print(self, data: bytes) -> None:
        self.output.add(data)

    @contextmanager
    def _importing(self) -> Iterator[None]:
        before = self._budget, self._used
        self._budget, self._used = IMPORT_SECONDS * WALL_PER_CPU, 0.0
        yield
        self._budget, self._used = before

    def _write(self, data: bytes) -> None:
        if self._process is None:
            raise Crashed("its process has ended")
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(data)
            self._process.stdin.flush()
        except OSError:
            self._gone()

    def _reader(self) -> wire.Read:
        def read(size: int) -> bytes:
            while len(self._left) < size:
                started = time.monotonic()
                try:
                    data = self._arrived.get(timeout=max(0.0, self._budget - self._used))
                except queue.Empty:
                    self._stop()
                    raise Timeout(f"no answer after {self._budget:.0f} s", by_load=True) from None
                self._used += time.monotonic() - started
                if not data:
                    self._gone()
                self._left += data
            taken = bytes(self._left[:size])
            del self._left[:size]
            return taken

        return read

    def _request(self, message: object, buffers: list[bytes], expected: type) -> tuple[object, list[memoryview]]:
        self._clean, clean = False, self._clean
        try:
            reply = super()._request(message, buffers, expected)
        except Unhappy:
            self._clean = clean  # it raised, and said so: nothing is half read
            raise
        self._clean = clean
        return reply

    def _gone(self) -> NoReturn:
        status = self._stop(patience=0.5)
        if status is not None and status >= 0:
            raise Crashed(f"the process ended with status {status}: a function must return, not exit")
        raise Crashed("the process was killed, or closed its channel to the grader")

    def _stop(self, patience: float = 0.0) -> int | None:
        """End the process; its own exit status, or None if it had to be killed."""
        process, self._process = self._process, None
        assert process is not None
        try:
            status: int | None = process.wait(timeout=patience)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            status = None
        for stream in (process.stdin, process.stdout, process.stderr):
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()
        return status


def _pump(stream: IO[bytes], take: Callable[[bytes], None]) -> None:
    """Hand over what arrives, and an empty piece at the end."""
    with contextlib.suppress(OSError, ValueError):
        while data := os.read(stream.fileno(), CHUNK):
            take(data)
    take(b"")
