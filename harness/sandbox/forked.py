"""A confined child of a zygote for each fact: what Linux offers.

A child that breaks a limit or its channel is killed from outside. Three clocks run while the grader waits for it: what
it computes (CPU time, scaled by a loop that the zygote timed); what it sleeps, which is neither computing nor waiting
for a core; and the wall, generously, behind both. Only the last can be the fault of a loaded machine.
"""

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from harness.errors import GraderFault
from harness.impl import Crashed, Timeout
from harness.sandbox import wire
from harness.sandbox.child import CONFINEMENT_FAILED
from harness.sandbox.client import Client, Output

ROOT = Path(__file__).parent.parent.parent
# Ctrl-C reaches every process of the terminal; this one ends when its client does, without a word.
BOOT = (
    "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); "
    "import sys; sys.path.insert(0, sys.argv[1]); import socket; from harness.sandbox import zygote; "
    "zygote.main(socket.socket(fileno=int(sys.argv[2])), frozenset(sys.argv[3].split(',')))"
)
PASSED_ON = ("PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH")
NOMINAL_CALIBRATION = 0.0025
"""CPU seconds of the zygote's loop on the machine where limits were chosen; a slower one gets longer limits."""

ZYGOTE_SECONDS = 120.0
"""How long a zygote may take to start or to obey, by the clock: on a machine with twenty processes to a core, 30 s were
too few."""

IMPORT_SECONDS = 10.0
WALL_PER_CPU, WALL_EXTRA = 6.0, 2.0
TICK = 0.02
GLANCE = 0.005
"""Seconds in which most answers come. Longer waits are divided into sleep and work, which takes 0.1 ms a look."""
CHUNK = 1 << 20


def environment() -> dict[str, str]:
    """What a submission's process sees of the environment: an allow-list, and one thread for every library."""
    threads = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "MKL", "OPENBLAS")}
    fixed = {"PYTHONHASHSEED": "0", "PYTHONUTF8": "1", "MALLOC_ARENA_MAX": "2"}
    return {name: os.environ[name] for name in PASSED_ON if name in os.environ} | threads | fixed


