"""The commands of the lab, and what sets them up.

    python3 noxfile.py                 lists the commands
    python3 noxfile.py -s grade        makes .venv, installs what is missing, runs one of them
    nox -s grade                       the same, for those who have nox

Run as a script, this file makes do with the standard library until nox is installed in .venv, and runs nox from there.
It parses on Python 3.9, so that a Python older than the lab needs can say so. All sessions share .venv.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import logging
import os
import platform
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Callable, Iterator, NoReturn, Sequence  # noqa: UP035  (as Python 3.9 knows them)

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
UNFINISHED = VENV / "install-unfinished"  # there while pip works: a killed install may have left half a package

OLDEST, TOO_NEW = (3, 11), (3, 15)  # requires-python of pyproject.toml
TORCH_CPU_INDEX = "https://download.pytorch.org/whl/cpu"
# One file of each is read, which needs nothing, or torch alone; what they depend on would be 500 MB.
WITHOUT_DEPENDENCIES = {"axe-playwright-python", "torchtune"}
DOWNLOADS = {"grade": "290 MB", "course": "300 MB", "dev": "350 MB"}  # with torch for CPUs: 190 MB of it

NOT_UNDERSTOOD, OUR_FAULT, INTERRUPTED = 2, 3, 130  # exit statuses; otherwise a session's is that of its command


# ---- set-up: standard library only ----


class SetupError(Exception):
    """The environment cannot be made; the message says why and names the way out."""


def refusal(version: tuple[int, int], system: str, machine: str, has_ensurepip: bool) -> str | None:
    """One sentence on why the lab cannot run with this Python, and the way out; None if it can.

    Args:
        version: (major, minor) of the Python. system, machine: `platform.system()` and `platform.machine()`.
        has_ensurepip: whether the Python can put pip into a new environment.
    """
    running = f"{version[0]}.{version[1]}"
    python = "py -3.13" if system == "Windows" else "python3.13"
    if not OLDEST <= version < TOO_NEW:
        return (
            f"The lab needs Python 3.11 to 3.14 and this is {running}: install one of them beside it (python.org) "
            f"and name it in the command, as in `{python} noxfile.py -s grade`."
        )
    if system == "Darwin" and machine == "x86_64":
        return (
            "PyTorch is no longer built for Intel Macs: run the lab on Linux (a server, GitHub Codespaces, or "
            "`docker run -it -v .:/lab -w /lab python:3.13 bash`), or on Apple silicon with an arm64 Python."
        )
    if not has_ensurepip:
        return (
            "This Python comes without venv or ensurepip, which make the lab's environment: on Debian or Ubuntu type "
            f"`sudo apt install python{running}-venv`, elsewhere install Python from python.org, and try again."
        )
    return None


def requirements(group: str) -> list[str]:
    """The requirements of a dependency group of pyproject.toml, with those of the groups that it includes."""
    import tomllib

    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]

    def expand(name: str) -> Iterator[str]:
        for entry in groups[name]:
            if isinstance(entry, str):
                yield entry
            else:
                yield from expand(entry["include-group"])

    return sorted(set(expand(group)))


def is_installed(group: str) -> bool:
    """Whether .venv holds this group, as the stamp of the last install says: nothing has to be imported or asked."""
    if UNFINISHED.exists() or not PYTHON.exists():
        return False
    try:
        return stamp_file(group).read_text(encoding="utf-8") == stamp(group)
    except FileNotFoundError:
        return False


def stamp_file(group: str) -> Path:
    """Where the stamp of a group is kept."""
    return VENV / f"installed-{group}"


def stamp(group: str) -> str:
    """The digest of all that decides what an install brings: versions, the requirements, the Python of .venv."""
    digest = hashlib.sha256()
    digest.update((ROOT / "constraints.txt").read_bytes())
    digest.update("\n".join(requirements(group)).encode())
    digest.update((VENV / "pyvenv.cfg").read_bytes())
    return digest.hexdigest()


def set_up(group: str) -> None:
    """Makes .venv hold a dependency group; takes no time if it does.

    Raises SetupError with one sentence if this Python cannot do it, or if pip fails. Then no stamp is left, and the
    next call begins again; after an install that was killed, with an empty .venv.
    """
    has_ensurepip = all(importlib.util.find_spec(name) for name in ("venv", "ensurepip"))
    why_not = refusal(sys.version_info[:2], platform.system(), platform.machine(), has_ensurepip)
    if why_not:
        raise SetupError(why_not)
    if is_installed(group):
        return
    with one_at_a_time():
        if is_installed(group):  # by the run that held the lock
            return
        make_venv()
        stamp_file(group).unlink(missing_ok=True)
        UNFINISHED.touch()
        install(group)
        for name in DOWNLOADS:
            if set(requirements(name)) <= set(requirements(group)):
                stamp_file(name).write_text(stamp(name), encoding="utf-8")
        UNFINISHED.unlink()


def make_venv() -> None:
    """Makes .venv, unless it is there and works: a Python that the lab knows, with pip, left by no killed install."""
    if PYTHON.exists() and not UNFINISHED.exists():
        probe = f"import sys, pip; sys.exit(not {OLDEST} <= sys.version_info[:2] < {TOO_NEW})"
        if subprocess.run([PYTHON, "-c", probe], stderr=subprocess.DEVNULL).returncode == 0:
            return
    if VENV.exists() and Path(sys.prefix).resolve() == VENV:
        raise SetupError(
            "The environment in .venv is damaged and in use: `deactivate` it, delete .venv, and try again."
        )
    say(f"Making an environment in {VENV} with Python {platform.python_version()} …")
    if VENV.exists():
        shutil.rmtree(VENV)
    if subprocess.run([sys.executable, "-m", "venv", VENV]).returncode != 0:
        raise SetupError("Python could not make the environment in .venv; what it printed above says why.")


def install(group: str) -> None:
    """Installs the group with pip. torch goes first and alone: only for it is an index of its own asked."""
    say(
        f"Installing the packages of group `{group}` into .venv, once: a download of about {DOWNLOADS[group]},\n"
        "less what is there; 1.3 GB on disk. constraints.txt pins their versions; nothing outside this folder changes."
    )
    started = time.monotonic()
    pip: list[str | Path] = [PYTHON, "-m", "pip", "install", "--disable-pip-version-check"]
    pip += ["--constraint", ROOT / "constraints.txt"]
    if platform.system() == "Linux":  # there, PyPI's torch brings CUDA
        say(f"(If {TORCH_CPU_INDEX} cannot be reached, torch comes from PyPI, with CUDA: 3 GB more.)")
        # An index that does not answer costs 15 s, not six times as long for torch and for each package that it needs.
        once = ["--no-deps", "--extra-index-url", TORCH_CPU_INDEX, "--retries", "0", "--timeout", "15"]
        subprocess.run([*pip, "torch", *once])
    wanted = set(requirements(group))
    alone = wanted & WITHOUT_DEPENDENCIES
    steps = [sorted(wanted - alone)] + ([["--no-deps", *sorted(alone)]] if alone else [])
    if any(subprocess.run([*pip, *step]).returncode != 0 for step in steps):
        UNFINISHED.unlink()  # pip gave up by itself, and put everything back as it was
        raise SetupError(
            "pip could not install the packages; what it printed above says why. Type the same command again to go on "
            "(what has been downloaded is kept)."
        )
    say(f"Installed in {time.monotonic() - started:.0f} s.")


@contextlib.contextmanager
def one_at_a_time() -> Iterator[None]:
    """Waits until no other process installs. The system holds the lock: it ends with the process, however that ends."""
    with open(ROOT / ".venv.lock", "a+b") as file:
        if not try_lock(file):
            say("Another command is setting up .venv; waiting for it …")
            while not try_lock(file):
                time.sleep(0.5)
        yield


def try_lock(file: IO[bytes]) -> bool:
    """Whether this process now holds the lock."""
    try:
        if sys.platform == "win32":
            import msvcrt

            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def say(message: str) -> None:
    """Prints a message before whatever the next command prints."""
    print(message, flush=True)


def set_up_or_exit(group: str) -> None:
    """`set_up`, which on failure prints its one sentence and exits without a traceback."""
    try:
        set_up(group)
    except SetupError as error:
        print(error, file=sys.stderr)
        raise SystemExit(OUR_FAULT) from None
    except KeyboardInterrupt:
        print("Interrupted: the next command begins the set-up again.", file=sys.stderr)
        raise SystemExit(INTERRUPTED) from None


def hand_over_to_nox(arguments: Sequence[str]) -> NoReturn:
    """Runs nox on this file with the Python of .venv. Without arguments it lists the sessions."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    meant = without_slip(arguments)
    if meant:
        print("A command stands after -s, and what it takes after --, as in", file=sys.stderr)
        print(f"    {'py' if os.name == 'nt' else 'python3'} noxfile.py {shlex.join(meant)}", file=sys.stderr)
        raise SystemExit(NOT_UNDERSTOOD)
    set_up_or_exit("grade")
    command = [str(PYTHON), "-m", "nox", "--noxfile", str(ROOT / "noxfile.py"), *(arguments or ["--list"])]
    environment = {**os.environ, "PYTHONUTF8": "1"}
    if os.name == "nt":  # there, exec returns to the prompt at once
        raise SystemExit(subprocess.run(command, env=environment).returncode)
    os.execve(PYTHON, command, environment)


