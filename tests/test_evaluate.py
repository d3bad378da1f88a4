"""One fact on one implementation: every way in which an answer can be right, wrong or odd."""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis.internal.conjecture import providers

from harness import facts
from harness.evaluate import evaluate
from harness.execute import Executor
from harness.facts import Check, SuiteError, describe, fact, parse_docstring, seed_of
from harness.impl import BadReturn, Impl, Raised, Todo
from harness.local import Local, sources_of
from harness.sandbox.backend import Confined
from harness.sandbox.forked import Forked
from harness.statistics import spend
from harness.tolerance import assert_exact, assert_leaves_arguments_alone, assert_raises_value_error
from harness.tree import Tree
from harness.verdict import Outcome, Verdict
from tests.small_course import RIGHT, STUBS, write_tree

OWNERS = {"double": "shapes", "coin": "shapes"}
Make = Callable[[str], Impl]


def here(tree: Path) -> Impl:
    return Impl(Local(sources_of(tree)), OWNERS)


@pytest.fixture
def make(tmp_path: Path) -> Make:
    return lambda source: here(write_tree(tmp_path / "tree", source))


def ask(impl: Impl, check: Check, **marks) -> Verdict:
    check.__doc__ = check.__doc__ or "Title.\n\nSource: here.\n"
    marked = fact(**({"function": "double", "hint": "hint", "promise": "quoted"} | marks))(check)
    return evaluate(describe("checks/check_shapes.py::check_it", marked), marked, impl)


def doubles(impl) -> None:
    assert_exact(impl.shapes.double(np.array([1.0, 2.0])), [2.0, 4.0])


@pytest.mark.parametrize(
    ("body", "outcome", "says"),
    [
        ("return x + x", Outcome.PASSED, ""),
        ("return x * x", Outcome.FAILED, "the values differ"),
        ("raise NotImplementedError", Outcome.TODO, "double is still to be written"),
        ("raise NotImplementedError('soon')", Outcome.TODO, "double is still to be written"),
        (
            "return helper(x)\ndef helper(x):\n    raise NotImplementedError",
            Outcome.TODO,
            "helper is still to be written",
        ),
        (
            "raise ValueError('x: no')",
            Outcome.FAILED,
            "ValueError: x: no\n  shapes.py, line 2\n    raise ValueError('x: no')",
        ),
        ("raise SystemExit", Outcome.FAILED, "SystemExit"),
        ("raise GeneratorExit", Outcome.FAILED, "GeneratorExit"),
        ("import unittest; raise unittest.SkipTest('no')", Outcome.FAILED, "SkipTest"),
        ("import pytest; pytest.skip('no')", Outcome.FAILED, "Skipped"),
        ("assert False", Outcome.FAILED, "AssertionError"),
        ("return", Outcome.FAILED, "None (is a `return` missing?)"),
        ("return str(x)", Outcome.FAILED, "a str"),
        ("return (y for y in x)", Outcome.FAILED, "a generator"),
        ("import numpy as np; return np.ma.array(x + x, mask=True)", Outcome.FAILED, "a MaskedArray"),
        ("return [2.0, 4.0]", Outcome.FAILED, "a list"),
        ("return (x + x)[:, None]", Outcome.FAILED, "shape"),
        ("return x + x + 0j", Outcome.FAILED, "complex"),
        ("return double(x)", Outcome.FAILED, "RecursionError"),
    ],
    ids=repr,
)
def test_what_an_answer_comes_to(make: Make, body: str, outcome: Outcome, says: str) -> None:
    verdict = ask(make("def double(x):\n    " + body.replace("\n", "\n") + "\n"), doubles)
    assert verdict.outcome is outcome
    assert says in verdict.evidence.message


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("", "shapes.py defines no function double"),
        ("double = 3", "defines no function double"),
        ("def double(x: return x", "SyntaxError"),
        ("import nowhere", "ModuleNotFoundError"),
        ("raise SystemExit", "SystemExit"),
        ("def double(): return 1", "TypeError"),
    ],
    ids=repr,
)
def test_a_module_or_function_that_is_not_there_fails_its_facts(make: Make, source: str, says: str) -> None:
    verdict = ask(make(source), doubles)
    assert verdict.outcome is Outcome.FAILED
    assert says in verdict.evidence.message


