"""The suite of facts itself: complete, true of the reference and of the lecture, out of reach of stubs.

All facts are asked here in this process: no sandbox, and CPU time instead of the wall clock.
"""

import ast
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
import torch

from harness import facts, statistics
from harness.evaluate import evaluate
from harness.facts import Check, Fact
from harness.impl import Call, Impl
from harness.local import Local, sources_of
from harness.marks import read_points
from harness.verdict import Outcome, Verdict

ROOT = Path(__file__).parents[1]
SUITE, REFERENCE, STUBS, HARNESS = (ROOT / name for name in ("checks", "reference", "student", "harness"))
LECTURE = Path(__file__).parent / "lecture"
TREES = {"reference", "student"}
COURSE = {*TREES, "checks"}

GRADED_FUNCTIONS = 21
STOCHASTIC = {
    "train_rlhf_pg",
    "make_pairs",
    "overoptimization_experiment",
    "posterior_samples",
    "pick_batch",
    "pick_double_thompson",
    "run",
}
FACTS_OF_STOCHASTIC, FACTS_OF_DETERMINISTIC = 5, 8
FALSE_ALARMS = 1e-6


class Answer(NamedTuple):
    """How a fact ended, the CPU seconds of its calls, and the false-alarm rate that it spent."""

    verdict: Verdict
    seconds: float
    spent: float


class Metered(Local):
    """Calls made here, and the CPU time they take."""

    seconds = 0.0

    def begin(self, fact: Fact, seed: int, lend: bool = False) -> None:
        super().begin(fact, seed, lend)
        self.seconds = 0.0

    def invoke(self, how: str, call: Call, wrt: int = 0, keep: tuple[int, ...] = ()) -> Any:
        started = time.process_time()
        try:
            return super().invoke(how, call, wrt, keep)
        finally:
            self.seconds += time.process_time() - started


class Suite:
    """The facts of checks/, ready to be asked of a tree's modules."""

    def __init__(self) -> None:
        self.checks: dict[str, Check] = facts.load(SUITE)
        self.facts = facts.manifest(SUITE)
        self.defining = [fact for fact in self.facts if fact.defines]
        self.owners = {fact.function: fact.module for fact in self.facts}

    def ask(self, sources: Mapping[str, bytes], chosen: list[Fact]) -> dict[str, Answer]:
        """The answers of a tree by the ids of the facts."""
        answers = {}
        with graded_conditions() as tallies:
            backend = Metered(sources)
            impl = Impl(backend, self.owners)
            for fact in chosen:
                tallies.clear()
                verdict = evaluate(fact, self.checks[fact.id], impl)
                answers[fact.id] = Answer(verdict, backend.seconds, sum(map(sum, tallies)))
        return answers


@contextmanager
def graded_conditions() -> Iterator[list[list[float]]]:
    """As in a graded run: one thread, warnings allowed, no tree to be found on disk. Yields what the facts spend."""
    tallies: list[list[float]] = []
    threads, spending = torch.get_num_threads(), statistics.spending

    @contextmanager
    def noting() -> Iterator[list[float]]:
        with spending() as tally:
            tallies.append(tally)
            yield tally

    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setattr(sys, "path", [entry for entry in sys.path if not (Path(entry) / "noxfile.py").is_file()])
        patch.setattr(statistics, "spending", noting)
        torch.set_num_threads(1)
        try:
            yield tallies
        finally:
            torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def suite() -> Suite:
    return Suite()


@pytest.fixture(scope="session")
def reference(suite: Suite) -> dict[str, Answer]:
    """Every fact asked of the reference, once for all tests."""
    return suite.ask(sources_of(REFERENCE), suite.facts)


def not_ended(answers: Mapping[str, Answer], *wanted: Outcome) -> str:
    """The facts that did not end so, and what they say; empty if all did."""
    return "\n".join(
        f"{fact_id}: {answer.verdict.outcome}: {answer.verdict.evidence.message} {answer.verdict.evidence.input}"
        for fact_id, answer in answers.items()
        if answer.verdict.outcome not in wanted
    )


def graded_functions() -> dict[str, tuple[str, ast.FunctionDef]]:
    """Module and definition of each public function that stands under `# graded` in the reference."""
    found = {}
    for path in sorted(REFERENCE.glob("*.py")):
        text = path.read_text(encoding="utf-8")
        markers = [
            (number, line.strip())
            for number, line in enumerate(text.splitlines(), 1)
            if re.match("# (given|graded)$", line)
        ]
        for node in ast.parse(text).body:
            region = [marker for number, marker in markers if number < node.lineno][-1:]
            if isinstance(node, ast.FunctionDef) and region == ["# graded"] and not node.name.startswith("_"):
                found[node.name] = (path.stem, node)
    return found


# The manifest


def test_every_fact_can_be_printed(suite: Suite) -> None:
    for fact in suite.facts:
        assert fact.title and fact.source and fact.hint, fact.id
        assert fact.title.endswith(".") and "\n" not in fact.title, fact.id
        assert not any(line.startswith(("Source:", "@")) for line in fact.formula.splitlines()), fact.id
        assert fact.weight >= 1, fact.id


@pytest.mark.parametrize("attribute", ["name", "title"])
def test_no_two_facts_are_called_alike(suite: Suite, attribute: str) -> None:
    counts = Counter(getattr(fact, attribute) for fact in suite.facts)
    assert [value for value, count in counts.items() if count > 1] == []


