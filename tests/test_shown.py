"""Values for a person, and calls as scripts: what differs is seen, and what is printed can be run."""

import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from checks.worlds import SpyWorld
from harness.impl import Call
from harness.replay import exact, snippet
from harness.shown import ROOM, Compared, shown, shown_call, side_by_side

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize(
    ("got", "expected", "compared"),
    [
        (0.1, 0.2, Compared("0.1", "0.2")),
        (0.123456789, 0.12345678, Compared("0.12345679", "0.12345678")),
        (12276.0, 12275.767, Compared("12276", "12275.8")),
        (float("nan"), 1 / 3, Compared("nan", "0.3333")),
        (3, 2, Compared("3", "2")),
        (np.array([1.0, 2.0]), np.array([1.0, 2.5]), Compared("[1,   2]", "[1, 2.5]", "    ^^^")),
        ([0, 200], [0, 250], Compared("[0, 200]", "[0, 250]", "    ^^^")),
        ([0, 200], [0, 200, 250], Compared("[0, 200]", "[0, 200, 250]")),
        (np.eye(2), np.array([[1.0, 0.0], [0.5, 1.0]]),
         Compared("[1, 0]:   0", "[1, 0]: 0.5", "        ^^^", "1 of 4 entries differ")),
        ("78.9% of pairs", "none", Compared("78.9% of pairs", "none")),
    ],
    ids=str,
)  # fmt: skip
def test_both_are_shown_in_the_digits_that_tell_them_apart(got: object, expected: object, compared: Compared) -> None:
    assert side_by_side(got, expected, 1e-8) == compared


def test_of_a_long_answer_the_entries_that_are_farthest_off_are_shown() -> None:
    want = np.linspace(0, 1, 500)
    got = want.copy()
    got[[7, 300]] += [0.25, 1e-6]
    compared = side_by_side(got, want, 1e-8)
    assert compared.got.startswith("[7]:   0.264")
    assert "[300]: 0.601203" in compared.got
    assert compared.note == "2 of 500 entries differ"
    assert side_by_side(got, want, 1e-3).note == "1 of 500 entries differ", "marked is what was not allowed"


numbers = arrays(np.float64, array_shapes(max_dims=3, max_side=40), elements=st.floats(width=64))


@given(numbers, st.integers(0, 10**6), st.floats())
def test_lines_are_short_and_carets_stand_under_what_differs(want: np.ndarray, place: int, other: float) -> None:
    got = want.copy()
    got.flat[place % got.size] = other
    compared = side_by_side(got, want, 1e-8)
    assert max(map(len, compared[:3])) <= ROOM + 3 or got.size == 1
    marked = [column for column, mark in enumerate(compared.differs) if mark == "^"]
    assert {"".join(line[column] for column in marked) for line in compared[:2]} or not marked
    if marked:
        texts = ["".join(line[column] for column in marked).strip() for line in compared[:2]]
        assert texts[0] != texts[1], compared


def test_a_call_names_its_arguments_and_shows_entries_that_differ_as_different() -> None:
    call = Call("m", "f", (np.array([-131072.0, -131071.984375]), 3, "bald"), {"noisy": False})
    assert shown_call(call, ["r", "n"]) == "f(r=[-131072, -131071.98], n=3, 'bald', noisy=False)"
    long = Call("m", "f", (np.zeros(300), np.zeros((40, 2))), {})
    assert shown_call(long, ["p"]) == (
        "f(\n  p=[0, 0, 0, ..., 0, 0] (300 numbers),\n  [[0, 0], [0, 0], [0, 0], ..., [0, 0], [0, 0]] of shape (40, 2))"
    )


@pytest.mark.parametrize("value", [-(10**50), [[]] * 30, {}, None, np.zeros((0, 3)), np.array(None)], ids=repr)
def test_anything_can_be_shown(value: object) -> None:
    assert len(shown(value)) < 700


# ---- replays ----


