"""The proof of a small course, and every way in which it can fall short."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.evaluate import evaluate
from harness.facts import describe, load, manifest
from harness.impl import Impl, Timeout
from harness.local import Local
from harness.validation.cases import Case, Course, Failure, Finding, _patience, ask
from harness.validation.command import BESIDES, FOLDERS
from harness.validation.kept import Kept
from harness.validation.matrix import Block, completed, matrix
from harness.validation.plan import Plan
from harness.validation.prove import prove
from harness.validation.record import DECIDE, digest, read
from harness.validation.tables import function_rows, lent_pairs
from harness.variants import bank
from harness.verdict import Outcome
from tests.small_course import CHECKS, RIGHT, STUBS, write_suite, write_tree

ROOT = Path(__file__).parent.parent
HEAD = "import numpy as np\nfrom harness.variants import mistake, right_answer\n\n"
MISTAKES = (
    HEAD
    + """
@mistake("double", "x is squared", severity="blatant")
def squares(x): return np.asarray(x) ** 2

@mistake("double", "x is overwritten")
def overwrites(x):
    x *= 2
    return x

@mistake("coin", "heads come three times in four")
def biased(n, rng): return rng.random(n) < 0.75
"""
)
ANSWERS = (
    HEAD
    + """
@right_answer("double", "by a factor")
def factor(x): return 2 * np.asarray(x)

@right_answer("coin", "by an integer")
def integers(n, rng): return rng.integers(2, size=n) == 1
"""
)


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Course:
    # workers import the suite anew, by its folder's name
    monkeypatch.syspath_prepend(tmp_path)
    return Course(
        write_suite(tmp_path / f"suite_{tmp_path.name}"),
        write_tree(tmp_path / "right"),
        write_tree(tmp_path / "stubs", STUBS),
        write_tree(tmp_path / "mistakes", MISTAKES),
        write_tree(tmp_path / "answers", ANSWERS),
    )


def test_a_sound_course_is_proved(course: Course) -> None:
    steps: list[tuple[str, int, int]] = []
    proof = prove(course, progress=lambda *step: steps.append(step))
    assert proof.falls_short == []
    assert {name: len(block.rows) for name, block in proof.matrix.items()} == {"double": 2, "coin": 1}
    assert [(row.mistakes, row.answers) for row in function_rows(proof)] == [((2, 2), (1, 1)), ((1, 1), (1, 1))]
    assert steps[-1][1] == steps[-1][2] == len(steps)
    assert set(prove(course, ["coin"]).functions) == {"coin"}


def test_the_matrix_says_which_fact_kills_which_mistake(course: Course) -> None:
    facts = [fact for fact in manifest(course.suite) if fact.function == "double"]
    first, second = (fact.name for fact in facts)
    asked = {first: 0.1, second: 0.1}
    findings = [
        Finding(Case("mistake", "double", "both"), asked, [Failure(name, "failed", "") for name in asked], {}),
        Finding(Case("mistake", "double", "one"), {first: 0.1}, [Failure(first, "timeout", "")], {}),
        Finding(Case("mistake", "double", "one", facts=(second,)), {second: 0.1}, [], {}),
        Finding(Case("mistake", "double", "neither"), asked, [], {}),
    ]
    block = matrix(facts, ["double"], findings)["double"]
    assert block.rows == {"both": "xx", "one": "t.", "neither": ".."}
    assert block.kills() == {first: 2, second: 1}
    assert block.alone() == {first: 1}
    assert block.idle() == []
    partly = matrix(facts, ["double"], findings[1:2])["double"]
    assert (partly.rows, partly.idle()) == ({"one": "t?"}, [])  # nobody knows
    assert completed({"double": partly}, {"double": block})["double"].rows == {"one": "t."}
    assert matrix(facts, ["double"], findings[1:])["double"].idle() == [second]


ALWAYS = """

@fact(function="double", promise="Twice x", hint="Any.")
def check_double_answers(impl):
    \"\"\"Doubling ends.

        double(x) exists

    Source: the docstring.
    \"\"\"
    impl.shapes.double(np.ones(2))
