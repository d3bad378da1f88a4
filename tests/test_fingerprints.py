"""Mistakes are named by what was answered: the right one or none, and never a right answer's."""

import json
import re
from fractions import Fraction
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import facts as suite_facts
from harness import feedback, fingerprinting, fingerprints, probes
from harness.facts import Fact
from harness.fingerprinting import Course
from harness.fingerprints import Fingerprint, Fingerprints, Prints, by_answers, by_facts
from harness.impl import Impl
from harness.local import Local, sources_of
from harness.probes import Probe, Probes, agree, digest
from harness.source import calls
from harness.variants import bank
from harness.verdict import Evidence, Outcome, Verdict
from tests.small_course import CHECKS, RIGHT, write_suite, write_tree
from tests.test_grade import grade

ROOT = Path(__file__).parent.parent
COURSE = Course(
    ROOT / "checks", ROOT / "reference", ROOT / "checks/mistakes", ROOT / "tests/right_answers", ROOT / "none.json"
)
QUICK = (
    "kl",
    "tv",
    "optimal_policy",
    "best_of_n_distribution",
    "implicit_reward",
    "sigmoid",
    "make_pairs",
    "pick_batch",
)


# ---- the file of the course ----


def test_every_mistake_of_the_bank_has_its_prints_and_nothing_else_is_there() -> None:
    known = fingerprints.read(COURSE.suite).functions
    names = {(variant.function, variant.identifier.rpartition("::")[2]) for variant in bank(COURSE.mistakes)}
    assert {(function, mistake.name) for function, prints in known.items() for mistake in prints.mistakes} == names
    facts = suite_facts.manifest(COURSE.suite)
    for function, prints in known.items():
        own = {fact.name for fact in facts if fact.function == function}
        assert all(set(mistake.fails) <= own for mistake in prints.mistakes), function


def test_there_is_no_code_and_no_answer_in_it() -> None:
    for prints in fingerprints.read(COURSE.suite).functions.values():
        digests = [one for answers in prints.right for one in answers]
        digests += [one for mistake in prints.mistakes for one in mistake.answers]
        assert all(re.fullmatch(r"[0-9a-f]{8}:[0-9a-f]{8}|", one) for one in digests)
        assert all("\n" not in mistake.says and len(mistake.says) < 200 for mistake in prints.mistakes)


def test_nearly_every_mistake_of_the_bank_is_named_as_itself_or_as_one_that_answers_alike() -> None:
    asked = probes.load(COURSE.suite)
    questions = {function: list(ask()) for function, ask in asked.by_function.items()}
    shares = fingerprints.coverage(fingerprints.read(COURSE.suite), questions, asked.by_facts)
    shortest = {function: share for function, share in shares.items() if Fraction(share[1], share[2]) < Fraction(9, 10)}
    assert not shortest
    assert sum(share[1] for share in shares.values()) >= 0.96 * sum(share[2] for share in shares.values())


@pytest.mark.parametrize("function", QUICK)
def test_no_right_answer_is_named_and_the_file_is_up_to_date(function: str) -> None:
    fact = next(fact for fact in suite_facts.manifest(COURSE.suite) if fact.function == function)
    asked = probes.load(COURSE.suite).by_function[function]
    known = fingerprints.read(COURSE.suite).functions[function]
    for variant in (None, *(one for one in bank(COURSE.right_answers) if one.function == function)):
        answers = fingerprinting.asked(COURSE, fact, variant)
        assert by_answers(known, list(asked()), answers) is None, variant
    fresh = fingerprinting.generate(COURSE, [function])
    assert fingerprinting.stale(COURSE, fresh) == []


# ---- digests ----


@given(st.floats(allow_nan=False), st.floats(-1, 1))
def test_numbers_that_differ_by_rounding_agree(x: float, noise: float) -> None:
    near = x * (1 + noise * 1e-12) + noise * 1e-12 if abs(x) < 1e300 else x
    assert agree(digest(x, 9), digest(near, 9))
    assert agree(digest(np.array([x, 1.0]), 9), digest(np.array([near, 1.0]), 9))


@pytest.mark.parametrize(
    "values",
    [
        (0.5, 0.5001, float("nan"), float("inf"), -float("inf"), 0.0, None, "0.5", True, [0.5], (0.5, 0.5), {}),
        (np.ones(2), np.ones((2, 1)), np.ones(2, int), np.ones(2, bool), np.ones(3), np.zeros(2), np.ones(30_000)),
        ({1: 2.0}, {2: 1.0}, {1: 2.5}),
    ],
)
def test_what_differs_does_not_agree(values: tuple[object, ...]) -> None:
    digests = [digest(value, 6) for value in values]
    for i, one in enumerate(digests):
        assert [agree(one, other) for other in digests] == [i == j for j in range(len(digests))]


@pytest.mark.parametrize("same", [(1, 1.0, np.float64(1), np.array(1.0)), (0.0, -0.0), ([1, 2], (1.0, 2.0))])
def test_what_a_fact_takes_for_the_same_agrees(same: tuple[object, ...]) -> None:
    assert all(agree(digest(same[0], 6), digest(other, 6)) for other in same)


