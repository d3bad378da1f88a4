"""System calls that a confined process may make: numbers for x86_64 and aarch64, and the filter made of them.

Everything not listed here fails with EPERM: fork, exec, signals to others, sockets, ptrace, keys, mounts, shared
memory, io_uring, every change to the file system. None: the architecture has no such call.
"""

import errno
import struct
from collections.abc import Iterable

ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""Column of the tables below, and AUDIT_ARCH of linux/audit.h, by `platform.machine()`."""

PLAIN: dict[str, tuple[int | None, int | None]] = {
    "access": (21, None), "alarm": (37, None), "arch_prctl": (158, None), "brk": (12, 214), "chdir": (80, 49),
    "clock_getres": (229, 114), "clock_gettime": (228, 113), "clock_nanosleep": (230, 115), "close": (3, 57),
    "close_range": (436, 436), "dup": (32, 23), "dup2": (33, None), "dup3": (292, 24), "epoll_create": (213, None),
    "epoll_create1": (291, 20), "epoll_ctl": (233, 21), "epoll_pwait": (281, 22), "epoll_wait": (232, None),
    "eventfd2": (290, 19), "exit": (60, 93), "exit_group": (231, 94), "faccessat": (269, 48),
    "faccessat2": (439, 439), "fadvise64": (221, 223), "fchdir": (81, 50), "fstat": (5, 80), "fstatfs": (138, 44),
    "futex": (202, 98), "futex_waitv": (449, 449), "get_mempolicy": (239, 236), "get_robust_list": (274, 100),
    "getcpu": (309, 168), "getcwd": (79, 17), "getdents": (78, None), "getdents64": (217, 61), "getegid": (108, 177),
    "geteuid": (107, 175), "getgid": (104, 176), "getgroups": (115, 158), "getitimer": (36, 102),
    "getpgid": (121, 155), "getpgrp": (111, None), "getpid": (39, 172), "getppid": (110, 173),
    "getpriority": (140, 141), "getrandom": (318, 278), "getresgid": (120, 150), "getresuid": (118, 148),
    "getrlimit": (97, 163), "getrusage": (98, 165), "getsid": (124, 156), "gettid": (186, 178),
    "gettimeofday": (96, 169), "getuid": (102, 174), "lseek": (8, 62), "lstat": (6, None), "madvise": (28, 233),
    "membarrier": (324, 283), "mincore": (27, 232), "mmap": (9, 222), "mprotect": (10, 226), "mremap": (25, 216),
    "munmap": (11, 215), "nanosleep": (35, 101), "newfstatat": (262, 79), "pause": (34, None), "pipe": (22, None),
    "pipe2": (293, 59), "poll": (7, None), "ppoll": (271, 73), "pread64": (17, 67), "preadv": (295, 69),
    "pselect6": (270, 72), "read": (0, 63), "readlink": (89, None), "readlinkat": (267, 78), "readv": (19, 65),
    "restart_syscall": (219, 128), "rseq": (334, 293), "rt_sigaction": (13, 134), "rt_sigpending": (127, 136),
    "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139), "rt_sigtimedwait": (128, 137),
    "sched_get_priority_max": (146, 125), "sched_get_priority_min": (147, 126), "sched_getaffinity": (204, 123),
    "sched_getparam": (143, 121), "sched_getscheduler": (145, 120), "sched_yield": (24, 124), "select": (23, None),
    "set_robust_list": (273, 99), "set_tid_address": (218, 96), "setitimer": (38, 103), "setrlimit": (160, 164),
    "sigaltstack": (131, 132), "stat": (4, None), "statfs": (137, 43), "statx": (332, 291), "sysinfo": (99, 179),
    "time": (201, None), "times": (100, 153), "umask": (95, 166), "uname": (63, 160), "write": (1, 64),
    "writev": (20, 66), "mlock": (149, 228), "munlock": (150, 229),
}  # fmt: skip
"""Allowed whatever their arguments: reading, memory, clocks, waiting, threads' own business."""