def test_a_failure_shows_input_got_expected_and_an_exact_replay(make: Make) -> None:
    def thirds(impl) -> None:
        x = np.array([1.0, 2.0]) / 3
        assert_exact(impl.shapes.double(x), x + x)

    verdict = ask(make("def double(x): return 3 * x"), thirds)
    evidence = verdict.evidence
    assert evidence.input == "double(x=[0.333333, 0.666667])"
    assert evidence.got == "[     1,     2]"
    assert evidence.expected == "[0.6667, 1.333]"
    assert evidence.differs == " ^^^^^^  ^^^^^"
    assert f"x = np.array([{1 / 3!r}, {2 / 3!r}], dtype=np.float64)\nprint(double(x))" in verdict.replay


def test_an_answer_that_a_fact_cannot_use_is_the_submissions_fault(make: Make) -> None:
    def careless(impl) -> None:
        assert impl.shapes.double(np.ones(2))[5] == 2

    verdict = ask(make(RIGHT), careless)
    assert (verdict.outcome, verdict.evidence.message[:28]) == (Outcome.FAILED, "the answer cannot be used as")


def test_a_fact_that_breaks_before_it_asks_is_our_fault(make: Make) -> None:
    def broken(impl) -> None:
        raise KeyError("ours")

    assert ask(make(RIGHT), broken).outcome is Outcome.ERROR


def test_a_fact_may_not_spend_more_than_it_declares(make: Make) -> None:
    def spends(impl) -> None:
        doubles(impl)
        spend(2e-9)

    impl = make(RIGHT)
    assert ask(impl, spends, false_alarm=1e-9).outcome is Outcome.ERROR
    assert ask(impl, spends, false_alarm=2e-9).outcome is Outcome.PASSED


def test_arguments_are_copied_and_changes_are_named(make: Make) -> None:
    impl = make("def double(x, y=None):\n    x *= 2\n    return x")
    x = np.array([1.0, 2.0])
    assert (impl.shapes.double(x) == [2.0, 4.0]).all()
    assert (x == [1.0, 2.0]).all()
    assert impl.shapes.double.changed_arguments(x, y=x) == ("x",)
    verdict = ask(impl, lambda impl: assert_leaves_arguments_alone(impl.shapes.double, x))
    assert verdict.evidence.message == "double changed its argument `x` in place: work on a copy"


def test_a_generator_advances_and_a_record_fills(make: Make) -> None:
    impl = make("def coin(n, rng, record):\n    record.append(n)\n    return rng.random(n)")
    rng = np.random.default_rng(3)
    record: list[int] = []
    first, second = impl.shapes.coin(2, rng, record), impl.shapes.coin(2, rng, record=record)
    assert (np.concatenate([first, second]) == np.random.default_rng(3).random(4)).all()
    assert record == [2, 2]


def test_value_error_is_recognised_by_its_class(make: Make) -> None:
    impl = make(
        """
        class Mine(ValueError): pass
        class ValueErrorLike(Exception): pass
        def double(x):
            if x == 0: raise Mine("zero")
            if x == 1: raise ValueErrorLike("one")
            return x
        """
    )
    assert_raises_value_error(impl.shapes.double, 0)
    with pytest.raises(Raised):
        assert_raises_value_error(impl.shapes.double, 1)
    with pytest.raises(AssertionError, match="no ValueError"):
        assert_raises_value_error(impl.shapes.double, 2)


def test_value_and_gradient_of_a_loss(make: Make) -> None:
    impl = make("def double(x, y, k): return (2 * x[y]).sum() * k")
    value, gradient = impl.value_and_grad("double", np.array([1.0, 5.0]), np.array([0, 0]), 3.0)
    assert value == 12.0
    assert (gradient == [12.0, 0.0]).all()


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("return 1.0", "a float"),
        ("return x", "shape (2,)"),
        ("return x.sum().detach()", "does not depend on the logits"),
        ("return (x.sum() * 0 + 1).detach()", "does not depend on the logits"),
        ("return x.sum().half()", "promises a scalar tensor"),
    ],
    ids=repr,
)
def test_a_loss_is_a_scalar_tensor_with_a_gradient(make: Make, body: str, says: str) -> None:
    impl = make(f"def double(x):\n    {body}")
    with pytest.raises(BadReturn) as refused:
        impl.value_and_grad("double", np.array([1.0, 5.0]))
    assert says in str(refused.value)


def test_a_stub_is_told_from_a_failure(make: Make) -> None:
    with pytest.raises(Todo):
        make(STUBS).shapes.double(1.0)


