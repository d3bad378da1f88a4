"""The assertions of facts: what they accept, what they refuse, what they say."""

import numpy as np
import pytest

from harness.tolerance import (
    Contradiction,
    array,
    assert_at_most,
    assert_exact,
    assert_monotone,
    number,
    policy,
    vector,
)


@pytest.mark.parametrize("got", [1.5, np.float64(1.5), np.float32(1.5), np.array(1.5), 2, np.int64(2)], ids=repr)
def test_a_number_is_a_float_an_int_or_a_numpy_scalar(got: object) -> None:
    assert number(got) in (1.5, 2.0)


@pytest.mark.parametrize("got", [None, "1.5", True, 1.5 + 0j, float("nan"), [1.5], np.array([1.5]), {}], ids=repr)
def test_anything_else_is_no_number(got: object) -> None:
    with pytest.raises(Contradiction):
        number(got)


@pytest.mark.parametrize("got", [np.ones(3), np.ones(3, np.float32), np.ones(3, ">f8"), np.ones(3, int)], ids=repr)
def test_a_vector_is_an_array_of_real_numbers(got: object) -> None:
    assert (vector(got, 3) == 1).all()


@pytest.mark.parametrize(
    "got",
    [
        [1.0, 1.0, 1.0],
        np.ones((3, 1)),
        np.ones(2),
        np.array([]),
        np.ones(3, object),
        np.ones(3, complex),
        np.array([1.0, 1.0, np.nan]),
        np.ma.masked_all(3),
        np.array(["1", "1", "1"]),
    ],
    ids=repr,
)
def test_anything_else_is_no_vector(got: object) -> None:
    with pytest.raises(Contradiction):
        vector(got, 3)


def test_integers_are_promised_where_responses_are_counted() -> None:
    assert array(np.array([1, 2]), [None], integer=True).dtype == np.int64
    with pytest.raises(Contradiction, match="integers"):
        array(np.array([1.0, 2.0]), [None], integer=True)


def test_a_policy_sums_to_one_and_has_no_negative_entry() -> None:
    assert policy(np.array([0.25, 0.75]), 2)[1] == 0.75
    with pytest.raises(Contradiction, match="sum"):
        policy(np.array([0.25, 0.7501]), 2)
    with pytest.raises(Contradiction, match="negative"):
        policy(np.array([-0.25, 1.25]), 2)


@pytest.mark.parametrize(
    ("got", "expected", "right"),
    [
        (1.0 + 0.9e-8, 1.0, True),
        (1.0 + 1.1e-8, 1.0, False),
        (1e6 + 0.9e-2, 1e6, True),
        (1e6 + 1.1e-2, 1e6, False),
        (1e-9, 1e-300, True),
        (np.inf, np.inf, True),
        (np.inf, -np.inf, False),
        (1e300, np.inf, False),
        (np.inf, 1.0, False),
        (np.nan, np.nan, True),
        (np.nan, 1.0, False),
        (1.0, np.nan, False),
        (np.array([1.0, np.inf]), [1.0, np.inf], True),
        (np.array([1.0, np.nan]), [1.0, 1.0], False),
        (np.array([np.nan, 1.0]), [np.nan, 1.0], True),
        (np.array([[1.0, 1.0]]), [1.0, 1.0], False),
        (np.float16(0.333), 1 / 3, False),
    ],
    ids=repr,
)
def test_exact_is_absolute_below_one_and_relative_above(got: object, expected: object, right: bool) -> None:
    if right:
        assert_exact(got, expected)  # type: ignore[arg-type]
    else:
        with pytest.raises(Contradiction):
            assert_exact(got, expected)  # type: ignore[arg-type]


def test_nan_is_never_at_most_anything() -> None:
    assert_at_most(1.0, 1.0, "the distance")
    for value in (1.0 + 2e-8, float("nan"), float("inf")):
        with pytest.raises(Contradiction):
            assert_at_most(value, 1.0, "the distance")


def test_monotone_sees_a_fall_and_a_nan() -> None:
    assert_monotone([0.0, 1.0, 1.0 - 1e-10], "rises")
    assert_monotone([1.0, 0.0], "falls", increasing=False)
    for values in ([0.0, 1.0, 0.9], [0.0, np.nan]):
        with pytest.raises(Contradiction, match="rises"):
            assert_monotone(values, "rises")
