"""The set-up in noxfile.py: what it says to a Python that will not do, and when it installs again."""

import ast
import os
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import nox
import pytest

import noxfile

ROOT = Path(__file__).resolve().parents[1]
GROUPS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]


def test_parses_on_python_3_9():
    ast.parse((ROOT / "noxfile.py").read_text(encoding="utf-8"), feature_version=(3, 9))


def test_knows_the_pythons_of_pyproject():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (oldest, too_new) = (".".join(map(str, version)) for version in (noxfile.OLDEST, noxfile.TOO_NEW))
    assert project["requires-python"] == f">={oldest},<{too_new}"


@pytest.mark.parametrize(
    ("version", "system", "machine", "has_ensurepip", "says"),
    [
        ((3, 10), "Linux", "x86_64", True, ["3.11 to 3.14", "this is 3.10", "`python3.13 noxfile.py -s grade`"]),
        ((3, 9), "Windows", "AMD64", True, ["this is 3.9", "`py -3.13 noxfile.py -s grade`"]),
        ((3, 15), "Linux", "x86_64", True, ["3.11 to 3.14", "this is 3.15"]),
        ((3, 12), "Darwin", "x86_64", True, ["Intel Macs", "docker run", "arm64 Python"]),
        ((3, 12), "Linux", "x86_64", False, ["`sudo apt install python3.12-venv`"]),
    ],
)
def test_refuses_in_one_sentence_with_the_way_out(version, system, machine, has_ensurepip, says):
    sentence = noxfile.refusal(version, system, machine, has_ensurepip)
    assert sentence is not None
    assert all(part in sentence for part in says), sentence
    assert "\n" not in sentence and sentence.endswith(".")


@pytest.mark.parametrize("version", [(3, 11), (3, 14)])
@pytest.mark.parametrize(("system", "machine"), [("Linux", "aarch64"), ("Darwin", "arm64"), ("Windows", "AMD64")])
def test_accepts_the_platforms_that_torch_is_built_for(version, system, machine):
    assert noxfile.refusal(version, system, machine, has_ensurepip=True) is None


def test_groups_include_each_other():
    grade, course, dev = (set(noxfile.requirements(group)) for group in ("grade", "course", "dev"))
    assert grade < course < dev
    assert {"torch", "nox"} <= grade and "libcst" in course - grade and "ruff" in dev - course


def test_every_requirement_is_pinned():
    pinned = {line.partition("==")[0].lower() for line in (ROOT / "constraints.txt").read_text().splitlines()}
    assert {name.lower() for name in noxfile.requirements("dev")} <= pinned


def test_the_dependencies_of_what_is_installed_alone_are_not_wanted(monkeypatch):
    commands: list[list[str]] = []

    def succeed(command, **_):
        commands.append([str(part) for part in command])
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr("subprocess.run", succeed)
    noxfile.install("course")
    with_torchtune = [command for command in commands if "torchtune" in command]
    assert [command[-2:] for command in with_torchtune] == [["--no-deps", "torchtune"]]
    assert any({"torch", "choix"} <= set(command) for command in commands)
    assert set(noxfile.requirements("dev")) >= noxfile.WITHOUT_DEPENDENCIES
    assert not noxfile.WITHOUT_DEPENDENCIES & set(noxfile.requirements("grade"))


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """A project folder with an empty environment in it, where an install only notes that it was asked for."""
    venv = tmp_path / ".venv"
    for name, path in {
        "ROOT": tmp_path,
        "VENV": venv,
        "PYTHON": venv / "python",
        "UNFINISHED": venv / "unfinished",
    }.items():
        monkeypatch.setattr(noxfile, name, path)
    for name in ("pyproject.toml", "constraints.txt"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    installed: list[str] = []

    def make_venv():
        venv.mkdir(exist_ok=True)
        (venv / "python").touch()
        (venv / "pyvenv.cfg").write_text("version = 3.12.1\n")

    monkeypatch.setattr(noxfile, "make_venv", make_venv)
    monkeypatch.setattr(noxfile, "install", installed.append)
    return installed


def test_installs_once(fresh):
    noxfile.set_up("grade")
    noxfile.set_up("grade")
    assert fresh == ["grade"]


def test_a_larger_group_brings_the_smaller_ones(fresh):
    noxfile.set_up("dev")
    noxfile.set_up("course")
    noxfile.set_up("grade")
    assert fresh == ["dev"]
    assert not noxfile.UNFINISHED.exists()


def test_a_smaller_group_does_not_bring_the_larger_ones(fresh):
    noxfile.set_up("grade")
    noxfile.set_up("dev")
    assert fresh == ["grade", "dev"]


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("constraints.txt", "numpy==", "numpy==9."),
        ("pyproject.toml", '"rich"', '"rich", "tqdm"'),
        (".venv/pyvenv.cfg", "3.12", "3.13"),
    ],
)
def test_installs_again_when_versions_requirements_or_the_python_change(fresh, tmp_path, file, old, new):
    noxfile.set_up("grade")
    text = (tmp_path / file).read_text(encoding="utf-8")
    assert old in text
    (tmp_path / file).write_text(text.replace(old, new), encoding="utf-8")
    noxfile.set_up("grade")
    assert fresh == ["grade", "grade"]