class Forked(Client):
    """A zygote and at most one child. without: layers to leave off, for tests of what is then said."""

    def __init__(self, without: frozenset[str] = frozenset()) -> None:
        super().__init__()
        self._control, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-s", "-P", "-B", "-c", BOOT, str(ROOT), str(theirs.fileno()), ",".join(without)]
            self._zygote = subprocess.Popen(
                command, pass_fds=[theirs.fileno()], env=environment(), stdin=subprocess.DEVNULL, cwd="/"
            )
        self._ready, self._speed = False, 1.0
        self._pid, self._channel, self._printed = 0, -1, -1
        self._budget, self._charged_before, self._slept = 0.0, 0.0, 0.0

    def wait_until_ready(self) -> None:
        if self._ready:
            return
        word, speed, *missing = self._answer_of_zygote(ZYGOTE_SECONDS).split(" ")
        if word != "ready":
            raise GraderFault(f"the zygote said {word!r}")
        self.missing = missing[0].split(",") if missing else []
        self._speed = max(1.0, float(speed) / NOMINAL_CALIBRATION)
        self._ready = True

    def end(self) -> None:
        if self._pid:
            self._reap()

    def close(self) -> None:
        try:
            if self._ready:
                self.end()
        except GraderFault:
            pass  # the zygote is gone, and its child with it
        self._control.close()
        try:
            self._zygote.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._zygote.kill()
            self._zygote.wait()

    def _fresh(self, cpu: float) -> None:
        self.end()
        self.output = Output()
        channel, theirs = socket.socketpair()
        printed, print_to = os.pipe()
        limit = cpu * self._speed
        backstop = int(limit + 2 * IMPORT_SECONDS * self._speed) + 2
        try:
            socket.send_fds(self._control, [f"fork {backstop}\n".encode()], [theirs.fileno(), print_to])
        except OSError as error:
            raise GraderFault(f"the zygote does not answer: {error}") from None
        finally:
            theirs.close()
            os.close(print_to)
        self._channel, self._printed = channel.detach(), printed
        os.set_blocking(self._channel, False)
        os.set_blocking(self._printed, False)
        self._pid = int(self._answer_of_zygote(ZYGOTE_SECONDS).removeprefix("pid "))
        self._budget, self._charged_before, self._slept = IMPORT_SECONDS * self._speed, 0.0, 0.0
        try:
            wire.read_from_child(self._reader())
        except (Crashed, Timeout) as ended:
            raise GraderFault(f"a child could not be confined: {ended} {self.output.text()[:500]}") from None
        self._budget, self._charged_before, self._slept = limit, self._cpu(), 0.0

    @contextmanager
    def _importing(self) -> Iterator[None]:
        budget, used, slept = self._budget, self._cpu() - self._charged_before, self._slept
        self._budget, self._charged_before, self._slept = IMPORT_SECONDS * self._speed, self._cpu(), 0.0
        yield
        self._budget, self._charged_before, self._slept = budget, self._cpu() - used, slept

    # ---- bytes and clocks ----

    def _write(self, data: bytes) -> None:
        view, started = memoryview(data), time.monotonic()
        while view:
            try:
                view = view[os.write(self._channel, view[:CHUNK]) :]
            except BlockingIOError:
                self._wait(select.POLLOUT, started)
            except OSError:
                self._gone()

    def _reader(self) -> wire.Read:
        started = time.monotonic()

        def read(size: int) -> bytes:
            parts, missing = [], size
            while missing:
                try:
                    part = os.read(self._channel, min(missing, CHUNK))
                except BlockingIOError:
                    self._wait(select.POLLIN, started)
                    continue
                except OSError:
                    part = b""
                if not part:
                    self._gone()
                parts.append(part)
                missing -= len(part)
            return b"".join(parts)

        return read

    def _wait(self, event: int, started: float) -> None:
        """Wait until the channel is ready, draining what is printed; ends the child when a clock has run out."""
        poll = select.poll()
        poll.register(self._channel, event)
        poll.register(self._printed, select.POLLIN)
        wall = self._budget * WALL_PER_CPU + WALL_EXTRA
        looked: tuple[float, float] | None = None  # when, and how busy the child had been by then
        while True:
            used, elapsed = self._cpu() - self._charged_before, time.monotonic() - started
            if used > self._budget:
                self._reap()
                raise Timeout(f"it used up its {self._budget:.1f} s of computing time")
            if self._slept > self._budget + WALL_EXTRA:
                self._reap()
                raise Timeout(f"it slept for {self._slept:.0f} s, or waited for what never came")
            if elapsed > wall:
                self._reap()
                raise Timeout(f"no answer after {wall:.0f} s", by_load=True)
            patience = max(TICK, min(self._budget - used, wall - elapsed, 1.0)) if looked else GLANCE
            for descriptor, _ in poll.poll(1000 * patience):
                if descriptor == self._channel:
                    return
                if not self._drain():
                    poll.unregister(self._printed)
            before, looked = looked, (time.monotonic(), self._cpu() + self._waited_for_a_core())
            if before:
                self._slept += max(0.0, looked[0] - before[0] - (looked[1] - before[1]))

    def _drain(self) -> bool:
        """Take what was printed so far; False when the pipe is closed."""
        try:
            while data := os.read(self._printed, CHUNK):
                self.output.add(data)
        except BlockingIOError:
            return True
        return False

    def _cpu(self) -> float:
        """CPU seconds of the child: its process clock, which any process may read (clock_getcpuclockid(3))."""
        try:
            return time.clock_gettime((~self._pid << 3) | 2)
        except OSError:
            return 0.0  # it has ended; the channel will say so

    def _waited_for_a_core(self) -> float:
        """Seconds that the child's threads were ready to run and did not; 0 on kernels that do not tell."""
        waited = 0.0
        with contextlib.suppress(OSError, ValueError, IndexError):
            for task in os.listdir(f"/proc/{self._pid}/task"):
                with open(f"/proc/{self._pid}/task/{task}/schedstat", encoding="ascii") as file:
                    waited += int(file.read().split()[1]) / 1e9
        return waited

    # ---- ends ----

    def _reap(self) -> int:
        """Kill the child and wait for it; returns its status, as waitpid gives it."""
        pid, self._pid = self._pid, 0
        try:
            self._control.sendall(f"end {pid}\n".encode())
        except OSError as error:
            raise GraderFault(f"the zygote does not answer: {error}") from None
        status = int(self._answer_of_zygote(ZYGOTE_SECONDS).removeprefix("status "))
        self._drain()
        os.close(self._channel)
        os.close(self._printed)
        self._channel = self._printed = -1  # the numbers may soon be those of other files
        return status

    def _gone(self) -> NoReturn:
        """The channel is closed: find out how the child ended."""
        if not self._pid:
            raise Crashed("its process has ended")
        time.sleep(TICK)  # one that died is a zombie by now; one that only closed its channel is killed
        status = self._reap()
        if os.WIFEXITED(status):
            code = os.WEXITSTATUS(status)
            if code == CONFINEMENT_FAILED:
                raise Crashed("it could not be confined")
            raise Crashed(f"the process ended with status {code}: a function must return, not exit")
        number = os.WTERMSIG(status)
        if number == signal.SIGXCPU:
            raise Timeout("it used up its computing time")
        if number == signal.SIGKILL:
            raise Crashed("the process was killed, or closed its channel to the grader")
        raise Crashed(f"the process died of {signal.Signals(number).name}")

    def _answer_of_zygote(self, seconds: float) -> str:
        try:
            self._control.settimeout(seconds)
            line = b""
            while not line.endswith(b"\n"):
                part = self._control.recv(200)
                if not part:
                    raise GraderFault("the zygote has ended")
                line += part
            return line.decode().strip()
        except OSError as error:
            raise GraderFault(f"the zygote does not answer: {error}") from None