def test_no_answer_agrees_with_nothing() -> None:
    assert not agree(probes.NO_ANSWER, probes.NO_ANSWER)
    assert not agree(probes.NO_ANSWER, digest(1.0, 6))


# ---- which mistake it is ----


def d(*values: float) -> list[str]:
    return [digest(value, 6) for value in values]


ASKED = [Probe((1,)), Probe((2,)), Probe((3,), extreme=True), Probe((4,), path=True)]
PRINTS = Prints(
    right=[d(1), d(2), d(3), d(4)],
    mistakes=[
        Fingerprint("doubles", "It doubles.", "subtle", d(2, 4, 6, 8), ["check_a"]),
        Fingerprint("twice", "Twice.", "blatant", d(2, 4, 6, 8), ["check_a", "check_b"]),
        Fingerprint("extreme", "3 is 0.", "extreme", d(1, 2, 0, 4), ["check_c"]),
        Fingerprint("other", "3 is 7.", "extreme", d(1, 2, 7, 4), ["check_d"]),
    ],
)


@pytest.mark.parametrize(
    ("answers", "name"),
    [
        (d(2, 4, 6, 8), "twice"),
        (d(2, 4, 6, 99), "twice"),
        (d(2, 4, 99, 8), "twice"),
        (d(2, 5, 6, 8), None),
        (d(1, 2, 0, 4), "extreme"),
        (d(1, 2, 0, 99), "extreme"),
        (d(1, 2, 9, 4), None),
        (d(1, 2, 3, 4), None),
        (d(1, 2, 3, 99), None),
        (["", "", "", ""], None),
        (d(2, 4), None),
    ],
    ids=str,
)
def test_a_mistake_is_named_when_all_that_is_firm_agrees(answers: list[str], name: str | None) -> None:
    found = by_answers(PRINTS, ASKED, answers)
    assert (found.name if found else None) == name


def test_by_facts_a_mistake_is_named_when_no_other_fails_the_same() -> None:
    assert by_facts(PRINTS, {"check_a", "check_b"}) == PRINTS.mistakes[1]
    assert by_facts(PRINTS, {"check_a", "check_c"}) is None
    assert by_facts(PRINTS, set()) is None
    twins = Prints([], [Fingerprint(name, name, "subtle", [name], ["check_a"]) for name in ("x", "y")])
    assert by_facts(twins, {"check_a"}) is None
    unknown = Prints([], [*PRINTS.mistakes, Fingerprint("z", "z", "subtle", ["z"], [])])
    assert by_facts(unknown, {"check_a", "check_b"}) is None


def facts_of(**functions: list[str]) -> list[Fact]:
    return [
        Fact(f"checks/check_m.py::{name}", "m", function, "t", "", "s", "h", 1, False, 0.0)
        for function, names in functions.items()
        for name in names
    ]


FAILED, PASSED = Verdict(Outcome.FAILED, Evidence("no")), Verdict(Outcome.PASSED)


def test_a_sentence_stands_on_the_failures_that_the_mistake_causes() -> None:
    facts = facts_of(f=["check_a", "check_b", "check_c"])
    verdicts = {fact.id: FAILED for fact in facts}
    verdicts[facts[0].id] = Verdict(Outcome.FAILED, Evidence("no"), answers=d(2, 4, 6, 8))
    asked = Probes({"f": lambda: iter(ASKED)}, frozenset())
    named = feedback.named(Fingerprints(1, {"f": PRINTS}), asked, facts, verdicts, whole=True)
    assert {name: one.text for name, one in named.items()} == {"f": "Twice"}
    assert set(feedback.told(named, facts, verdicts)) == {facts[0].id, facts[1].id}


@pytest.mark.parametrize(
    ("message", "whole", "text"),
    [
        ("no", True, "perhaps, by the facts that fail: Twice"),
        ("no", False, None),
        ("TypeError: no\n  m.py, line 3\n    x", True, None),
    ],
)
def test_by_facts_only_where_all_were_asked_and_answered(message: str, whole: bool, text: str | None) -> None:
    facts = facts_of(f=["check_a", "check_b", "check_c"])
    failed = Verdict(Outcome.FAILED, Evidence(message), answers=d(9, 9, 9, 9))
    verdicts = dict(zip((fact.id for fact in facts), (failed, failed, PASSED), strict=True))
    known = Fingerprints(1, {"f": PRINTS})
    found = feedback.named(known, Probes({"f": lambda: iter(ASKED)}, frozenset({"f"})), facts, verdicts, whole)
    assert (found["f"].text if found else None) == text
    assert not feedback.named(known, Probes({"f": lambda: iter(ASKED)}, frozenset()), facts, verdicts, whole)


# ---- failures that follow from another's ----

SOURCES = {
    "a": b"def low(x):\n    return x\n\ndef _between(x):\n    return low(x)\n",
    "b": b"from . import a\n\ndef middle(x):\n    return a._between(x)\n\ndef high(x):\n    return middle(x)\n",
}


