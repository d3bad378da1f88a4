"""A class made of the bank, any number of submissions: `python -m tests.cohort_of NUMBER FOLDER [SEED]`.

Each is the reference with a few functions answered otherwise: by a mistake, by a right answer that is written
differently, by nothing yet, or by something hostile. One in ten is untouched. The same number and seed give the same
submissions; what each was made of stands beside them, in `made.json`.
"""

import ast
import json
import random
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
BANKS = {"mistake": ROOT / "checks" / "mistakes", "right": ROOT / "tests" / "right_answers"}
KINDS = {"mistake": 60, "right": 30, "todo": 5, "hostile": 5}
"""How often a function is answered in which way, of 100."""
UNTOUCHED, MOST = 0.1, 4
HOSTILE = {
    "crashes": "import ctypes; ctypes.string_at(0)",
    "exits": "import os; os._exit(0)",
    "hangs": "while True: pass",
    "sleeps": "import time; time.sleep(1e6)",
    "floods": "while True: print('x' * 10_000)",
    "hoards": "hoard = [bytearray(1 << 28) for _ in range(64)]",
    "forks": "import os; os.fork()",
    "signals": "import os, signal; os.kill(os.getppid(), signal.SIGKILL)",
}


class Answer(NamedTuple):
    """An answer of a bank. source: a module that holds it, with what it needs and nothing else of the bank's."""

    kind: str
    function: str
    name: str
    source: str


def main(number: int, folder: Path, seed: int = 0) -> None:
    """Write the submissions, each into a folder of its own."""
    rng = random.Random(seed)
    made = {f"student-{place:04d}": submission(rng) for place in range(number)}
    for name, (files, _) in made.items():
        (folder / name).mkdir(parents=True)
        for file, text in files.items():
            (folder / name / file).write_text(text, encoding="utf-8")
    (folder / "made.json").write_text(json.dumps({name: of for name, (_, of) in made.items()}, indent=1))


def submission(rng: random.Random) -> tuple[dict[str, str], dict[str, str]]:
    """The files of one submission, and what was done to which function."""
    if rng.random() < UNTOUCHED:
        return modules(ROOT / "student"), {}
    files, of = modules(ROOT / "reference"), {}
    for function in rng.sample(sorted(owners()), rng.randint(0, MOST)):
        kind = rng.choices(list(KINDS), list(KINDS.values()))[0]
        answers = [answer for answer in bank() if (answer.kind, answer.function) == (kind, function)]
        name = rng.choice(answers).name if answers else rng.choice(sorted(HOSTILE))
        of[function] = kind if kind == "todo" else f"{kind}: {name}"
        owner = owners()[function]
        if answers:
            answer = next(answer for answer in answers if answer.name == name)
            files[f"own_{function}.py"] = answer.source
            files[owner] = answered(files[owner], function, f"from .own_{function} import {name} as own", "own")
        else:
            body = "raise NotImplementedError" if kind == "todo" else HOSTILE[name]
            files[owner] = answered(files[owner], function, body)
    return files, of


def answered(source: str, function: str, body: str, call: str = "") -> str:
    """A module with another body for one function; call: what it then returns the value of, for its own arguments."""
    tree = ast.parse(source)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            names = ", ".join(argument.arg for argument in node.args.args)
            node.body = ast.parse(f"{body}\nreturn {call}({names})" if call else body, mode="exec").body
    return ast.unparse(tree) + "\n"


def modules(folder: Path) -> dict[str, str]:
    """The files that a student hands in, with helper modules of their own."""
    return {
        path.name: path.read_text(encoding="utf-8")
        for path in sorted(folder.glob("*.py"))
        if path.stem in graded() or (path.stem.startswith("_") and not path.stem.startswith("__"))
    }


def graded() -> set[str]:
    """The modules that facts are about."""
    return {path.stem.removeprefix("check_") for path in (ROOT / "checks").glob("check_*.py")}


def owners() -> Mapping[str, str]:
    """The file of each graded function for which the bank has answers."""
    if not _owners:
        _owners.update(
            (answer.function, f"{path.stem}.py")
            for path in sorted(BANKS["mistake"].glob("[a-z]*.py"))
            for answer in answers_of(path, "mistake")
        )
    return _owners


def bank() -> list[Answer]:
    """All answers."""
    if not _bank:
        for kind, folder in BANKS.items():
            for path in sorted(folder.glob("[a-z]*.py")):
                _bank.extend(answers_of(path, kind))
    return _bank


_owners: dict[str, str] = {}
_bank: list[Answer] = []


def answers_of(path: Path, kind: str) -> list[Answer]:
    """The answers of one module of a bank."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    variants = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef) and variant(node)}
    shared = [node for node in tree.body if node not in variants.values() and not of_harness(node)]
    functions = {name: variant(node) for name, node in variants.items()}
    for node in variants.values():
        node.decorator_list = []
    found = []
    for name, function in functions.items():
        needed = [name]
        for each in needed:  # some are made of others
            uses = {node.id for node in ast.walk(variants[each]) if isinstance(node, ast.Name)}
            needed += sorted((uses & variants.keys()) - set(needed))
        module = ast.Module([*shared, *(variants[each] for each in needed)], [])
        found.append(Answer(kind, function, name, ast.unparse(module) + "\n"))
    return found


def variant(node: ast.FunctionDef) -> str:
    """The function that a function of the bank is an answer to, or nothing."""
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Name):
            first = decorator.args[0]
            if decorator.func.id in ("mistake", "right_answer") and isinstance(first, ast.Constant):
                return str(first.value)
    return ""


def of_harness(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and (node.module or "").startswith("harness")


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0)