"""

SHAPES, FACTS = "shapes.py", "check_shapes.py"
WEAKER, UNHELD = "frequency(0.5, detects=0.9999)", "does not hold check_double_is_x_plus_x"
# What is changed, in which file, from what to what; and what is said then.
FAULTS = {
    "the reference": (
        "reference", SHAPES, "np.asarray(x) + x", "np.asarray(x) * 3",
        ["the reference's double does not hold check_double_is_x_plus_x (failed)"],
    ),
    "a wrong fact": (
        "suite", FACTS, "(x), x + x)", "(x), x + x + 1)",
        [f"the reference's double {UNHELD}", f"the right answer shapes::factor of double (by a factor) {UNHELD}"],
    ),
    "a weak fact": (
        "suite", FACTS, "frequency(0.5, detects=0.6)", WEAKER,
        ["no fact kills the mistake shapes::biased of coin", "check_coin_is_fair kills no mistake"],
    ),
    "an idle fact": ("suite", FACTS, "", ALWAYS, ["check_double_answers kills no mistake"]),
    "rates": ("suite", FACTS, "false_alarm=1e-9", "false_alarm=1e-5", ["rates of all facts add up to 1e-05"]),
    "a mistake": (
        "mistakes", SHAPES, "rng.random(n) < 0.75", "rng.random(n) < 0.5",
        ["no fact kills the mistake shapes::biased of coin: heads come three times in four"],
    ),
    "a right answer": (
        "right_answers", SHAPES, "2 * np.asarray(x)", "2.001 * np.asarray(x)",
        [f"the right answer shapes::factor of double (by a factor) {UNHELD}"],
    ),
    "a stub": (
        "stubs", SHAPES, "raise NotImplementedError", "return x + x",
        ["a stub does not leave check_double_is_x_plus_x to do"],
    ),
    "a docstring": ("reference", SHAPES, "Twice x", "Double x", ['does not say "Twice x"']),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_what_falls_short_is_named(course: Course, fault: str) -> None:
    part, file, right, wrong, sentences = FAULTS[fault]
    path: Path = getattr(course, part) / file
    text = path.read_text(encoding="utf-8")
    assert right in text
    path.write_text(text.replace(right, wrong, 1) if right else text + wrong, encoding="utf-8")
    proof = prove(course)
    assert not proof.holds
    for sentence in sentences:
        assert any(sentence in said for said in proof.falls_short), proof.falls_short


QUADRUPLE = (
    RIGHT
    + """
def quadruple(x):
    \"\"\"Four times x.

    Source: arithmetic.
    \"\"\"
    return double(double(x))
"""
)
ASKS_QUADRUPLE = """

@fact(function="quadruple", promise="Four times x", defines=True, hint="Double it twice.")
def check_quadruple_is_four_times_x(impl):
    \"\"\"Doubling twice is a factor of 4.

        quadruple(x) = 4 x

    Source: arithmetic.
    \"\"\"
    assert_exact(impl.shapes.quadruple(np.arange(3.0)), 4 * np.arange(3.0))
"""


def test_a_mistake_in_a_helper_costs_nobody_else_anything(course: Course) -> None:
    (course.reference / "shapes.py").write_text(QUADRUPLE)
    suite = course.suite / "check_shapes.py"
    suite.write_text(CHECKS + ASKS_QUADRUPLE)
    (course.suite / "points.toml").write_text("[shapes]\ndouble = 5\ncoin = 4\nquadruple = 1\n")
    proof = prove(course, ["quadruple"])
    assert lent_pairs(proof) == [("quadruple", "double", 1)]
    assert not [finding for finding in proof.held if finding.failed]


def test_a_fact_that_another_functions_mistake_can_fail_is_named(course: Course) -> None:
    suite = course.suite / "check_shapes.py"  # what is lent to coin is nothing: its module calls no other function
    suite.write_text(CHECKS.replace("    design = freq", "    impl.shapes.double(np.ones(2))\n    design = freq"))
    sentences = prove(course, ["coin"]).falls_short
    assert len(sentences) == 1
    assert "coin, where double raises and helpers are lent, does not hold check_coin_is_fair" in sentences[0]


def test_a_fact_whose_witness_lives_is_asked_of_the_next_mistake(course: Course) -> None:
    checks = load(course.suite)
    facts = [describe(name, check) for name, check in checks.items()]
    mistakes = {v.identifier: v for v in bank(course.mistakes)}
    recorded = {"double": Block([facts[0].name], {"shapes::squares": ".", "shapes::overwrites": "x"})}
    plan = Plan(facts[:1], checks, mistakes, {}, {}, recorded, deep=False)
    (witness,) = (case for case in plan.cases if case.kind == "mistake" and case.facts)
    assert (witness.name, witness.facts) == ("shapes::overwrites", (facts[0].name,))
    lives = Finding(witness, {}, [], {})
    assert plan.further(lives._replace(failed=[Failure(facts[0].name, "failed", "")])) == []
    assert [case.name for case in plan.further(lives)] == ["shapes::squares"]
    assert plan.further(lives) == []  # there is no other


def test_without_shrinking_the_verdict_is_the_same_and_the_input_another(course: Course) -> None:
    checks = load(course.suite)
    (fact,) = (describe(name, check) for name, check in checks.items() if name.endswith("is_x_plus_x"))
    impl = Impl(Local({"shapes": RIGHT.replace("np.asarray(x) + x", "np.asarray(x) * 3").encode()}), {})
    smallest, first = (evaluate(fact, checks[fact.id], impl, shrink=shrink) for shrink in (True, False))
    assert smallest.outcome is first.outcome is Outcome.FAILED
    assert smallest.evidence.input != first.evidence.input


def test_an_answer_that_does_not_come_is_given_up() -> None:
    with pytest.raises(Timeout), _patience(0.05):
        while True:
            pass


# ---- the record, the page, the command ----

TAIL = "return rng.random(n) < 0.5", "`rng.random(n) < 0.5` becomes `rng.random(n) {} 0.5`"
SURVIVORS = [
    ("double", "return np.asarray(x) + x", "`np.asarray(x)` becomes `x`", "The facts ask for arrays alone."),
    ("coin", TAIL[0], TAIL[1].format("<="), "A draw is 0.5 with probability 2**-53."),
    ("coin", TAIL[0], TAIL[1].format(">="), "The coin is fair."),
]
EQUIVALENTS = "".join(
    f"[[equivalent]]\nmodule = 'shapes'\nfunction = '{function}'\n"
    f"line = '{line}'\nchange = '{change}'\nreason = '{why}'\n"
    for function, line, change, why in SURVIVORS
)


DERIVATIONS = """
import numpy as np
from harness.validation.calibration import derivation

