"""The documents: every command is one, every link leads somewhere, and authoring.md builds the unit that it shows."""

import re
import shlex
import sys
import tomllib
from pathlib import Path

import pytest

import noxfile
from harness.__main__ import _parser
from tests.small_project import ROOT, copy_project, run

DOCS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SESSION = re.compile(r"(?:nox|noxfile\.py) -s (\w+)(?: -- ([^`\n]*))?")
TABLE = re.compile(r"^\| type `python3 noxfile\.py -s …` .*\n\|---.*\n((?:\|.*\n)+)", re.MULTILINE)
ROW = re.compile(r"^\| `(\w+)(?: -- ([^`\n]*))?` \| ", re.MULTILINE)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HARNESS = {"grade", "validate", "stubs", "fingerprints", "handout", "bundle"}
"""Sessions that hand their arguments to the command of the same name."""


def commands(text: str) -> list[tuple[str, str]]:
    """The sessions that a text types, with their arguments."""
    rows = "".join(match[1] for match in TABLE.finditer(text))
    return [(match[1], match[2] or "") for match in (*SESSION.finditer(text), *ROW.finditer(rows))]


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_every_command_is_one(path):
    for session, arguments in commands(path.read_text(encoding="utf-8")):
        assert callable(getattr(noxfile, session, None)), session
        words = shlex.split(arguments.replace("$", ""))
        if session in HARNESS and "…" not in arguments:
            _parser().parse_args([session, *words])  # exits if it does not understand


def test_the_commands_are_found():
    found = [command for path in DOCS for command in commands(path.read_text(encoding="utf-8"))]
    assert len(found) > 40
    assert {"grade", "validate", "handout", "bundle", "stubs", "fingerprints", "tests", "demo"} <= dict(found).keys()
    with pytest.raises(SystemExit):
        _parser().parse_args(["grade", "--no-such-option"])


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_every_link_leads_somewhere(path):
    for target in LINK.findall(path.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        goal = path.parent / file if file else path
        assert goal.exists(), target
        if anchor:
            titles = re.findall(r"^#+ (.*)$", goal.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}, target


def test_the_points_of_the_weeks_are_those_of_the_course():
    points = tomllib.loads((ROOT / "checks" / "points.toml").read_text(encoding="utf-8"))
    rows = re.findall(
        r"^\| \d \| (.*) \| (\d+) \|$", (ROOT / "docs" / "instructor.md").read_text("utf-8"), re.MULTILINE
    )
    weeks = {tuple(re.findall(r"`(\w+)`", modules)): int(sum_) for modules, sum_ in rows}
    assert [module for week in weeks for module in week] == list(points)
    assert all(sum(sum(points[module].values()) for module in week) == total for week, total in weeks.items())


def test_the_unit_of_the_authors_page_can_be_built_from_it(tmp_path: Path):
    project = copy_project(tmp_path / "project")
    text = (ROOT / "docs" / "authoring.md").read_text(encoding="utf-8")
    blocks = dict(re.findall(r"```python\n# (\S+)\n(.*?)```", text, re.DOTALL))
    for name, code in blocks.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(code, encoding="utf-8")
    with (project / "checks" / "points.toml").open("a", encoding="utf-8") as points:
        points.writelines(re.findall(r"```toml\n(.*?)```", text, re.DOTALL))
    harness = (sys.executable, "-m", "harness")
    stubs = run(*harness, "stubs", cwd=project)
    assert "temperature.py" in stubs.stdout, stubs.stdout + stubs.stderr
    right = run(*harness, "grade", "--tree", "reference", "--only", "temper", cwd=project)
    assert "2.00 of 2.00 points; 2 of 2 facts hold" in right.stdout, right.stdout + right.stderr
    unwritten = run(*harness, "grade", "--only", "temper", cwd=project)
    assert "0.00 of 2.00 points" in unwritten.stdout and "Start here: temper" in unwritten.stdout
    for name in ("checks/mistakes/temperature.py", "tests/right_answers/temperature.py"):
        compile(blocks[name], name, "exec")