def without_slip(arguments: Sequence[str]) -> list[str] | None:
    """The arguments that were meant where `-s` or `--` was forgotten; nox would print all its options. None if neither.

    What nox itself takes stands before -s.
    """
    if arguments and not arguments[0].startswith("-"):
        arguments = ["-s", *arguments]
    elif not (arguments[:1] == ["-s"] and arguments[2:] and arguments[2].startswith("-") and arguments[2] != "--"):
        return None
    session, others = arguments[1], [argument for argument in arguments[2:] if argument != "--"]
    return ["-s", session, *(["--", *others] if others else [])]


if __name__ == "__main__":
    hand_over_to_nox(sys.argv[1:])


# ---- sessions ----

import nox  # noqa: E402  (not installed before this line)

nox.options.default_venv_backend = "none"
nox.options.sessions = []
# nox looks for uv even where no session has an environment to make; that it found none is no news to a student.
logging.getLogger("nox").addFilter(lambda record: record.msg != "uv binary not found.")


def run(*command: str | Path, environment: dict[str, str] | None = None) -> int:
    """Runs a command with the Python of .venv, from the project's root, and returns its exit status.

    Not `session.run`, which turns every status but 0 into 1. Ctrl-C reaches the command as well, which ends by itself.
    """
    environment = {**os.environ, "PYTHONUTF8": "1", **(environment or {})}
    process = subprocess.Popen([PYTHON, *command], cwd=ROOT, env=environment)
    interrupted = False
    while True:
        try:
            status = process.wait()
            break
        except KeyboardInterrupt:
            interrupted = True
    if interrupted:
        raise SystemExit(INTERRUPTED)
    return status if status >= 0 else 128 - status  # a negative one is a signal's number


