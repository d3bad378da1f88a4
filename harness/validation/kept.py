"""Findings that outlive their run: a deep run that was stopped, or that follows a change, asks only what is new."""

import hashlib
from pathlib import Path

import msgspec

from harness.facts import manifest
from harness.validation.cases import Case, Course, Failure, Finding
from harness.validation.record import deciding, digest_of


class _Line(msgspec.Struct, frozen=True):
    """A line of the file: a finding, but for its case, which the key stands for."""

    key: str
    asked: dict[str, float]
    failed: list[Failure]
    called: dict[str, list[str]]


class Kept:
    """The findings in a file, by all that decides them: the case, the facts of its module, its answer, the reference.

    A line is written as soon as there is a finding; one that was cut short is not read.
    """

    def __init__(self, path: Path, course: Course) -> None:
        self._path, self._course = path, course
        self._owners = {fact.function: fact.module for fact in manifest(course.suite)}
        self._files = deciding(course)
        self._digests: dict[tuple[str, ...], str] = {}
        self._lines: dict[str, _Line] = {}
        for line in path.read_bytes().splitlines() if path.is_file() else []:
            try:
                read = msgspec.json.decode(line, type=_Line)
            except msgspec.DecodeError:
                continue
            self._lines[read.key] = read

    def finding(self, case: Case) -> Finding | None:
        """What an earlier run found of a case."""
        line = self._lines.get(self._key(case))
        return Finding(case, line.asked, line.failed, line.called) if line else None

    def keep(self, finding: Finding) -> None:
        """Write a finding down."""
        line = _Line(self._key(finding.case), finding.asked, finding.failed, finding.called)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab") as file:
            file.write(msgspec.json.encode(line) + b"\n")

    def _key(self, case: Case) -> str:
        made = f"{case.stand_in.__module__}.{case.stand_in.__qualname__}" if case.stand_in else ""
        asked = repr(case._replace(stand_in=None))
        return hashlib.sha256(f"{self._decided(case)} {made} {asked}".encode()).hexdigest()

    def _decided(self, case: Case) -> str:
        """The digest of all files but other modules' facts and other answers."""
        check, answer = f"check_{self._owners[case.function]}.py", f"{case.name.partition('::')[0]}.py"
        bank = {"mistake": self._course.mistakes, "right": self._course.right_answers}.get(case.kind)
        key = (check, answer, str(bank)) if bank else (check,)
        if key not in self._digests:
            folders = {self._course.mistakes.resolve(), self._course.right_answers.resolve()}
            own = {
                name: path
                for name, path in self._files.items()
                if path.parent not in folders and (path.name == check or not path.name.startswith("check_"))
            }
            self._digests[key] = digest_of({**own, "answer": bank / answer} if bank else own)
        return self._digests[key]