@pytest.mark.parametrize("statement", ["from .other import k", "from student.other import k", "from other import k"])
def test_modules_of_a_tree_import_each_other_however_they_name_it(tmp_path: Path, statement: str) -> None:
    tree = write_tree(
        tmp_path / "any_name", f"{statement}\ndef double(x):\n    return k(x)", other="def k(x): return x + x"
    )
    impl = here(tree)
    assert impl.shapes.double(2.0) == 4.0
    assert impl.other.k(2.0) == 4.0


def test_all_names_of_a_module_are_one_module(tmp_path: Path) -> None:
    source = """
    import other, student.other
    from . import other as third
    def double(x):
        other.n.append(x)
        return len(third.n)
    """
    impl = here(write_tree(tmp_path / "tree", source, other="n = []"))
    assert [impl.shapes.double(0), impl.shapes.double(0)] == [1, 2]


def test_a_folder_of_the_packages_name_has_no_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = write_tree(tmp_path / "student", "def double(x): return 'from the path'", __init__="")
    monkeypatch.syspath_prepend(package.parent)
    impl = here(write_tree(tmp_path / "tree", "from student.other import k\ndef double(x): return k", other="k = 4.0"))
    assert impl.shapes.double(2.0) == 4.0


def test_a_second_tree_takes_nothing_from_the_first(tmp_path: Path) -> None:
    one = here(write_tree(tmp_path / "one", "import other\ndef double(x): return other.k", other="k = 1"))
    assert one.shapes.double(0) == 1
    two = here(write_tree(tmp_path / "two", "import other\ndef double(x): return other.k", other="k = 2"))
    assert two.shapes.double(0) == 2


def test_docstrings_are_read_as_theorems() -> None:
    text = "A title\nin two lines.\n\n    a = b\n    c\n\nMore.\n\nSource: Somebody 1999,\nsection 2."
    assert parse_docstring(text) == ("A title in two lines.", "a = b\nc", "Somebody 1999, section 2.")


@pytest.mark.parametrize("text", ["", "Title.", "Title.\n\nSource:\n"], ids=repr)
def test_a_fact_needs_a_title_and_a_source(text: str) -> None:
    def check_it(impl) -> None: ...

    check_it.__doc__ = text
    with pytest.raises(SuiteError, match="check_it"):
        describe("checks/check_shapes.py::check_it", fact(function="double", hint="hint", promise="quoted")(check_it))


def test_seeds_differ_by_fact_and_by_reseed() -> None:
    assert len({seed_of(name, reseed) for name in ("a", "b") for reseed in (0, 1, 2)}) == 6


def narrow(x, dtype: str) -> str:
    return f"import numpy as np\ndef double(x): return (np.asarray(x) + {x}).astype('{dtype}')"


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("def double(x): return list(x)", "got a list: `np.array(...)` makes an array of it"),
        ("import torch\ndef double(x): return torch.tensor(x)", "got a Tensor: `.detach().numpy()` makes an array"),
        (narrow("x", "float32"), "the answer is float32, which keeps seven digits: compute in float64"),
        (narrow("x", "float16"), "the answer is float16, which keeps three digits: compute in float64"),
        ("def double(x):\n    x[:] = 3.0\n    return x[:1].repeat(2)", "the values differ"),
        ("def double(x): return x[::-1]", "the answer is a view of the argument `x`: return a new array"),
        ("def doble(x): return x + x", "shapes.py defines no function double; it has doble"),
        ("def double(x): return x * float('nan')", "the answer contains NaN"),
        ("def double(x): return np.add(x, x)", "name 'np' is not defined: is `import numpy as np` missing?"),
        ("def double(x): return x[:, None]", "expected shape (2,), got shape (2, 1)"),
    ],
    ids=repr,
)
def test_each_kind_of_wrong_answer_has_its_own_sentence(make: Make, source: str, says: str) -> None:
    def thirds(impl) -> None:
        x = np.array([1.0, 2.0]) / 3
        assert_exact(impl.shapes.double(x), x + x)

    assert says in ask(make(source), thirds).evidence.message


def test_float32_is_not_blamed_for_another_mistake(make: Make) -> None:
    assert "float32" not in ask(make(narrow("1", "float32")), doubles).evidence.message