def exit_unless_zero(status: int) -> None:
    """Ends nox with this status; a session that returns ends with 0."""
    if status:
        raise SystemExit(status)


def for_instructors(session: Callable[[nox.Session], None]) -> Callable[[nox.Session], None]:
    """A session, unless this is a student's copy: there, what it works on is missing."""
    if (ROOT / "harness" / "publish").is_dir():
        nox.session(session)
    return session


@nox.session
def grade(session: nox.Session) -> None:
    """Which facts hold, and why the others fail: [--tree PATH] [--only NAME]… [--out DIR]; default tree: student."""
    set_up_or_exit("grade")
    exit_unless_zero(run("-m", "harness", "grade", *session.posargs))


@nox.session
def demo(session: nox.Session) -> None:
    """Run the lecture's demos: [student|reference|PATH] [dpo …] [--plot DIR]; default tree: student, all demos."""
    set_up_or_exit("grade")
    tree, arguments = demo_tree(session.posargs)
    if not (tree / "__main__.py").is_file():
        say(f"{tree} is no tree of the lab: it has no __main__.py. Name another, as in `-- reference`.")
        raise SystemExit(NOT_UNDERSTOOD)
    # -P: the tree is imported by its own name from its own folder, whatever lies in this one.
    exit_unless_zero(run("-P", "-m", tree.name, *arguments, environment={"PYTHONPATH": str(tree.parent)}))


