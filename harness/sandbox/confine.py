"""The layers that confine a child, in the order in which they are switched on; Linux only.

`available` says once, in the zygote, which layers this place offers; `confine` switches those on in the child and
raises if one of them fails, so that a child is never less confined than the zygote promised. Calls go to the C library:
the Landlock bindings on PyPI are alpha, and the seccomp ones want a compiler.
"""

import ctypes
import os
import platform
import resource
import stat
import struct
import sys
import sysconfig
from pathlib import Path
from typing import NamedTuple

from harness.sandbox.syscalls import ARCHITECTURES, filter_program

LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446  # the same on every architecture
CAPSET = {"x86_64": 126, "aarch64": 91}
SET_DUMPABLE, SET_PDEATHSIG, SET_SECCOMP, CAPBSET_DROP, SET_NO_NEW_PRIVS = 4, 1, 22, 24, 38
SIGKILL = 9

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, TRUNCATE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14
FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE
FS_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}  # by ABI version

MEMORY = 1 << 30  # bytes beyond what the child has at its start
OPEN_FILES = 64
TASKS = 64  # threads, where a uid of its own makes the limit count for the child alone

# What may be imported besides the standard library: NumPy, SciPy, torch, what torch imports, rich for the given tables.
PACKAGES = (
    "numpy", "scipy", "torch", "torchgen", "functorch", "sympy", "mpmath", "networkx", "jinja2", "markupsafe",
    "filelock", "fsspec", "typing_extensions", "rich", "markdown_it", "mdurl", "pygments", "numpy.libs", "scipy.libs",
)  # fmt: skip
DEVICES = ("/dev/urandom", "/dev/random", "/dev/zero", "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu")
SYSTEM_FILES = ("/etc/localtime", "/etc/ld.so.cache", "/usr/share/zoneinfo")


class ConfinementError(Exception):
    """A layer that was promised cannot be switched on."""


class Layers(NamedTuple):
    """What this place offers. landlock: its ABI version, 0 if none. uid: a user of the child's own, 0 if none."""

    landlock: int
    seccomp: bool
    uid: int
    drop_capabilities: bool

    def missing(self) -> list[str]:
        """The layers that are not there, as a result names them."""
        absent = [] if self.landlock else ["landlock"]
        absent += [] if self.seccomp else ["seccomp"]
        return absent


_libc = ctypes.CDLL(None, use_errno=True)


def available(without: frozenset[str] = frozenset()) -> Layers:
    """The layers that can be switched on here; those named in `without` are left off (for tests)."""
    machine = platform.machine()
    abi = 0
    if "landlock" not in without and machine in ARCHITECTURES:
        abi = max(0, _libc.syscall(LANDLOCK_CREATE, None, 0, 1))
    seccomp = "seccomp" not in without and machine in ARCHITECTURES and Path("/proc/sys/kernel/seccomp").is_dir()
    root = os.geteuid() == 0
    own_uid = root and "uid" not in without and _can_change_uid() and _readable_by_others(Path(sys.base_prefix))
    return Layers(abi, seccomp, 0x70000000 + os.getpid() if own_uid else 0, root and machine in CAPSET)


def landlock_ruleset(abi: int) -> int:
    """A file descriptor of the rules; made once in the zygote, as it takes 2 ms."""
    rights = FS_RIGHTS[max(version for version in FS_RIGHTS if version <= abi)]
    attributes = struct.pack(
        "QQQ", rights, 3 if abi >= 4 else 0, 3 if abi >= 6 else 0
    )  # files, TCP, signals and sockets
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    ruleset = _checked("landlock_create_ruleset", _libc.syscall(LANDLOCK_CREATE, attributes, size, 0))
    for path in readable_paths():
        _allow(ruleset, path, READ_FILE | READ_DIR)
    _allow(ruleset, Path("/dev/null"), READ_FILE | WRITE_FILE | (TRUNCATE if abi >= 3 else 0))
    return ruleset


