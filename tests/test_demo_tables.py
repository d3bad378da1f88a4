"""The demos print the lecture's figures, digit for digit, but for those cells in which the lecture is wrong.

data/lecture_tables.json holds the lecture's printed figures, without labels; null stands for a cell that it has not.
"""

import importlib
import json
from pathlib import Path

import pytest

from reference.__main__ import DEMOS

LECTURE = json.loads(Path(__file__).with_name("data").joinpath("lecture_tables.json").read_text(encoding="utf-8"))

# (demo, table, row, column): (printed in the lecture, right). docs/instructor.md says why, cell by cell.
DIFFERENCES = {
    ("overoptimization", "curve", 0, 1): ("-0.00", "0.00"),
    ("overoptimization", "curve", 1, 4): ("0.29", "0.30"),
    ("overoptimization", "curve", 2, 1): ("0.64", "0.63"),
    ("overoptimization", "curve", 2, 3): ("2.75", "2.76"),
    ("overoptimization", "curve", 4, 1): ("1.84", "1.83"),
}


def printed_figures(demo):
    """The cells of a demo's tables as they are printed, without the columns of labels."""
    module = importlib.import_module(f"reference.{DEMOS[demo].module}")
    tables = getattr(module, f"{demo}_tables")()
    return {
        name: [[cell for cell, (_, spec) in zip(row, table.columns, strict=True) if spec] for row in table.cells()]
        for name, table in tables.items()
    }


@pytest.mark.parametrize("demo", LECTURE)
def test_figures_are_the_lectures_except_where_it_is_wrong(demo):
    printed = printed_figures(demo)
    assert printed.keys() == LECTURE[demo].keys()
    differing = {}
    for table, rows in LECTURE[demo].items():
        assert len(printed[table]) == len(rows)
        for i, (ours, theirs) in enumerate(zip(printed[table], rows, strict=True)):
            for j, (our, their) in enumerate(zip(ours, theirs, strict=True)):
                if their is not None and our != their:
                    differing[demo, table, i, j] = (their, our)
    assert differing == {cell: values for cell, values in DIFFERENCES.items() if cell[0] == demo}


def test_instructors_are_told_of_each_difference():
    page = Path(__file__).parents[1].joinpath("docs", "instructor.md").read_text(encoding="utf-8")
    section = page.partition("## Differences from the lecture")[2].partition("\n## ")[0]
    for printed, right in DIFFERENCES.values():
        assert f"| {printed} | {right} |" in section