def demo_tree(arguments: Sequence[str]) -> tuple[Path, list[str]]:
    """The tree that the first argument names, or student/, and the arguments that are the demos' own."""
    if arguments and (ROOT / arguments[0] / "__main__.py").is_file():
        return (ROOT / arguments[0]).resolve(), list(arguments[1:])
    return ROOT / "student", list(arguments)


@for_instructors
def validate(session: nox.Session) -> None:
    """Prove that the marks can be trusted, and write validate.html: [--only NAME]… [--deep] [--out DIR]."""
    set_up_or_exit("course")
    exit_unless_zero(run("-m", "harness", "validate", *session.posargs))


@for_instructors
def cohort(session: nox.Session) -> None:
    """Grade a class, and keep the marks: SUBMISSIONS [--gradebook FILE] [--roster CSV] [--scheduler ADDRESS]."""
    set_up_or_exit("course")
    exit_unless_zero(run("-m", "harness", "cohort", *session.posargs))


@for_instructors
def gradebook(session: nox.Session) -> None:
    """The marks of a class: runs|marks|diff|adjust|comment|roster|export|reports|page [--gradebook FILE]."""
    set_up_or_exit("course")
    exit_unless_zero(run("-m", "harness", "gradebook", *session.posargs))


@for_instructors
def stubs(session: nox.Session) -> None:
    """Write student/ and checks/given/ from reference/: [--check] only says what is stale."""
    set_up_or_exit("course")
    exit_unless_zero(run("-m", "harness", "stubs", *session.posargs))


@for_instructors
def fingerprints(session: nox.Session) -> None:
    """Write what the mistakes of the bank are recognised by: [--check] only says what is stale; [--only NAME]…"""
    set_up_or_exit("course")
    exit_unless_zero(run("-m", "harness", "fingerprints", *session.posargs))


@for_instructors
def bench(session: nox.Session) -> None:
    """How fast the lab is, as ratios of commands that run in turn; about ten minutes. No argument."""
    set_up_or_exit("course")
    exit_unless_zero(run("tests/benchmark.py", environment={"PYTHONPATH": str(ROOT)}))


@for_instructors
def handout(session: nox.Session) -> None:
    """Write the archive for students, which answers nothing: [--points FILE] [--out FILE]."""
    set_up_or_exit("course")
    exit_unless_zero(run("-m", "harness", "handout", *session.posargs))


@for_instructors
def bundle(session: nox.Session) -> None:
    """Write an autograder: gradescope|prairielearn|classroom50 [--only NAME]… [--points FILE] [--out FILE]."""
    set_up_or_exit("course")
    exit_unless_zero(run("-m", "harness", "bundle", *session.posargs))


@for_instructors
def tests(session: nox.Session) -> None:
    """Everything CI runs: lint, types, imports, generated files, marks, proof, tests. With arguments: pytest alone."""
    set_up_or_exit("dev")
    pytest = ["-m", "pytest", "-n", "2"]
    if session.posargs:
        exit_unless_zero(run(*pytest, *session.posargs))
        return
    steps: dict[str, list[str]] = {
        "lint": ["-m", "ruff", "check"],
        "format": ["-m", "ruff", "format", "--check"],
        "types": ["-m", "mypy"],
        "imports": [
            "-c",
            "import importlinter.cli; importlinter.cli.lint_imports_command()",
            "--no-logo",
            "--no-cache",
        ],
        "stubs": ["-m", "harness", "stubs", "--check"],
        "fingerprints": ["-m", "harness", "fingerprints", "--check"],
        "reference": ["-m", "harness", "grade", "--tree", "reference"],
        "proof": ["-m", "harness", "validate"],
        "tests": pytest,
    }
    failed = []
    for name, command in steps.items():
        say(f"\n── {name} ──")
        if run(*command, environment={"OMP_NUM_THREADS": "1"}):  # two workers, two cores
            failed.append(name)
    say(f"\nFailed: {', '.join(failed)}." if failed else f"\nAll of it passed: {', '.join(steps)}.")
    exit_unless_zero(1 if failed else 0)