def readable_paths() -> list[Path]:
    """What a child may read: the standard library, PACKAGES, the folders of loaded shared libraries, system files.

    Landlock cannot deny below an allowed folder, so a folder that holds site-packages is allowed entry by entry.
    """
    paths: list[Path] = []
    for kind in ("stdlib", "platstdlib"):
        folder = Path(sysconfig.get_path(kind, vars={"base": sys.base_prefix, "platbase": sys.base_prefix}))
        paths += [entry for entry in _entries(folder) if entry.name not in ("site-packages", "dist-packages")]
    for folder in {Path(sysconfig.get_path(kind)) for kind in ("purelib", "platlib")}:
        paths += [folder / name for name in PACKAGES] + [folder / f"{name}.py" for name in PACKAGES]
    site = tuple(sysconfig.get_path(kind) for kind in ("purelib", "platlib"))
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        mapped = line.partition("/")[2]
        if ".so" in mapped and not f"/{mapped}".startswith(site):
            paths.append(Path(f"/{mapped}").parent)
    paths += [Path(name) for name in (*DEVICES, *SYSTEM_FILES)]
    return [path for path in dict.fromkeys(paths) if path.exists()]


def confine(layers: Layers, ruleset: int | None, cpu_seconds: int) -> None:
    """Give up everything that a submission does not need. Raises ConfinementError if a promised layer fails."""
    parent = os.getppid()
    _limits(layers, cpu_seconds)
    if layers.drop_capabilities:
        for capability in range(64):
            if _libc.prctl(CAPBSET_DROP, capability, 0, 0, 0) != 0:
                break
    if layers.uid:
        os.setgroups([])
        os.setresgid(layers.uid, layers.uid, layers.uid)
        os.setresuid(layers.uid, layers.uid, layers.uid)
    if layers.drop_capabilities:
        header, nothing = struct.pack("Ii", 0x20080522, 0), bytes(24)
        _checked("capset", _libc.syscall(CAPSET[platform.machine()], header, nothing))
    _checked("no_new_privs", _libc.prctl(SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _checked("dumpable", _libc.prctl(SET_DUMPABLE, 0, 0, 0, 0))
    _checked("death signal", _libc.prctl(SET_PDEATHSIG, SIGKILL, 0, 0, 0))  # a change of uid would have cleared it
    if os.getppid() != parent:
        raise ConfinementError("the zygote has ended")
    if ruleset is not None:
        _checked("landlock_restrict_self", _libc.syscall(LANDLOCK_RESTRICT, ruleset, 0))
        os.close(ruleset)
    if layers.seccomp:
        # Landlock says which files may be written (/dev/null); without it no file may
        program = filter_program(platform.machine(), os.getpid(), read_only=ruleset is None)
        code = ctypes.create_string_buffer(program)
        header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
        _checked("seccomp", _libc.prctl(SET_SECCOMP, 2, header, 0, 0))


def _limits(layers: Layers, cpu_seconds: int) -> None:
    size = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    limits = {
        resource.RLIMIT_AS: size + MEMORY,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: OPEN_FILES,
        resource.RLIMIT_CPU: cpu_seconds,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
    }
    if layers.uid:
        limits[resource.RLIMIT_NPROC] = TASKS
    for kind, limit in limits.items():
        _, hard = resource.getrlimit(kind)
        limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (limit, limit))


def _allow(ruleset: int, path: Path, rights: int) -> None:
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= FILE_RIGHTS
        rule = struct.pack("=Qi", rights, descriptor)
        _checked("landlock_add_rule", _libc.syscall(LANDLOCK_ADD, ruleset, 1, rule, 0))
    finally:
        os.close(descriptor)


def _entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _can_change_uid() -> bool:
    """Whether the user namespace maps the uids that children would get (a rootless container's does not)."""
    for line in Path("/proc/self/uid_map").read_text(encoding="ascii").splitlines():
        first, _, count = map(int, line.split())
        if first <= 0x70000000 + os.getpid() < first + count:
            return True
    return False


def _readable_by_others(folder: Path) -> bool:
    """Whether an own uid could read an interpreter that lies there; not under a folder of mode 700 in root's home."""
    return all(parent.stat().st_mode & stat.S_IXOTH for parent in (folder, *folder.resolve().parents))


def _checked(what: str, status: int) -> int:
    if status < 0:
        raise ConfinementError(f"{what}: {os.strerror(ctypes.get_errno())}")
    return status