@derivation("check_coin_is_fair")
def of_the_coin(ask, name, rng):
    'The law is known.'
    return np.float64(1e-12)
"""


def command(course: Course, *options: str) -> subprocess.CompletedProcess[str]:
    folder = course.suite.parent
    (folder / "peers").mkdir(exist_ok=True)
    (folder / "derivations.py").touch()
    (folder / "equivalents.toml").touch()
    besides = [folder / "peers", folder / "equivalents.toml", folder / "derivations.py", folder / "record.json"]
    parts = dict(zip((*FOLDERS, *BESIDES), (*course[: len(FOLDERS)], *besides), strict=True))
    arguments = [word for name, path in parts.items() for word in (f"--{name}", str(path))]
    return subprocess.run(
        [sys.executable, "-m", "harness", "validate", *arguments, "--out", str(folder), *options],
        cwd=ROOT, capture_output=True, text=True, timeout=300,
    )  # fmt: skip


def test_a_deep_run_is_recorded_and_holds_until_something_changes(course: Course) -> None:
    folder = course.suite.parent
    (folder / "equivalents.toml").write_text(EQUIVALENTS)
    (folder / "derivations.py").write_text(DERIVATIONS)
    deep = command(course, "--deep")
    assert deep.returncode == 0, deep.stdout
    record = read(folder / "record.json")
    assert record is not None
    assert [(g.facts, g.answers, g.verdicts) for g in record.seeds.groups] == [(1, 1, 200), (1, 1, 200)]
    assert not record.seeds.failures
    assert [(rate.how, rate.chance) for rate in record.derivations] == [("The law is known.", 1e-12)]
    assert record.matrix["double"].rows == {"shapes::squares": "x.", "shapes::overwrites": ".x"}
    assert {(m.function, m.change) for m in record.mutants.survivors} == {(s[0], s[2]) for s in SURVIVORS}
    assert record.mutants.total["coin"] == record.mutants.killed["coin"] + 2

    held = command(course)
    assert held.returncode == 0, held.stdout
    page = (folder / "validate.html").read_text(encoding="utf-8")
    for part in (
        "The proof holds",
        record.date,
        "check_coin_is_fair",
        "kills 1 of 2 mistakes, 1 of them alone",
        "The coin is fair.",
    ):
        assert part in page
    assert not re.search(r"https?://|<script", page)

    (folder / "equivalents.toml").write_text("")
    assert "is it listed as equivalent" in " ".join(command(course).stdout.split())
    (folder / "equivalents.toml").write_text(EQUIVALENTS)
    (course.mistakes / "shapes.py").write_text(MISTAKES + "# one more line\n")
    stale = command(course)
    assert stale.returncode == 1
    assert "have changed since the deep run" in stale.stdout
    assert "one thing falls short" in stale.stdout


def test_a_course_without_its_record_falls_short(course: Course) -> None:
    run = command(course)
    assert run.returncode == 1
    assert "there is no record of a deep run" in run.stdout
    part = command(course, "--only", "coin")
    assert part.returncode == 0, part.stdout
    assert command(course, "--only", "coins").returncode == 2


def test_the_digest_is_of_all_that_decides(course: Course) -> None:
    before = digest(course)
    for folder in (course.suite, course.reference, course.mistakes, course.right_answers):
        path = next(folder.glob("*shapes.py"))
        path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
        assert digest(course) != before
        before = digest(course)
    (course.suite.parent / "constraints.txt").write_text("numpy==2\n")
    assert digest(course) != before


def test_the_digest_knows_every_module_that_decides() -> None:
    words = {"harness/replay", "harness/shown", "harness/text"}  # how a report says it
    besides = {"harness", "harness/sandbox", "harness/validation", "harness/validation/files"}
    for module in DECIDE:
        source = (ROOT / "harness" / f"{module}.py").read_text(encoding="utf-8")
        for package, names in re.findall(r"^from (harness[.\w]*) import ([\w, ]+)", source, re.MULTILINE):
            path = package.replace(".", "/")
            parts = {f"{path}/{name.split()[0]}" for name in names.split(",")} if (ROOT / path).is_dir() else {path}
            assert parts <= {f"harness/{name}" for name in DECIDE} | words | besides, (module, parts)


def test_what_is_not_the_whole_project_is_an_error_of_the_command(course: Course, tmp_path: Path) -> None:
    run = command(course._replace(mistakes=tmp_path / "none"))
    assert run.returncode == 2
    assert "not found; validate needs the whole project" in run.stderr


# ---- the banks of this course ----

MISTAKE_BANK, ANSWER_BANK = ROOT / "checks" / "mistakes", ROOT / "tests" / "right_answers"


def test_the_banks_are_large_enough_for_every_function() -> None:
    mistakes, answers = bank(MISTAKE_BANK), bank(ANSWER_BANK)
    for function in {fact.function for fact in manifest(ROOT / "checks")}:
        assert sum(v.function == function for v in mistakes) >= 8, function
        assert sum(v.function == function for v in answers) >= 3, function
    assert len(mistakes) >= 200
    assert len(answers) >= 70


def test_every_mistake_has_a_sentence_of_its_own() -> None:
    sentences = [variant.says for variant in bank(MISTAKE_BANK)]
    assert len(set(sentences)) == len(sentences)
    assert all(len(sentence) > 10 for sentence in sentences)


def test_no_mistake_comes_from_the_reference() -> None:
    for path in MISTAKE_BANK.glob("*.py"):
        assert not re.search(r"^\s*(from|import) (reference|student)\b", path.read_text(encoding="utf-8"), re.MULTILINE)


def test_a_deep_run_goes_on_where_one_was_stopped(course: Course, tmp_path: Path) -> None:
    file = tmp_path / "build" / "deep.jsonl"
    cases = [
        Case("reference", "double"),
        Case("mistake", "double", "shapes::squares"),
        Case("right", "coin", "shapes::integers"),
    ]
    found = {finding.case: finding for finding in ask(course, cases, memory=Kept(file, course))}
    assert found[cases[1]].failed
    file.write_bytes(file.read_bytes() + b'{"key": "cut sho')
    assert {case: Kept(file, course).finding(case) for case in cases} == found
    # what is known is not asked again, and what follows from it is told all the same
    (course.mistakes / "shapes.py").write_text("nothing can import this")
    steps: list[tuple[int, int]] = []
    again = list(ask(course, cases[::2], lambda done, total: steps.append((done, total)), memory=Kept(file, course)))
    assert {finding.case: finding for finding in again} == {case: found[case] for case in cases[::2]}
    assert steps == [(1, 2), (2, 2)]
    assert Kept(file, course).finding(cases[1]) is None


def test_other_facts_and_another_reference_are_asked_anew(course: Course, tmp_path: Path) -> None:
    case, memory = Case("reference", "double"), Kept(tmp_path / "deep.jsonl", course)
    list(ask(course, [case], memory=memory))
    for changed in (course.suite / "check_shapes.py", course.reference / "shapes.py"):
        before = changed.read_text()
        changed.write_text(before + "\n")
        assert Kept(tmp_path / "deep.jsonl", course).finding(case) is None
        changed.write_text(before)
    assert Kept(tmp_path / "deep.jsonl", course).finding(case)
