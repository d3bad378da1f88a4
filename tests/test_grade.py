"""`python -m harness grade` as its users see it: what it prints, what it writes, how it exits."""

import json
import os
import shlex
import signal
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.sandbox.forked import Forked
from harness.sandbox.lender import Lender
from harness.sandbox.portable import Portable
from tests.small_course import CHECKS, RIGHT, STUBS, write_suite, write_tree

ROOT = Path(__file__).parent.parent


def grade(*arguments: object, cwd: Path = ROOT, typed: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "harness", "grade", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100"}
    return subprocess.run(command, cwd=cwd, env=environment, input=typed, capture_output=True, text=True, timeout=120)


@pytest.fixture(autouse=True)
def nowhere_on_github(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return write_suite(tmp_path / "small_suite")


def test_full_marks(suite: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    run = grade("--suite", suite, "--tree", write_tree(tmp_path / "tree"), "--out", folder)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "10.00 of 10.00 points; 3 of 3 facts hold" in run.stdout
    assert run.stdout.endswith(f"report: build/report.html\nwritten: {folder}\n".replace("/report", f"{os.sep}report"))
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    assert (result["schema"], result["complete"], result["score"], result["max_score"]) == (1, True, 10.0, 10.0)
    assert [fact["id"] for fact in result["facts"]] == [
        "small_suite/check_shapes.py::check_double_is_x_plus_x",
        "small_suite/check_shapes.py::check_double_leaves_its_argument_alone",
        "small_suite/check_shapes.py::check_coin_is_fair",
    ]
    assert [entry["name"] for entry in result["submission"]["files"]] == ["shapes.py"]
    assert {"result.json", "report.html", "gradescope.json", "junit.xml"} <= {each.name for each in folder.iterdir()}


def test_a_failure_says_what_is_wrong(suite: Path, tmp_path: Path) -> None:
    wrong = RIGHT.replace("np.asarray(x) + x", "np.asarray(x) * 3")
    run = grade("--suite", suite, "--tree", write_tree(tmp_path / "student", wrong))
    assert run.returncode == 1, run.stdout + run.stderr
    told = [
        "FAILED  double\n    Doubling adds a vector to itself.",
        "double(x) = x + x",
        "input",
        "double(x=[0, 0, 0.01])",
        "got",
        "expected",
        "^^^^",
        "Add x to itself.",
        "the definition.",
        "python3 noxfile.py -s grade -- --tree",
        "--only check_double_is_x_plus_x",
        "4.00 of 10.00 points; 2 of 3 facts hold",
    ]
    places = [run.stdout.find(part) for part in told]
    assert -1 not in places, run.stdout
    assert places == sorted(places), "in the order of a failure"
    # what is printed works as it is printed: the command, and the script that it shows
    command = run.stdout[run.stdout.index("python3 noxfile.py -s grade -- ") :].replace("\\\n", " ").partition("\n")[0]
    alone = grade("--suite", suite, *shlex.split(command)[5:])
    assert "0 of 1 facts hold" in alone.stdout, alone.stdout + alone.stderr
    script = alone.stdout[alone.stdout.index("import numpy as np") : alone.stdout.index("\nfunction ")]
    again = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert again.stdout == f"{np.array([0, 0, 0.01]) * 3}\n"


def test_stubs_earn_nothing_and_invite(suite: Path, tmp_path: Path) -> None:
    run = grade("--suite", suite, "--tree", write_tree(tmp_path / "tree", STUBS))
    assert run.returncode == 1
    assert "0.00 of 10.00 points; 0 of 3 facts hold" in run.stdout
    assert "Start here: double in" in run.stdout
    assert "--only double\n" in run.stdout
    assert "FAILED" not in run.stdout
    assert "Traceback" not in run.stdout + run.stderr


def test_only_scales_the_marks_to_the_chosen(suite: Path, tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree", RIGHT.replace("0.5", "0.7"))
    assert "4.00 points; 0 of 1 facts hold" in grade("--suite", suite, "--tree", tree, "--only", "coin").stdout
    run = grade("--suite", suite, "--tree", tree, "--only", "double", "--out", tmp_path)
    assert run.returncode == 0
    result = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    assert (result["max_score"], result["suite"]["selection"], result["suite"]["facts"]) == (6.0, ["double"], 3)


def test_two_answers_for_one_input_are_a_failure_not_an_error(suite: Path, tmp_path: Path) -> None:
    flaky = "import itertools\nn = itertools.count()\ndef double(x): return x + x + (next(n) == 3)"
    run = grade("--suite", suite, "--tree", write_tree(tmp_path / "tree", flaky), "--only", "double")
    assert run.returncode == 1, run.stdout + run.stderr
    assert "two answers for one input" in run.stdout


def test_a_suite_that_breaks_publishes_no_score(tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "broken_suite", CHECKS.replace("design = frequency", "design = no_such_design"))
    run = grade("--suite", suite, "--tree", write_tree(tmp_path / "tree"), "--out", tmp_path)
    assert run.returncode == 3
    assert "the grader's fault" in run.stdout
    result = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    assert (result["complete"], result["score"]) == (False, None)


@pytest.mark.parametrize("planted", ["conftest.py", "pytest.ini", "numpy.py", "harness.py"])
def test_a_planted_file_has_no_say(suite: Path, tmp_path: Path, planted: str) -> None:
    tree = write_tree(tmp_path / "tree", STUBS)
    forged = "import pytest\n\n@pytest.hookimpl\ndef pytest_pyfunc_call(pyfuncitem):\n    return True\n"
    (tree / planted).write_text("[pytest]\naddopts = --co\n" if planted == "pytest.ini" else forged, encoding="utf-8")
    run = grade("--suite", suite, "--tree", tree)
    assert "0.00 of 10.00 points" in run.stdout, run.stdout + run.stderr


def test_other_seeds_keep_the_marks(suite: Path, tmp_path: Path) -> None:
    run = grade("--suite", suite, "--tree", write_tree(tmp_path / "tree"), "--reseed", 7)
    assert run.returncode == 0, run.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--tree", "nowhere"], "nowhere: no such folder"),
        (["--tree", "docs"], "none of the modules is there"),
        (["--only", "doubel"], "did you mean double?"),
        (["--points", "none.toml"], "none.toml: cannot be read"),
        (["--reseed", "-1"], "is not a number 0, 1, 2"),
        (["--out", "pyproject.toml"], "--out pyproject.toml"),
        (["--nonsense"], "--nonsense"),
        (["--tre", "student"], "unrecognized arguments: --tre student"),
    ],
    ids=repr,
)
def test_a_command_line_that_makes_no_sense_is_named(
    suite: Path, tmp_path: Path, arguments: list[str], says: str
) -> None:
    run = grade("--suite", suite, "--tree", write_tree(tmp_path / "tree"), *arguments)
    assert run.returncode == 2
    assert says in run.stderr.replace("\n", " ")
    assert "Traceback" not in run.stderr


def test_the_page_is_always_written(suite: Path, tmp_path: Path) -> None:
    run = grade("--suite", suite, "--tree", write_tree(tmp_path / "tree", STUBS), cwd=tmp_path)
    assert run.returncode == 1
    page = (tmp_path / "build" / "report.html").read_text(encoding="utf-8")
    assert '<span class="score">0</span> of 10 points' in page
    (tmp_path / "readonly").mkdir()
    (tmp_path / "readonly" / "build").write_text("", encoding="utf-8")
    run = grade("--suite", suite, "--tree", tmp_path / "tree", cwd=tmp_path / "readonly")
    assert run.returncode == 1
    assert "is not written" in run.stdout


def test_what_cannot_be_read_has_no_points_and_says_why(suite: Path, tmp_path: Path) -> None:
    (tmp_path / "handed.zip").write_bytes(b"no archive")
    (tmp_path / "empty").mkdir()
    for tree, says in (("handed.zip", "neither a folder nor a readable"), ("empty", "none of the modules is there")):
        folder = tmp_path / "out"
        run = grade("--suite", suite, "--tree", tmp_path / tree, "--out", folder)
        assert run.returncode == 2
        assert says in run.stderr.replace("\n", " ")
        result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        assert (result["readable"], result["complete"], result["score"], result["max_score"]) == (False, True, 0, 10)
        assert result["facts"] == []
        assert json.loads((folder / "prairielearn.json").read_text(encoding="utf-8"))["gradable"] is False
        assert json.loads((folder / "gradescope.json").read_text(encoding="utf-8"))["score"] == 0
    run = grade("--suite", suite, "--tree", tmp_path / "nowhere", "--out", folder)
    assert run.returncode == 2
    assert list(folder.iterdir()) == [], "a mistyped path is nobody's zero, nor an earlier submission's marks"


def test_in_a_github_workflow_nothing_printed_is_a_command_but_our_own(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    wrong = RIGHT.replace("np.asarray(x) + x", "print('::error::owned') or print('::stop-commands::x') or x * 3")
    run = grade("--suite", suite, "--tree", write_tree(tmp_path / "tree", wrong))
    lines = run.stdout.splitlines()
    token = lines[0].removeprefix("::stop-commands::")
    end = lines.index(f"::{token}::")
    assert "::error::owned" in "\n".join(lines[:end])
    after = [line for line in lines[end + 1 :] if line.lstrip().startswith("::")]
    assert [line.partition("::")[2].partition(" ")[0] for line in after] == ["error", "notice"]
    assert "4 of 10 points" in after[1]
    assert "| `shapes.double` | 0.00 | 6.00 |" in (tmp_path / "summary.md").read_text(encoding="utf-8")


@pytest.mark.skipif(sys.platform != "linux", reason="confinement is Linux's")
def test_a_run_below_the_required_isolation_asks_nothing(suite: Path, tmp_path: Path) -> None:
    marker = "open('/dev/null'); print('I ran')"
    tree = write_tree(tmp_path / "tree", f"{marker}\n{RIGHT}")
    run = grade("--suite", suite, "--tree", tree, "--out", tmp_path, "--require", "full", "--without-layer", "seccomp")
    assert run.returncode == 3
    assert "isolation here is partial, and full is required" in run.stdout
    assert "not contained: starting processes" in run.stdout
    result = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    assert (result["complete"], result["score"], result["isolation"]["level"]) == (False, None, "partial")
    assert "I ran" not in json.dumps(result)


def test_an_ordinary_process_gives_the_same_marks(suite: Path, tmp_path: Path) -> None:
    wrong = RIGHT.replace("np.asarray(x) + x", "np.asarray(x) * 3")
    tree = write_tree(tmp_path / "tree", wrong)
    results = []
    for options in ((), ("--isolation", "process")):
        grade("--suite", suite, "--tree", tree, "--out", tmp_path, *options)
        results.append(json.loads((tmp_path / "result.json").read_text(encoding="utf-8")))
    confined, ordinary = results
    assert ordinary["isolation"]["level"] == "process"
    assert [(fact["outcome"], fact["evidence"]) for fact in ordinary["facts"]] == [
        (fact["outcome"], fact["evidence"]) for fact in confined["facts"]
    ]


def test_debugging_runs_here_and_writes_no_marks(suite: Path, tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree", f"import os\nprint('parent', os.getppid())\n{RIGHT}")
    run = grade("--suite", suite, "--tree", tree, "--debug")
    assert f"parent {os.getpid()}" in run.stdout
    assert "3 of 3 facts hold" in run.stdout
    assert grade("--suite", suite, "--tree", tree, "--debug", "--out", tmp_path).returncode == 2


@pytest.mark.parametrize(("stops", "options"), [("breakpoint()", []), ("[][0]", ["--pdb"])])
def test_a_debugger_stops_in_the_submission(suite: Path, tmp_path: Path, stops: str, options: list[str]) -> None:
    tree = write_tree(tmp_path / "tree", RIGHT.replace("return np.asarray(x) + x", f"y = {stops}; return x + x"))
    run = grade("--suite", suite, "--tree", tree, "--only", "double", "--debug", *options, typed="p x.size\nc\n" * 200)
    assert f"{tree / 'shapes.py'}(" in run.stdout, run.stdout + run.stderr
    assert "\n(Pdb) 3\n" in run.stdout, "the debugger knows the argument"
    assert run.returncode == len(options), "where it goes on, the facts hold"


def test_an_archive_is_graded_like_its_folder_and_what_is_left_out_is_named(suite: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "handed.zip", "w") as archive:
        archive.writestr("work/shapes.py", RIGHT)
        archive.writestr("work/notes.txt", "x")
        archive.writestr("__MACOSX/work/shapes.py", "x")
    run = grade("--suite", suite, "--tree", tmp_path / "handed.zip")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "not used: notes.txt: not a Python module's name" in run.stdout


HELPER = """
import numpy as np

def double(x):
    return np.asarray(x) * 3

def coin(n, rng):
    return (double(rng.random(n)) / 2) < 0.5
"""


def test_a_wrong_helper_costs_only_its_own_marks(suite: Path, tmp_path: Path) -> None:
    reference = write_tree(tmp_path / "right")
    run = grade("--suite", suite, "--reference", reference, "--tree", write_tree(tmp_path / "tree", HELPER))
    assert "4.00 of 10.00 points" in run.stdout, run.stdout + run.stderr
    assert "1 fact holds with the reference's helpers" in run.stdout
    run = grade("--suite", suite, "--reference", tmp_path / "none", "--tree", tmp_path / "tree")
    assert "0.00 of 10.00 points" in run.stdout
    assert "coin: 1 fact may hold once double is right\n    - check_coin_is_fair\n" in run.stdout
    assert run.stdout.count("FAILED") == 1
    assert "where right helpers can be lent, the marks can only be higher" in run.stdout


LOSS = """
def double(logits, y):
    log_p = logits - logits.logsumexp(0)
    return -(log_p[y] ** 2).mean()
"""
NEWTON = """
import numpy as np
import torch

def double(logits, y):
    raise ValueError("wrong on purpose")

def coin(logits, y):
    x = torch.tensor(logits, requires_grad=True)
    value = double(x, torch.tensor(y))
    gradient = torch.autograd.grad(value, x, create_graph=True)[0]
    hessian = torch.stack([torch.autograd.grad(g, x, retain_graph=True)[0] for g in gradient])
    return value.item(), gradient.detach().numpy(), hessian.numpy()
"""


def test_a_lent_loss_has_true_derivatives(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    reference = write_tree(tmp_path / "right", LOSS)
    lend = Lender(reference, {"double": "shapes", "coin": "shapes"}).lend("coin")
    x, y = np.array([0.3, -1.0, 2.0]), np.array([2, 0, 0])
    with Forked() if sys.platform == "linux" else Portable() as client:
        client.begin({"shapes": NEWTON.encode()}, 0, 5.0, lend, "coin")
        client.import_module("shapes")
        value, gradient, hessian = client.invoke("call", "shapes", "coin", [x, y], {})
    namespace: dict[str, Any] = {}
    exec(LOSS, namespace)
    at = torch.tensor(x, requires_grad=True)
    assert value == pytest.approx(namespace["double"](at, torch.tensor(y)).item())
    for got, expected in (
        (gradient, torch.autograd.functional.jacobian(lambda z: namespace["double"](z, torch.tensor(y)), at)),
        (hessian, torch.autograd.functional.hessian(lambda z: namespace["double"](z, torch.tensor(y)), at)),
    ):
        assert got == pytest.approx(expected.numpy())


@pytest.mark.skipif(os.name == "nt", reason="process groups are POSIX's")
def test_ctrl_c_stops_without_a_traceback(suite: Path, tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree", "while True: pass")
    command = [
        sys.executable,
        "-m",
        "harness",
        "grade",
        "--suite",
        str(suite),
        "--tree",
        str(tree),
        "--out",
        str(tmp_path),
    ]
    run = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    with pytest.raises(subprocess.TimeoutExpired):
        run.communicate(timeout=5)
    os.killpg(run.pid, signal.SIGINT)
    out, err = run.communicate(timeout=30)
    assert run.returncode == 130
    assert (out, err) == ("", "stopped\n")
    assert json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))["complete"] is False
