"""How many workers a run gets."""

import os
from pathlib import Path

MOST = 4
FACTS_EACH = 8  # to be worth its start
LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Where a Linux container finds the memory that it may use, in bytes: control groups of version 2 and 1."""


def workers(facts: int) -> int:
    """At most MOST, the cores, and the free GB: a run takes 460 MB with one worker, and 350 MB with each other one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(MOST, cores, free_gigabytes(), facts // FACTS_EACH))


def free_gigabytes() -> int:
    """Whole GB: what the machine has available, or what a container may use if that is less; MOST if nobody tells."""
    free = [MOST]
    for line in _lines(Path("/proc/meminfo")):
        if line.startswith("MemAvailable:"):
            free = [int(line.split()[1]) >> 20]
    free += [int(line) >> 30 for path in LIMITS for line in _lines(path) if line.isdigit()]  # "max": no limit
    return min(free)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").splitlines()
    except OSError:
        return []
