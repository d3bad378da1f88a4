"""Mutants: which slips are made, what is left out, what becomes of them; and those that no fact can kill."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from textwrap import dedent
from types import ModuleType

import numpy as np
import pytest

from harness.facts import manifest
from harness.local import sources_of
from harness.tree import Tree
from harness.validation.cases import Course
from harness.validation.mutants import Equivalent, Mutant, mutants_of, read_equivalents, sort_out, survey
from tests.small_course import CHECKS, write_suite, write_tree

ROOT = Path(__file__).parent.parent
LISTED = read_equivalents(ROOT / "tests" / "equivalents.toml")
INPUTS = 10_000


def changes(tmp_path: Path, body: str, head: str = "def double(x, n=3):", more: str = "") -> list[str]:
    """What is changed in a function with this body."""
    source = f"import numpy as np\n\n{more}\n\n{head}\n    '''Twice x.'''\n" + "".join(
        f"    {line}\n" for line in dedent(body).strip().splitlines()
    )
    folder = write_tree(tmp_path / "tree", source)
    return [mutant.change for mutant in mutants_of(folder, {"shapes": ["double"]})]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return x + n", ["`x + n` becomes `x - n`"]),
        ("return x - n", ["`x - n` becomes `x + n`", "`x - n` becomes `n - x`"]),
        ("return x @ x / n", ["`x @ x / n` becomes `x @ x * n`", "`x @ x / n` becomes `n / (x @ x)`",
                              "`x @ x` becomes `x * x`"]),
        ("return x < n", ["`x < n` becomes `x <= n`", "`x < n` becomes `x >= n`"]),
        ("return x == n", ["`x == n` becomes `x != n`"]),
        ("return x and n", ["`x and n` becomes `x or n`"]),
        ("return x if n else -x", ["`n` becomes `not n`", "`-x` becomes `x`"]),
        ("return 0, 1.0, 7, 0.25, True", ["`0` becomes `1`", "`0` becomes `-1`", "`1.0` becomes `2.0`",
                                          "`1.0` becomes `0.0`", "`7` becomes `8`", "`7` becomes `6`",
                                          "`0.25` becomes `0.5`", "`0.25` becomes `0.125`", "`True` becomes `False`"]),
        ("return np.abs(x)", ["`np.abs(x)` becomes `x`"]),
        ("return x.copy()", ["`x.copy()` becomes `x`"]),
        ("return max(x, n)", ["`max(x, n)` becomes `min(x, n)`", "`max(x, n)` becomes `x`"]),
        ("return np.sum(x, axis=0)", ["`np.sum(x, axis=0)` becomes `np.mean(x, axis=0)`",
                                      "`np.sum(x, axis=0)` becomes `x`", "`np.sum(x, axis=0)` becomes `np.sum(x)`",
                                      "`axis=0` becomes `axis=1`"]),
        ("return np.power(x, n)", ["`np.power(x, n)` becomes `x`", "`np.power(x, n)` becomes `np.power(n, x)`"]),
        ("return x[n:]", ["`x[n:]` becomes `x`", "`n:` becomes `n + 1:`", "`n:` becomes `n - 1:`"]),
        ("for i in range(n):\n    print(i)", ["`range(n)` becomes `n`", "`range(n)` becomes `range(n + 1)`",
                                              "`range(n)` becomes `range(n - 1)`", "`print(i)` is dropped",
                                              "`print(i)` becomes `i`"]),
        ("x += n", ["`x += n` is dropped", "`x += n` becomes `x -= n`"]),
        ("x = n  # again\nreturn x", ["`x = n` is dropped"]),
        ("y = n\nreturn y", []),
        ("return x + n, x + n", ["`x + n` becomes `x - n`", "`x + n` becomes `x - n` (2)"]),
    ],
)  # fmt: skip
def test_each_slip_is_made(tmp_path: Path, body: str, expected: list[str]) -> None:
    assert changes(tmp_path, body) == expected


def test_guards_checks_messages_warnings_and_annotations_are_left_out(tmp_path: Path) -> None:
    more = dedent("""
    def _checked(x):
        y = np.asarray(x, dtype=float)
        if y.ndim != 1:
            raise ValueError(f"x: {y.ndim} axes are {1 + 1} too many")
        return y

    def given(x):
        return x + 1
    """)
    body = """
    x = _checked(x)
    size = len(x) - 1
    if size < 0:
        raise ValueError("x: empty")
    with np.errstate(divide="ignore"):
        y: list[int] = x
    return y
    """
    assert changes(tmp_path, body, more=more) == []


def test_a_guard_is_changed_if_the_docstring_calls_it_graded(tmp_path: Path) -> None:
    body = """
    '''Raises ValueError: an unknown rule (graded); an empty x (not graded).'''
    if rule not in "ab":
        raise ValueError(f"rule: {rule} is none")
    if x < 0:
        raise ValueError("x: empty")
    return x
    """
    source = "def double(x, rule):\n" + "".join(f"    {line}\n" for line in dedent(body).strip().splitlines())
    folder = write_tree(tmp_path / "tree", source)
    found = mutants_of(folder, {"shapes": ["double"]})
    assert [mutant.change for mutant in found] == ['`rule not in "ab"` becomes `rule in "ab"`']
    assert (found[0].line, found[0].text) == (3, 'if rule not in "ab":')


def test_a_private_function_is_asked_through_the_graded_ones_that_use_it(tmp_path: Path) -> None:
    source = """
    def double(x): return _add(x, x)
    def coin(n): return _toss(n)
    def tail(n): return n
    def _toss(n): return _add(n, n)
    def _add(a, b, c=1): return a + b
    """
    found = mutants_of(write_tree(tmp_path / "tree", source), {"shapes": ["double", "coin", "tail"]})
    asked = {mutant.function: mutant.asked for mutant in found}
    assert asked == {"double": ("double",), "coin": ("coin",), "_toss": ("coin",), "_add": ("double", "coin")}
    assert [mutant.change for mutant in found if mutant.function == "_add"][:2] == [
        "`1` becomes `2`",
        "`1` becomes `0`",
    ]


HANGS = """
def double(x):
    n = 1
    while n < 2:
        n += 1
    return x + x