def test_calls_are_seen_through_other_functions() -> None:
    assert calls(SOURCES, {"low", "middle", "high"}) == {"low": set(), "middle": {"low"}, "high": {"low", "middle"}}
    assert calls({"a": b"def f(: broken"}, {"f"}) == {"f": set()}


@pytest.mark.parametrize(
    ("failing", "blamed"),
    [
        ({"low", "middle", "high"}, {"middle": "low", "high": "low"}),
        ({"middle", "high"}, {"high": "middle"}),
        ({"high"}, {}),
        ({"low"}, {}),
    ],
    ids=["all three", "the last two", "only the last", "only the first"],
)
def test_a_failure_is_folded_under_the_helper_at_the_root(failing: set[str], blamed: dict[str, str]) -> None:
    facts = facts_of(low=["check_l"], middle=["check_m"], high=["check_h"])
    verdicts = {fact.id: FAILED if fact.function in failing else PASSED for fact in facts}
    folded = feedback.folded(verdicts, facts, SOURCES, ())
    helpers = {fact.function: folded[fact.id].evidence.helper for fact in facts}
    assert {function: helper for function, helper in helpers.items() if helper} == blamed
    assert feedback.folded(verdicts, facts, SOURCES, failing) == verdicts, "a mistake of one's own is told in full"
    defining = [msgspec.structs.replace(fact, defines=fact.function != "middle") for fact in facts]
    assert feedback.folded(verdicts, defining, SOURCES, failing) == (
        folded if blamed.get("high") == "low" else verdicts
    ), "but for one that may be the helper's, which is not what its definition says"


# ---- a whole run ----

PROBES = """
import numpy as np
from harness.probes import Probe

BY_FACTS = frozenset()

def double():
    yield Probe((np.array([1.5, -2.0]),))
    yield Probe((np.array([0.25]),))

PROBES = {"double": double}
"""
MISTAKES = """
from harness.variants import mistake

@mistake("double", "x is trebled", severity="blatant")
def trebles(x):
    return 3 * x

@mistake("double", "x is squared")
def squares(x):
    return x * x
"""


@pytest.fixture
def course(tmp_path: Path) -> Course:
    suite = write_suite(tmp_path / f"suite_{tmp_path.name}", CHECKS)
    (suite / "probes.py").write_text(PROBES, encoding="utf-8")
    mistakes, right = tmp_path / "mistakes", tmp_path / "right"
    for folder, text in ((mistakes, MISTAKES), (right, "")):
        folder.mkdir()
        (folder / "shapes.py").write_text(text, encoding="utf-8")
    return Course(suite, write_tree(tmp_path / "reference", RIGHT), mistakes, right, tmp_path / "record.json")


def test_a_students_own_run_names_the_mistake(course: Course, tmp_path: Path) -> None:
    facts = ["check_double_is_x_plus_x", "check_double_leaves_its_argument_alone"]
    block = {"facts": facts, "rows": {"shapes::trebles": "x.", "shapes::squares": "x?"}}
    course.record.write_text(json.dumps({"matrix": {"double": block}}), encoding="utf-8")
    fingerprinting.write(course, fingerprinting.generate(course))
    assert fingerprinting.stale(course, fingerprinting.generate(course)) == []
    for body, named in (("3.0 * x", "x is trebled"), ("x ** 2", "x is squared"), ("5 * x", None)):
        tree = write_tree(
            tmp_path / named.replace(" ", "_") if named else tmp_path / "other", f"def double(x): return {body}"
        )
        run = grade(
            "--suite", course.suite, "--tree", tree, "--reference", "none", "--out", tmp_path, "--only", "double"
        )
        assert run.returncode == 1, run.stdout + run.stderr
        result = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
        assert [fact["mistake"] for fact in result["facts"]] == [named, None]
        assert ("mistake   by the function's answers" in run.stdout) == (named is not None)
        assert named is None or f": {named}\n" in run.stdout


def test_what_no_longer_fits_the_bank_is_stale(course: Course) -> None:
    assert "double: not generated" in fingerprinting.stale(course, fingerprinting.generate(course))
    fingerprinting.write(course, fingerprinting.generate(course))
    text = MISTAKES.replace("3 * x", "4 * x").replace("squares", "cubes")
    (course.mistakes / "shapes.py").write_text(text, encoding="utf-8")
    lines = ["double: cubes is missing", "double: squares is no mistake of the bank", "double: trebles differs"]
    assert fingerprinting.stale(course, fingerprinting.generate(course)) == lines


def test_probes_that_stumble_or_hang_name_nothing(course: Course, tmp_path: Path) -> None:
    fact = next(fact for fact in suite_facts.manifest(course.suite) if fact.function == "double")
    tree = write_tree(tmp_path / "tree", "def double(x):\n    if x.size == 1: raise ValueError\n    return 3 * x")
    impl = Impl(Local(sources_of(tree)), {"double": "shapes"})
    answers = probes.answers(impl, fact, probes.load(course.suite).by_function["double"])
    assert answers == [digest([3 * np.array([1.5, -2.0]), [], []], 9), digest(("raised", "ValueError"), 9)]
