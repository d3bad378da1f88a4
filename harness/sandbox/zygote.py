"""A process that holds the libraries and forks the children: a child is ready in milliseconds, not in seconds.

Started by exec with an environment of its own, so that nothing of the grader is in its memory; it never reads anything
of a submission. It speaks with its client over one socket: orders of one line, with the descriptors that a child gets.

    fork CPU-SECONDS     with two descriptors, of the channel and of the output pipe; answers `pid N`
    end N                kill child N and wait for it; answers `status S`, as waitpid gives it

It ends, and takes its child along, when the client's end of the socket is closed, however the client died.
"""

import array
import contextlib
import ctypes
import gc
import importlib
import os
import signal
import socket
import sys
import time
from pathlib import Path

ORDER_LIMIT = 100
HUGE_PAGE, MADV_COLLAPSE = 2 << 20, 25
CALIBRATION_ROUNDS = 5


def main(control: socket.socket, without: frozenset[str]) -> None:
    """Serve one client to its end."""
    import_libraries()
    from harness.sandbox import child, confine

    layers = confine.available(without)
    ruleset = confine.landlock_ruleset(layers.landlock) if layers.landlock else None
    forget_the_project()
    gc.collect()
    gc.freeze()  # a child's first collection would copy every page: 278 ms, 15 with it
    gather_pages()
    missing = ",".join(layers.missing())
    running: set[int] = set()

    def fork(descriptors: list[int], cpu_seconds: int) -> str:
        pid = os.fork()
        if pid == 0:
            try:
                control.close()
                child.main(descriptors[0], descriptors[1], layers, ruleset, cpu_seconds)
            finally:
                os._exit(1)
        for descriptor in descriptors:
            os.close(descriptor)
        running.add(pid)
        return f"pid {pid}"

    def end_one(pid: int) -> str:
        running.remove(pid)  # KeyError for any other: to kill 0 would be to kill the grader's whole process group
        return f"status {end(pid)}"

    try:
        answer = f"ready {calibration():.6f} {missing}"
        while True:
            control.sendall(f"{answer}\n".encode())
            order, descriptors = receive(control)
            if not order:
                break
            verb, _, number = order.partition(" ")
            answer = fork(descriptors, int(number)) if verb == "fork" else end_one(int(number))
    except (BrokenPipeError, ConnectionResetError):
        pass  # the client has gone in the middle of an answer: Ctrl-C, or worse
    for pid in running:
        end(pid)


def import_libraries() -> None:
    """Everything that a submission may want, and one step of an optimiser: it imports 824 more modules."""
    for name in ("scipy.linalg", "scipy.optimize", "scipy.special", "scipy.stats"):
        importlib.import_module(name)
    import torch

    torch.set_num_threads(1)  # a forked child of a process with more OpenMP threads hangs
    weight = torch.zeros(1, requires_grad=True)
    optimiser = torch.optim.Adam([weight])
    (weight**2).sum().backward()
    optimiser.step()


def forget_the_project() -> None:
    """Leave no path and no module by which a child could import the harness, or what lies beside it."""
    sys.path[:] = [entry for entry in sys.path if entry and not os.path.isfile(os.path.join(entry, "noxfile.py"))]


def gather_pages() -> None:
    """Move this process's memory into huge pages: a fork then copies, and its end frees, few entries instead of 64,000.

    A child costs 30 ms of computing instead of 40. A kernel before Linux 6.1 refuses, and nothing is lost.
    """
    libc = ctypes.CDLL(None)
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        span, rights, _, _, inode, *name = line.split()
        if inode == "0" and rights.startswith("rw") and name in ([], ["[heap]"]):
            start, end = (int(address, 16) for address in span.split("-"))
            for page in range(-(-start // HUGE_PAGE) * HUGE_PAGE, end - HUGE_PAGE + 1, HUGE_PAGE):
                libc.madvise(page, HUGE_PAGE, MADV_COLLAPSE)


def calibration() -> float:
    """CPU seconds of a small fixed loop, the best of a few: limits are multiples of it."""
    import numpy as np

    best = float("inf")
    for _ in range(CALIBRATION_ROUNDS):
        started = time.process_time()
        matrix = np.eye(40)
        for _ in range(300):
            matrix = matrix @ np.eye(40) + 1e-9
            sum(range(400))
        best = min(best, time.process_time() - started)
    return best


def receive(control: socket.socket) -> tuple[str, list[int]]:
    """One order and its descriptors; an empty order when the client has gone."""
    data, ancillary, _, _ = control.recvmsg(ORDER_LIMIT, socket.CMSG_SPACE(2 * array.array("i").itemsize))
    descriptors = array.array("i")
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors.frombytes(content[: len(content) - len(content) % descriptors.itemsize])
    return data.decode().strip(), list(descriptors)


def end(pid: int) -> int:
    """Kill a child and reap it; with fork and exec forbidden to it, nothing else can be left."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)[1]