def coin(n, rng):
    return rng.random(n) < 0.5
"""


def test_a_survey_tells_the_killed_from_those_that_live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    nothing = write_tree(tmp_path / "nothing", "")
    quick = CHECKS.replace("defines=True,", "defines=True, seconds=0.2,")
    suite, right = write_suite(tmp_path / f"suite_{tmp_path.name}", quick), write_tree(tmp_path / "right", HANGS)
    course = Course(suite, right, nothing, nothing, nothing)
    mutants = mutants_of(course.reference, {"shapes": ["double", "coin"]})
    steps: list[tuple[int, int]] = []
    found = survey(course, mutants, [], lambda done, total: steps.append((done, total)))
    assert steps[-1] == (len(mutants), len(mutants))
    # The loop runs for ever if its step is dropped; how often it runs makes no difference.
    assert "`n += 1` is dropped" in [mutant.change for mutant in found.killed]
    assert "`x + x` becomes `x - x`" in [mutant.change for mutant in found.killed]
    survivors = [mutant.change for mutant in found.survivors]
    assert "`rng.random(n) < 0.5` becomes `rng.random(n) <= 0.5`" in survivors
    assert len(found.killed) + len(found.survivors) == len(mutants)


def test_the_list_is_held_against_what_became_of_the_mutants() -> None:
    mutants = [Mutant("m", "f", ("f",), n, f"line {n}", f"change {n}", b"") for n in range(4)]
    entries = [Equivalent("m", "f", f"line {n}", f"change {n}", "reason") for n in (0, 1, 1, 3, 7)]
    found = sort_out(mutants, [3], entries)
    assert found.killed == [mutants[3]]
    assert found.equivalent == mutants[:2]
    assert found.survivors == [mutants[2]]
    assert [line.partition(": ")[2].partition("; ")[0] for line in found.drift] == [
        "change 1: listed 2 times", "change 3: was killed", "change 7: is no mutant any more"
    ]  # fmt: skip


# ---- the list of this course ----


@cache
def mutants() -> dict[Equivalent, Mutant]:
    """The mutants of the reference, by where they are."""
    graded: dict[str, list[str]] = {}
    for fact in manifest(ROOT / "checks"):
        graded.setdefault(fact.module, []).append(fact.function)
    found = mutants_of(ROOT / "reference", {module: list(dict.fromkeys(names)) for module, names in graded.items()})
    return {Equivalent(m.module, m.function, m.text, m.change, ""): m for m in found}


def mutant(entry: Equivalent) -> Mutant | None:
    """The mutant that an entry is about."""
    return mutants().get(entry._replace(reason="", computed=False))


def test_every_entry_is_about_a_mutant_and_gives_a_reason() -> None:
    assert [entry for entry in LISTED if mutant(entry) is None] == []
    assert len({entry[:4] for entry in LISTED}) == len(LISTED)
    assert [entry for entry in LISTED if len(entry.reason.split()) < 5] == []
    assert {entry.function for entry in LISTED if entry.computed} == set(ANSWERS)


def test_mutants_are_always_the_same_and_each_differs_from_the_reference() -> None:
    sources = sources_of(ROOT / "reference")
    assert len(mutants()) > 1000
    assert [m for m in mutants().values() if m.source == sources[m.module]] == []
    again = mutants_of(ROOT / "reference", {"closed_form": ["optimal_policy", "kl", "tv"]})
    assert again == [m for m in mutants().values() if m.module == "closed_form"]


# ---- equal on many inputs ----

Answer = Callable[[ModuleType, np.random.Generator], object]


def policy(rng: np.random.Generator, K: int) -> np.ndarray:
    """Probabilities of any size, some of them 0."""
    p = rng.dirichlet(np.full(K, 0.5)) * (rng.random(K) < 0.8)
    return np.eye(K)[0] if p.sum() == 0 else p / p.sum()


def rewards(rng: np.random.Generator, K: int) -> np.ndarray:
    """Rewards of any size, some of them equal."""
    return rng.integers(-3, 4, K) * 10.0 ** rng.integers(-2, 3)


def best_row(module: ModuleType, rng: np.random.Generator) -> object:
    """The question that BALD finds best among 150 under a posterior of any size."""
    rows, w = 10 ** rng.uniform(-2, 1) * rng.normal(size=(150, 3)), 10 ** rng.uniform(-1, 1.5) * rng.normal(size=3)
    samples = w + 10 ** rng.uniform(-2, 2) * rng.normal(size=(16, 3)) @ rng.normal(size=(3, 3))
    return module._first_best(module._bald_of_contenders(rows, w, np.eye(3), rng, samples, rng.random(150) < 0.9))


def bald(module: ModuleType, rng: np.random.Generator) -> object:
    """BALD of three questions under up to 600 draws of any size."""
    samples = 10 ** rng.uniform(-2, 3) * rng.normal(size=(int(rng.choice([1, 2, 7, 600], p=[0.3, 0.3, 0.3, 0.1])), 2))
    return module.acquisition_scores("bald", rng.normal(size=(3, 2)), np.zeros(2), np.eye(2), rng, samples)


ANSWERS: dict[str, Answer] = {
    "optimal_policy": lambda m, rng: m.optimal_policy(rewards(rng, 4), policy(rng, 4), 10 ** rng.uniform(-2, 2)),
    "tv": lambda m, rng: m.tv(policy(rng, 4), policy(rng, 4)),
    "best_of_n_distribution": lambda m, rng: m.best_of_n_distribution(
        rewards(rng, 5), policy(rng, 5), int(2 ** rng.uniform(0, 20))
    ),
    "sigmoid": lambda m, rng: m.sigmoid(rng.choice([0.0, 1.0, 1e3]) * rng.normal(size=rng.integers(0, 3))),
    "_means": bald,
    "_bald_of_contenders": best_row,
}
COMPUTED = [entry for entry in LISTED if entry.computed]


@cache
def answers(module: str, function: str, source: bytes) -> list[object]:
    """What a module with this source says to many inputs, the same for every source."""
    loaded = Tree({**sources_of(ROOT / "reference"), module: source}).module(module)
    with np.errstate(all="ignore"):
        return [ANSWERS[function](loaded, np.random.default_rng(seed)) for seed in range(INPUTS)]


@pytest.mark.parametrize("entry", COMPUTED, ids=lambda entry: f"{entry.function}: {entry.change}")
def test_a_computed_entry_equals_the_reference(entry: Equivalent) -> None:
    found = mutant(entry)
    assert found is not None
    reference = answers(entry.module, entry.function, sources_of(ROOT / "reference")[entry.module])
    changed = answers.__wrapped__(entry.module, entry.function, found.source)
    for got, expected in zip(changed, reference, strict=True):
        np.testing.assert_allclose(np.asarray(got), np.asarray(expected), rtol=1e-8, atol=1e-8)