@pytest.mark.skipif(sys.platform != "linux", reason="confinement is Linux's")
@pytest.mark.parametrize(
    ("draw", "says"),
    [
        ("np.random.rand(n)", "NumPy's global generator (np.random.…) was used: all randomness comes from `rng`"),
        ("np.array([random.random() for _ in range(n)])", "the global generator of `random` was used"),
        ("torch.rand(n).numpy()", "PyTorch's global generator was used"),
        ("np.random.default_rng().random(n)", "the same seed gave other draws"),
    ],
    ids=repr,
)
def test_a_global_generator_is_named(draw: str, says: str) -> None:
    def repeats(impl) -> None:
        first, again = (impl.shapes.coin(3, np.random.default_rng(5)) for _ in range(2))
        assert_exact(first, again, "the same seed gave other draws")

    source = f"import random\nimport numpy as np\nimport torch\ndef coin(n, rng): return {draw}"
    with Forked() as client:
        verdict = ask(Impl(Confined(client, {"shapes": source.encode()}, {}, OWNERS, None), OWNERS), repeats)
    assert says in verdict.evidence.message


@pytest.mark.parametrize(
    ("source", "pointed"),
    [
        ("def double(x):\n    return (x", "shapes.py, line 2\n    return (x\n           ^"),
        ("def double(x):\n    return x + 1 / 0 + 2", "line 2\n    return x + 1 / 0 + 2\n               ^^^^^"),
        (
            "def double(x):\n    β = 1; return x @ [β] / 0",
            "line 2\n    β = 1; return x @ [β] / 0\n                  ^^^^^^^",
        ),
        ("def double(x):\n    return (x +\n      None)", "line 2\n    return (x +\n            ^^^"),
        (f"def double(x):\n    return [{'x, ' * 60}1 / 0]", "x, 1 / 0"),
        ("import nowhere", "shapes.py, line 1\n    import nowhere"),
        ("from shapes import nothing", "shapes.py, line 1\n    from shapes import nothing"),
    ],
    ids=repr,
)
def test_an_exception_is_pointed_out_in_the_students_line(make: Make, source: str, pointed: str) -> None:
    message = ask(make(source), doubles).evidence.message
    assert pointed in message
    assert max(map(len, message.splitlines()[1:])) <= 62


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        ("import nowhere", "shapes.py"),
        ("def double(x", "shapes.py"),
        ("1 / 0", "shapes.py"),
        ("x = 1", "shapes.double"),
        ("def double(x): return x / nothing", ""),
        ("def double(x):\n    import nowhere", ""),
    ],
    ids=repr,
)
def test_what_keeps_a_function_from_being_asked_is_its_cause(make: Make, source: str, cause: str) -> None:
    assert ask(make(source), doubles).evidence.cause == cause


def test_an_import_that_fails_in_another_module_is_that_modules(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree", "from .other import k\ndef double(x): return k", other="k = (")
    evidence = ask(here(tree), doubles).evidence
    assert evidence.cause == "other.py"
    assert "shapes.py, line 1: from .other import k" in evidence.message


BROKEN = {"helper": b"def double(x:\n", "exits": b"triple = 3\nraise SystemExit\n"}
CALLER = b"from .helper import Array, double\nfrom .exits import NAMES, triple\n\n"
CALLER += b"def f(x: Array | None):\n    return double(x) + triple(x)\n"


@pytest.mark.parametrize("order", [("helper", "exits", "m"), ("m", "exits", "helper")])
def test_lent_functions_stand_in_for_a_module_that_cannot_be_imported(order: tuple[str, ...]) -> None:
    sources = {name: {**BROKEN, "m": CALLER}[name] for name in order}
    with pytest.raises(SyntaxError):
        Executor(Tree(sources)).call("m", "f", [1], {})
    executor = Executor(Tree(sources))
    executor.lend({"double": lambda x: 2 * x, "triple": lambda x: 3 * x, "f": lambda x: 0}, but="f")
    assert executor.call("m", "f", [1], {}) == 5
    with pytest.raises(SyntaxError):
        executor.call("helper", "double", [1], {})
    with pytest.raises(SystemExit):
        executor.call("exits", "triple", [1], {})


def test_only_the_suites_own_numbers_are_tried(tmp_path: Path) -> None:
    """What a submission is asked must not depend on the modules that its grader happens to hold."""
    (tmp_path / "check_shapes.py").write_text(CONSTANT)
    for fact_id, check in facts.load(tmp_path).items():
        evaluate(describe(fact_id, check), check, Impl(Local({"shapes": RIGHT.encode()}), {"double": "shapes"}))
    assert providers._get_local_constants().integers == {31_415_926}


CONSTANT = '''
from hypothesis import given, strategies as st
from harness.facts import fact

@fact(function="double", promise="", hint="Twice.", defines=True)
@given(st.integers())
def check_twice(impl, x):
    """Twice.

    Source: 31_415_926 is a number.
    """
    assert x != 31_415_926
'''
