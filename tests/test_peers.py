"""Comparisons with libraries: one that disagrees, or cannot be made, is named."""

from pathlib import Path

import numpy as np
import pytest

from harness.facts import manifest
from harness.validation.peers import Comparison, compare, difference, load
from tests.small_course import RIGHT, write_tree

ROOT = Path(__file__).parents[1]
NOBODY_ELSE_WROTE = {"pick_batch", "pick_double_thompson", "run"}

PEERS = '''
import numpy as np
from harness.validation.peers import peer

@peer("double", library="numpy", allowed=1e-12, inputs=7)
def sum_of_numpy(impl, rng):
    """numpy.add."""
    x = rng.normal(0, 1e3, 4)
    return impl.shapes.double(x), np.add(x, x)

@peer("coin", library="numpy", allowed=0.1, inputs=2)
def share_of_heads(impl, rng):
    """Half of the tosses."""
    return np.mean(impl.shapes.coin(4000, rng)), 0.5
'''


def run(folder: Path, peers: str = PEERS, source: str = RIGHT, *functions: str) -> list[Comparison]:
    write_tree(folder / "peers", peers, _helpers="raise RuntimeError('no comparisons in here')")
    owners = {"double": "shapes", "coin": "shapes"}
    return compare(folder / "peers", {"shapes": source.encode()}, owners, functions)


def test_agreement_is_measured(tmp_path: Path) -> None:
    double, coin = run(tmp_path)
    assert double == Comparison("numpy.add.", "double", f"numpy {np.__version__}", 7, 0.0, 1e-12)
    assert 0 < coin.largest < 0.1
    assert double.holds and coin.holds


def test_the_same_inputs_come_every_time(tmp_path: Path) -> None:
    assert run(tmp_path / "a") == run(tmp_path / "b")


def test_functions_can_be_chosen(tmp_path: Path) -> None:
    assert [c.function for c in run(tmp_path, PEERS, RIGHT, "coin")] == ["coin"]


@pytest.mark.parametrize(
    ("peers", "source"),
    [
        (PEERS.replace("np.add(x, x)", "np.add(x, x) * (1 + 1e-11)"), RIGHT),
        (PEERS, RIGHT.replace("np.asarray(x) + x", "np.asarray(x) * 2.0000001")),
        (PEERS, RIGHT.replace("np.asarray(x) + x", "np.asarray(x) * np.nan")),
        (PEERS, RIGHT.replace("np.asarray(x) + x", "np.asarray(x)[:2] * 2")),
    ],
)
def test_whoever_is_wrong_the_comparison_is_named(tmp_path: Path, peers: str, source: str) -> None:
    assert [c.title for c in run(tmp_path, peers, source) if not c.holds] == ["numpy.add."]


@pytest.mark.parametrize(
    ("peers", "source", "problem"),
    [
        (
            PEERS.replace('library="numpy", allowed=1e-12', 'library="no-library", allowed=1'),
            RIGHT,
            "no-library is not installed",
        ),
        (PEERS.replace("np.add(x, x)", "__import__('no_such_library')"), RIGHT, "no_such_library is not installed"),
        (PEERS.replace("np.add(x, x)", "1 / 0"), RIGHT, "ZeroDivisionError"),
        (PEERS, RIGHT.replace("np.asarray(x) + x", "x['no']"), "IndexError"),
    ],
)
def test_what_cannot_be_compared_does_not_agree(tmp_path: Path, peers: str, source: str, problem: str) -> None:
    (broken,) = (c for c in run(tmp_path, peers, source) if not c.holds)
    assert broken.function == "double"
    assert problem in broken.problem


def test_difference_is_absolute_below_one_and_relative_above() -> None:
    assert difference([0.5, 1e6], [0.25, 1e6]) == 0.25
    assert difference(1.5e6, 1e6) == 0.5
    assert difference([np.inf, -np.inf], [np.inf, -np.inf]) == 0.0
    assert difference(np.inf, 1e300) == difference(np.nan, np.nan) == difference([1.0], 1.0) == np.inf


def test_every_function_that_others_wrote_has_a_peer_and_every_peer_a_line() -> None:
    comparisons = load(ROOT / "tests" / "peers")
    graded = {fact.function for fact in manifest(ROOT / "checks")}
    assert {each.peer.function for each in comparisons} == graded - NOBODY_ELSE_WROTE
    lines = [each.__doc__ for each in comparisons]
    assert all(lines) and len(set(lines)) == len(lines)


def test_a_fault_of_the_reference_disagrees_with_every_peer() -> None:
    source = (ROOT / "reference" / "closed_form.py").read_text(encoding="utf-8")
    faulty = source.replace("np.abs(p - q).sum()", "np.abs(p - q).max()")
    assert faulty != source
    sources = {path.stem: path.read_bytes() for path in (ROOT / "reference").glob("*.py")}
    owners = {fact.function: fact.module for fact in manifest(ROOT / "checks")}
    assert all(c.holds for c in compare(ROOT / "tests" / "peers", sources, owners, ["tv"]))
    sources["closed_form"] = faulty.encode()
    assert not any(c.holds for c in compare(ROOT / "tests" / "peers", sources, owners, ["tv"]))