class Student:
    """A package `student` in this process whose function remembers what it was given."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.given: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
        package, module = ModuleType("student"), ModuleType("student.m")
        module.f = self.f  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "student", package)
        monkeypatch.setitem(sys.modules, "student.m", module)

    def f(self, *arguments: Any, **keywords: Any) -> Any:
        self.given.append((arguments, keywords))
        tensors = [value for value in arguments if isinstance(value, torch.Tensor) and value.requires_grad]
        return (tensors[0] ** 2).sum() if tensors else None


@pytest.fixture
def student(monkeypatch: pytest.MonkeyPatch) -> Student:
    return Student(monkeypatch)


def advanced(rng: np.random.Generator) -> np.random.Generator:
    rng.random(3)
    return rng


@pytest.mark.parametrize(
    "value",
    [
        np.array([1 / 3, np.nan, -np.inf, 5e-324, -0.0]),
        np.arange(6).reshape(2, 3),
        np.zeros((0, 3)),
        np.linspace(0, 1, 5000).reshape(50, 100),
        np.repeat([3, 1], 900),
        np.array([True, False]),
        np.array([0.1, 0.2], dtype=np.float32),
        np.float64(0.1),
        0.1,
        float("inf"),
        7,
        True,
        None,
        "two words, and 'quotes' " * 9,
        (1, [2.5, "x"]),
        [],
    ],
    ids=lambda value: repr(value)[:40],
)
def test_a_replay_calls_with_the_exact_value(student: Student, value: Any) -> None:
    text = snippet(Call("m", "f", (value,), {"k": value}), ["print"])
    assert max(map(len, text.splitlines())) <= 88 or isinstance(value, str)
    exec(text, {})
    ((argument,), keywords) = student.given[0]
    for got in (argument, keywords["k"]):
        if isinstance(value, np.ndarray):
            assert (got.dtype, got.shape, got.tobytes()) == (value.dtype, value.shape, value.tobytes())
        else:
            assert got == value


@pytest.mark.parametrize(
    "rng",
    [
        np.random.default_rng(3),
        advanced(np.random.default_rng(3)),
        np.random.Generator(np.random.MT19937(4)),
        advanced(np.random.Generator(np.random.Philox(4))),
    ],
    ids=["fresh", "advanced", "another", "another, advanced"],
)
def test_a_replay_draws_what_was_drawn(student: Student, rng: np.random.Generator) -> None:
    exec(snippet(Call("m", "f", (rng,), {}), ["rng"]), {})
    assert student.given[0][0][0].random(5).tolist() == rng.random(5).tolist()


def test_a_replay_of_a_loss_takes_its_gradient(student: Student, capsys: pytest.CaptureFixture[str]) -> None:
    call = Call("m", "f", (np.array([0.5, 2.0]), np.array([1, 0]), np.array([0, 1]), 0.3), {})
    text = snippet(call, ["logits", "log_ref", "winners"], "gradient", 0, (2,))
    exec(text, {})
    logits, log_ref, winners, beta = student.given[0][0]
    assert (type(logits), type(log_ref), type(winners), beta) == (torch.Tensor, torch.Tensor, np.ndarray, 0.3)
    assert capsys.readouterr().out == "4.25 tensor([1., 4.], dtype=torch.float64)\n"


def test_a_replay_of_a_change_shows_it(student: Student, capsys: pytest.CaptureFixture[str]) -> None:
    exec(snippet(Call("m", "f", (np.array([1.0]), 2), {}), ["x", "k"], "changes", -1), {})
    assert capsys.readouterr().out == "before: [1.]\nafter: [1.]\n"


def test_a_replay_makes_the_world_again(student: Student) -> None:
    world = SpyWorld(np.eye(2), np.zeros(2), pool_laws={3: np.array([0.5, 0.5])})
    exec(snippet(Call("m", "f", (world,), {}), ["world"]), {})
    made = student.given[0][0][0]
    assert type(made) is SpyWorld
    assert made.X.tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_what_has_no_spelling_is_an_ellipsis() -> None:
    assert exact([1, object()]) == "[1, ...]"


def test_a_replay_is_a_script(tmp_path: Path) -> None:
    (tmp_path / "student").mkdir()
    (tmp_path / "student" / "__init__.py").write_text("", encoding="utf-8")
    (tmp_path / "student" / "m.py").write_text("def f(x, k):\n    return (x * k).tolist()\n", encoding="utf-8")
    text = snippet(Call("m", "f", (np.array([1 / 3, 2.0]), 3.0), {}), ["x", "k"])
    run = subprocess.run([sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert run.stdout == f"{[1 / 3 * 3.0, 6.0]}\n"