@pytest.mark.parametrize("end", [noxfile.SetupError("no network"), KeyboardInterrupt()])
def test_an_install_that_did_not_end_leaves_no_stamp(fresh, monkeypatch, end):
    noxfile.set_up("grade")
    (noxfile.ROOT / "constraints.txt").write_text("numpy==9\n")

    def stop(group):
        raise end

    with monkeypatch.context() as context, pytest.raises(type(end)):
        context.setattr(noxfile, "install", stop)
        noxfile.set_up("grade")
    assert not noxfile.is_installed("grade")
    noxfile.set_up("grade")
    assert fresh == ["grade", "grade"] and noxfile.is_installed("grade")


def test_only_one_process_installs_at_a_time(fresh, tmp_path):
    with noxfile.one_at_a_time(), open(tmp_path / ".venv.lock", "a+b") as second:
        assert not noxfile.try_lock(second)
    with open(tmp_path / ".venv.lock", "a+b") as second:
        assert noxfile.try_lock(second)


def test_the_demos_run_in_the_tree_that_is_named_and_in_the_students_otherwise(tmp_path, monkeypatch):
    for name in ("student", "reference"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__main__.py").touch()
    monkeypatch.setattr(noxfile, "ROOT", tmp_path)
    assert noxfile.demo_tree([]) == (tmp_path / "student", [])
    assert noxfile.demo_tree(["dpo", "--plot", "out"]) == (tmp_path / "student", ["dpo", "--plot", "out"])
    assert noxfile.demo_tree(["reference", "dpo"]) == (tmp_path / "reference", ["dpo"])
    assert noxfile.demo_tree([str(tmp_path / "reference")]) == (tmp_path / "reference", [])


@pytest.mark.parametrize("status", [1, 2, 3])
def test_a_session_ends_with_the_status_of_its_command(status, monkeypatch):
    monkeypatch.setattr(noxfile, "PYTHON", Path(sys.executable))
    assert noxfile.run("-c", f"raise SystemExit({status})") == status
    with pytest.raises(SystemExit) as end:
        noxfile.exit_unless_zero(status)
    assert end.value.code == status


@pytest.mark.skipif(os.name == "nt", reason="signals end a process on POSIX")
def test_a_command_that_a_signal_ended_has_the_status_that_shells_give_it(monkeypatch):
    monkeypatch.setattr(noxfile, "PYTHON", Path(sys.executable))
    assert noxfile.run("-c", "import os, signal; os.kill(os.getpid(), signal.SIGTERM)") == 143


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("grade", "-s grade"),
        ("grade --only kl", "-s grade -- --only kl"),
        ("grade -- --only kl", "-s grade -- --only kl"),
        ("-s grade --only kl", "-s grade -- --only kl"),
        ("-s demo --plot 'my figures'", "-s demo -- --plot 'my figures'"),
        ("-s grade", ""),
        ("-s grade -- --only kl", ""),
        ("-s stubs tests", ""),
        ("-v -s grade", ""),
        ("--list", ""),
        ("", ""),
    ],
)
def test_a_forgotten_s_or_dash_is_answered_by_the_command_that_was_meant(typed, meant, capsys):
    assert shlex.join(noxfile.without_slip(shlex.split(typed)) or []) == meant
    if meant:
        with pytest.raises(SystemExit) as ended:
            noxfile.hand_over_to_nox(shlex.split(typed))
        assert ended.value.code == 2
        assert capsys.readouterr().err.endswith(f" noxfile.py {meant}\n")


def test_lists_a_help_line_for_every_session():
    command = [sys.executable, "-m", "nox", "--noxfile", str(ROOT / "noxfile.py"), "--list"]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    sessions = [line for line in listing.splitlines() if line.startswith("- ")]
    assert {line.split()[1] for line in sessions} >= {"grade", "demo", "stubs", "tests"}
    assert all(" -> " in line for line in sessions)
    assert nox.options.sessions == []
