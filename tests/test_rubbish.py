"""Rubbish and stubs: they earn nothing in a sound course, and where a fact lets them, it is named."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch

from harness.facts import manifest
from harness.local import sources_of
from harness.marks import read_points
from harness.validation.cases import Case, Course, ask
from harness.validation.rubbish import KINDS, earned, rubbish_cases, stub_cases, written
from tests.small_course import CHECKS, STUBS, write_suite, write_tree

SHAPE_ONLY = CHECKS.replace("assert_exact(impl.shapes.double(x), x + x)", "assert impl.shapes.double(x).shape == (3,)")


def course(folder: Path, monkeypatch: pytest.MonkeyPatch, checks: str = CHECKS, stubs: str = STUBS) -> Course:
    monkeypatch.syspath_prepend(folder)  # workers import the suite anew, by its folder's name
    suite = write_suite(folder / f"suite_{folder.name}", checks)
    empty = folder / "empty"
    empty.mkdir()
    return Course(suite, write_tree(folder / "right"), write_tree(folder / "stubs", stubs), empty, empty)


def test_rubbish_earns_nothing_and_stubs_are_to_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = course(tmp_path, monkeypatch)
    facts = manifest(small.suite)
    cases = rubbish_cases(facts) + stub_cases(facts, sources_of(small.stubs))
    assert len(cases) == 2 * len(KINDS) + 2
    findings = list(ask(small, cases))
    results = earned(facts, read_points(small.suite / "points.toml", facts), findings)
    assert [result.kind for result in results] == list(KINDS)
    assert not any(result.points or result.held for result in results)
    assert written(findings) == []


def test_rubbish_that_holds_a_defining_fact_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = course(tmp_path, monkeypatch, SHAPE_ONLY)
    facts = manifest(small.suite)
    results = earned(facts, read_points(small.suite / "points.toml", facts), ask(small, rubbish_cases(facts)))
    held = {result.kind for result in results if result.held == ["check_double_is_x_plus_x"]}
    assert held == {*KINDS} - {"None"}
    # its two of three weights of 6 points; what was not asked has not been held
    assert {result.points for result in results} == {Fraction(4), Fraction(0)}


def test_a_stub_that_answers_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answering = STUBS.replace("raise NotImplementedError", "return x + x", 1)
    small = course(tmp_path, monkeypatch, stubs=answering)
    facts = manifest(small.suite)
    cases = stub_cases(facts, sources_of(small.stubs))
    assert set(written(ask(small, cases))) == {
        "check_double_is_x_plus_x",
        "check_double_leaves_its_argument_alone",
    }
    assert Case("stub", "coin", source=b"\n") in stub_cases(facts, {})


def template(x: object) -> dict[str, object]:
    return {"a": (np.array([0.5, 0.5]), [3, np.float64(2.0)], np.arange(5)), "b": True, "c": "word", "d": None}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("the first argument", "None")])
def test_rubbish_has_the_shape_of_a_right_answer(kind: str) -> None:
    answer = KINDS[kind](template)(0.0)
    (policy, numbers, integers), right = answer["a"], template(0.0)
    assert {name: answer[name] for name in "bcd"} == {name: right[name] for name in "bcd"}
    assert type(policy) is np.ndarray and policy.shape == (2,) and integers.shape == (5,)
    assert not np.array_equal(policy, [0.5, 0.5]) and numbers != [3, 2.0] and not np.array_equal(integers, range(5))
    if kind != "NaN":
        assert isinstance(numbers[0], int) and integers.dtype.kind == "i"
    assert (abs(policy.sum() - 1) < 1e-12 and policy.min() >= 0) == (kind == "random policies")


@pytest.mark.parametrize(("kind", "slope"), [("NaN", np.nan), ("zeros", 0.0), ("ones", 1.0), ("random numbers", None)])
def test_rubbish_of_a_loss_can_be_differentiated(kind: str, slope: float | None) -> None:
    logits = torch.tensor([0.1, 0.7], dtype=torch.float64, requires_grad=True)
    loss = KINDS[kind](lambda logits, r: (logits * r).sum())(logits, torch.full((2,), 0.3))
    assert loss.ndim == 0
    (gradient,) = torch.autograd.grad(loss, logits)
    assert torch.isfinite(gradient).all() == (kind != "NaN")
    assert not torch.allclose(gradient, torch.full((2,), 0.3, dtype=torch.float64))
    if slope is not None:
        assert np.array_equal(gradient.numpy(), [slope, slope], equal_nan=True)


def test_first_argument_and_nothing() -> None:
    assert KINDS["the first argument"](template)(7) == KINDS["the first argument"](template)(x=7) == 7
    assert KINDS["None"](template)(7) is None
