"""A small hostile submission, run in a real child at every start: what it achieves is what is not contained here.

The level of a run is found by effect, never by what should have been switched on.
"""

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

from harness.sandbox.client import Client

SECONDS = 5.0

SOURCE = b"""
import ctypes, os, signal, socket, subprocess, sys

def attempts(secret, folder, listing, grader):
    def reads():
        with open(secret) as file:
            return file.read()
    def lists():
        return bool(os.listdir(listing))
    def writes():
        with open(os.path.join(folder, "written"), "w") as file:
            return file.write("x")
    def forks():
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        return os.waitpid(pid, 0)
    def executes():
        return subprocess.run([sys.executable, "-c", ""], check=True)
    def signals():
        return os.kill(grader, 0) is None
    def datagrams():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            return one.sendto(b"x", ("127.0.0.1", 9))
    def connects():
        with socket.socket() as one:
            one.settimeout(1)
            return one.connect_ex(("127.0.0.1", 9)) in (0, 111)
    def memory():
        return len(bytearray(3 << 30))
    def achieved(attempt):
        try:
            return bool(attempt())
        except BaseException:
            return False
    return [
        attempt.__name__
        for attempt in (reads, lists, writes, forks, executes, signals, datagrams, connects, memory)
        if achieved(attempt)
    ]
"""

WORDS = {
    "reads": "reading the grader's files",
    "lists": "listing folders",
    "writes": "writing files",
    "forks": "starting processes",
    "executes": "running programs",
    "signals": "signalling the grader",
    "datagrams": "UDP",
    "connects": "TCP",
    "memory": "3 GB of memory",
}
FLOOR = {"reads", "writes", "signals", "memory"}
"""What even the level `partial` contains."""


class Level(IntEnum):
    """How well a submission is contained. PROCESS: a process of its own, and no more."""

    NONE = 0
    PROCESS = 1
    PARTIAL = 2
    FULL = 3

    def __str__(self) -> str:
        return self.name.lower()


class Isolation(NamedTuple):
    """The level that was found, and what is not contained."""

    level: Level
    leaks: list[str]


def probe(client: Client) -> Isolation:
    """Run the hostile submission in a child of `client`."""
    with _bait() as (secret, folder):
        client.begin({"hostile": SOURCE}, 0, SECONDS)
        client.import_module("hostile")
        arguments = [str(secret), str(folder), str(folder.parent), os.getpid()]
        achieved = client.invoke("call", "hostile", "attempts", arguments, {})
        client.end()
    return judge(achieved)


def judge(achieved: Any) -> Isolation:
    """The level of what an attempt achieved."""
    names = [name for name in WORDS if name in achieved]
    level = Level.FULL if not names else Level.PROCESS if FLOOR & set(names) else Level.PARTIAL
    return Isolation(level, [WORDS[name] for name in names])


@contextmanager
def _bait() -> Iterator[tuple[Path, Path]]:
    """A file like the grader's own: in a folder that only this user may enter."""
    folder = Path(tempfile.mkdtemp(prefix="grader-"))
    try:
        secret = folder / "secret"
        secret.write_text(secrets.token_hex(), encoding="ascii")
        secret.chmod(0o600)
        yield secret, folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