CHECKED: dict[str, tuple[int | None, int | None]] = {
    "clone": (56, 220),
    "clone3": (435, 435),
    "fcntl": (72, 25),
    "ioctl": (16, 29),
    "open": (2, None),
    "openat": (257, 56),
    "prctl": (157, 167),
    "prlimit64": (302, 261),
    "sched_setaffinity": (203, 122),
    "tgkill": (234, 131),
}
"""Allowed in their harmless forms only; `_rules` says which."""

CLONE_THREAD = 0x00010000
OPEN_FOR_WRITING = 0o3 | 0o100 | 0o1000 | 0o2000 | 0o20000000  # O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_APPEND, O_TMPFILE
FCNTL_COMMANDS = (0, 1, 2, 3, 4, 1030)  # F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC
IOCTL_REQUESTS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)  # TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIO(N)CLEX
PRCTL_OPTIONS = (3, 15, 16, 23, 0x53564D41)  # GET_DUMPABLE, SET_NAME, GET_NAME, CAPBSET_READ, SET_VMA (malloc's names)

ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
LOAD, EQUAL, ANY_BIT, RETURN = 0x20, 0x15, 0x45, 0x06  # BPF_LD|W|ABS, BPF_JMP|JEQ|K, BPF_JMP|JSET|K, BPF_RET|K

Instruction = tuple[int, int, int, int]


def filter_program(machine: str, pid: int, read_only: bool) -> bytes:
    """The seccomp program for process `pid`; with `read_only`, opening a file for writing fails whatever the path."""
    column, audit = ARCHITECTURES[machine]
    program = [_load(ARCHITECTURE), (EQUAL, 1, 0, audit), _return(KILL), _load(NUMBER)]
    for numbers in PLAIN.values():
        number = numbers[column]
        if number is not None:
            program += [(EQUAL, 0, 1, number), _return(ALLOW)]
    for name, rule in _rules(pid, read_only).items():
        number = CHECKED[name][column]
        if number is not None:
            program += [(EQUAL, 0, len(rule), number), *rule]
    program.append(_return(ERRNO | errno.EPERM))
    return b"".join(struct.pack("HBBI", *instruction) for instruction in program)


def _rules(pid: int, read_only: bool) -> dict[str, list[Instruction]]:
    """For each checked call the instructions that end in its verdict. Arguments are compared in their low 32 bits."""
    opening = _unless_any_bit(OPEN_FOR_WRITING, errno.EACCES) if read_only else [_return(ALLOW)]
    return {
        "clone": [_argument(0), (ANY_BIT, 0, 1, CLONE_THREAD), _return(ALLOW), _return(ERRNO | errno.EPERM)],
        "clone3": [_return(ERRNO | errno.ENOSYS)],  # its flags lie in memory; the C library falls back to clone
        "open": [_argument(1), *opening],
        "openat": [_argument(2), *opening],
        "fcntl": [_argument(1), *_only(FCNTL_COMMANDS, errno.EPERM)],
        "ioctl": [_argument(1), *_only(IOCTL_REQUESTS, errno.ENOTTY)],
        "prctl": [_argument(0), *_only(PRCTL_OPTIONS, errno.EPERM)],
        "prlimit64": [_argument(0), *_only((0, pid), errno.EPERM)],
        "sched_setaffinity": [_argument(0), *_only((0, pid), errno.EPERM)],
        "tgkill": [_argument(0), *_only((pid,), errno.EPERM)],  # abort() signals its own thread
    }


def _only(allowed: Iterable[int], error: int) -> list[Instruction]:
    program: list[Instruction] = []
    for value in allowed:
        program += [(EQUAL, 0, 1, value), _return(ALLOW)]
    return [*program, _return(ERRNO | error)]


def _unless_any_bit(mask: int, error: int) -> list[Instruction]:
    return [(ANY_BIT, 0, 1, mask), _return(ERRNO | error), _return(ALLOW)]


def _load(offset: int) -> Instruction:
    return (LOAD, 0, 0, offset)


def _argument(index: int) -> Instruction:
    return _load(ARGUMENTS + 8 * index)


def _return(verdict: int) -> Instruction:
    return (RETURN, 0, 0, verdict)