def test_facts_are_about_the_graded_functions_and_about_all_of_them(suite: Suite) -> None:
    graded = {name: module for name, (module, _) in graded_functions().items()}
    assert len(graded) == GRADED_FUNCTIONS
    assert {(fact.function, fact.module) for fact in suite.facts} == set(graded.items())


def test_one_fact_defines_each_function(suite: Suite) -> None:
    assert Counter(fact.function for fact in suite.defining) == dict.fromkeys(suite.owners, 1)


def test_functions_have_enough_facts(suite: Suite) -> None:
    counts = Counter(fact.function for fact in suite.facts)
    assert set(counts) >= STOCHASTIC
    least = {function: FACTS_OF_STOCHASTIC if function in STOCHASTIC else FACTS_OF_DETERMINISTIC for function in counts}
    assert {function: count for function, count in counts.items() if count < least[function]} == {}


def test_points_add_up_to_one_hundred(suite: Suite) -> None:
    assert sum(read_points(SUITE / "points.toml", suite.facts).values()) == 100


# False alarms


def test_false_alarm_rates_keep_the_budget(suite: Suite) -> None:
    assert all(fact.false_alarm >= 0 for fact in suite.facts)
    assert sum(fact.false_alarm for fact in suite.facts) <= FALSE_ALARMS


def test_facts_spend_what_they_declare(suite: Suite, reference: dict[str, Answer]) -> None:
    """More would be an error of the suite; a fact that declares a rate and spends nothing is no statistical one."""
    for fact in suite.facts:
        spent = reference[fact.id].spent
        assert spent <= fact.false_alarm * (1 + 1e-9), fact.id
        assert (spent > 0) == (fact.false_alarm > 0), fact.id


def test_a_fact_that_spends_more_than_it_declares_is_an_error(suite: Suite) -> None:
    fact = next(fact for fact in suite.facts if fact.false_alarm > 0)
    thrifty = msgspec.structs.replace(fact, false_alarm=0.0)
    (answer,) = suite.ask(sources_of(REFERENCE), [thrifty]).values()
    assert answer.verdict.outcome is Outcome.ERROR
    assert "declares a false-alarm rate of 0" in answer.verdict.evidence.message


# Trees


def test_the_reference_holds_every_fact(reference: dict[str, Answer]) -> None:
    assert not_ended(reference, Outcome.PASSED) == ""


def test_stubs_are_still_to_be_written(suite: Suite) -> None:
    assert not_ended(suite.ask(sources_of(STUBS), suite.facts), Outcome.TODO) == ""


def test_the_lectures_functions_hold_every_defining_fact(suite: Suite) -> None:
    """A defining fact asks for no more than ordinary input: all marks of a function hang on it."""
    assert not_ended(suite.ask(sources_of(LECTURE), suite.defining), Outcome.PASSED) == ""


def test_the_lectures_functions_do_not_hold_every_fact(suite: Suite) -> None:
    """They are the lecture's indeed: argsort breaks ties, and the last step is not recorded."""
    chosen = [fact for fact in suite.facts if fact.function == "best_of_n_distribution" or "record" in fact.name]
    answers = suite.ask(sources_of(LECTURE), chosen)
    failed = {answers[fact.id].verdict.outcome: fact.function for fact in chosen}
    assert Outcome.FAILED in failed and Outcome.PASSED in failed


# What the sources may name


def test_facts_import_no_tree() -> None:
    for path in sorted(SUITE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            assert not {name.partition(".")[0] for name in names} & TREES, f"{path}:{getattr(node, 'lineno', 0)}"


def test_facts_import_nothing_in_passing() -> None:
    """Not by relative imports, and not by name while they run."""
    for path in sorted(SUITE.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            where = f"{path}:{getattr(node, 'lineno', 0)}"
            assert not (isinstance(node, ast.ImportFrom) and node.level > 0), where
            assert not (isinstance(node, ast.Call) and called(node) in {*IMPORTERS, "exec", "eval", "open"}), where


def test_the_harness_is_handed_trees_and_suite_by_path() -> None:
    """Their names stand nowhere but in the defaults of the command line, and where the whole project is packed up."""
    for path in sorted(set(HARNESS.rglob("*.py")) - set((HARNESS / "publish").iterdir())):
        module = ast.parse(path.read_text(encoding="utf-8"))
        allowed = set(defaults(module)) if path in COMMAND_LINES else set()
        for node in ast.walk(module):
            where = f"{path}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.Call) and called(node) in {*IMPORTERS, *PATHS}:
                operands: list[ast.expr] = [*node.args, *(keyword.value for keyword in node.keywords)]
            elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
                operands = [node.left, node.right]
            else:
                continue
            for operand in operands:
                for part in ast.walk(operand):
                    if isinstance(part, ast.Constant) and part not in allowed:
                        assert re.split(r"[./\\]", str(part.value))[0] not in COURSE, where


COMMAND_LINES = {HARNESS / "__main__.py", HARNESS / "options.py"}
IMPORTERS = {"import_module", "__import__", "find_spec", "spec_from_file_location", "run_module", "run_path"}
PATHS = {"Path", "PurePath", "joinpath", "open", "glob", "rglob"}


def called(node: ast.Call) -> str:
    """The last part of the name that a call is made by."""
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def defaults(module: ast.Module) -> Iterator[ast.AST]:
    """All that stands in `default=` of a command-line option."""
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and called(node) == "add_argument":
            for keyword in node.keywords:
                if keyword.arg == "default":
                    yield from ast.walk(keyword.value)
