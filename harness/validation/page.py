"""The proof as a page, `validate.html`: one file without scripts, fonts or links to elsewhere."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import markupsafe

from harness.validation.matrix import HELD, KILLED, LATE, UNASKED, Block
from harness.validation.proof import FALSE_ALARMS, KILLED_OF_100, Proof
from harness.validation.tables import (
    FactRow,
    fact_rows,
    false_alarms,
    function_rows,
    lent_pairs,
    mistake_rows,
    prunable,
    seeds,
)

SHAPES = {KILLED: "v10", LATE: "v6", UNASKED: "v2"}
"""How tall a cell is by its mark, of 10; the mark of a fact that holds is no cell."""


class Strip(NamedTuple):
    """A row of the kill matrix: a fact, and its cells as SVG paths by mark. says: the same in words."""

    fact: FactRow
    width: int
    paths: dict[str, str]
    says: str


def page(proof: Proof) -> str:
    """The whole page."""
    folder = jinja2.FileSystemLoader(Path(__file__).parent)
    environment = jinja2.Environment(
        loader=folder, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters["rate"] = lambda rate: f"{float(rate):.1e}" if rate else "0"
    # Names of facts are long: they may break at each underscore.
    environment.filters["breakable"] = lambda name: markupsafe.escape(name).replace("_", markupsafe.Markup("_<wbr>"))
    rows = fact_rows(proof)
    shown: dict[str, Any] = {
        "proof": proof,
        "short": proof.falls_short,
        "functions": function_rows(proof),
        "strips": {
            function: list(_strips(block, [row for row in rows if row.function == function]))
            for function, block in proof.matrix.items()
        },
        "mistakes": mistake_rows(proof),
        "prunable": prunable(proof),
        "false_alarms": false_alarms(proof),
        "allowed": FALSE_ALARMS,
        "seeds": seeds(proof),
        "lent": lent_pairs(proof),
        "goal": KILLED_OF_100,
        "marks": {"killed": KILLED, "late": LATE, "unasked": UNASKED},
    }
    return environment.get_template("page.html").render(shown)


def _strips(block: Block, rows: list[FactRow]) -> Iterator[Strip]:
    """A function's facts against its mistakes; those that most facts kill stand on the left."""
    mistakes = sorted(block.rows, key=lambda mistake: -len(block.killers(mistake)))
    for position, row in enumerate(rows):
        marks = [block.rows[mistake][position] for mistake in mistakes]
        paths = {mark: _path(marks, mark) for mark in SHAPES if mark in marks}
        says = f"kills {row.kills} of {len(marks)} mistakes"
        says += f", {row.alone} of them alone" if row.alone is not None else ""
        counts = {"took too long": marks.count(LATE), "not asked": marks.count(UNASKED)}
        says += "".join(f"; {count} {what}" for what, count in counts.items() if count)
        yield Strip(row, len(marks), paths, says)


def _path(marks: list[str], mark: str) -> str:
    """The cells of one mark: 1 wide, with a gap, on the base line."""
    assert mark != HELD
    height = SHAPES[mark]
    return "".join(f"M{column} 10h.85{height.replace('v', 'v-')}h-.85z" for column, m in enumerate(marks) if m == mark)
