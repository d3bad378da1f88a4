"""What a function does beside refusing input: its guards, what is there for them alone, and the names it uses.

A guard is an `if` without `else` whose last statement raises.
"""

import re
from collections.abc import Callable, Sequence

import libcst as cst

Skips = Callable[[cst.CSTNode], bool]


def statements_of(block: cst.BaseSuite) -> list[cst.BaseStatement]:
    """The lines and compound statements of a block; none of one that stands behind its colon."""
    return list(block.body) if isinstance(block, cst.IndentedBlock) else []


def refusal(statement: cst.CSTNode) -> str | None:
    """The start of a guard's message, up to what is filled in; None for any other statement."""
    if not isinstance(statement, cst.If) or statement.orelse is not None:
        return None
    last = statements_of(statement.body)[-1:]
    if not last or not isinstance(last[0], cst.SimpleStatementLine) or not isinstance(last[0].body[0], cst.Raise):
        return None
    message = re.search(r'\(f?"([^"{]*)', cst.Module([last[0]]).code)
    return message[1] if message else ""


def needed(statements: Sequence[cst.BaseStatement], skips: Skips) -> set[str]:
    """The names that are read by statements that are not skipped, and not there for a skipped one alone."""
    remaining = [statement for statement in statements if not skips(statement)]
    while True:
        read = {name for statement in remaining for name in loads(statement)}
        useful = [line for line in remaining if not binds(line) or stores(line) & read]
        if len(useful) == len(remaining):
            return read
        remaining = useful


def only_checks(function: cst.FunctionDef) -> bool:
    """Whether a function does no more than read an argument, refuse it or return it."""
    statements = statements_of(function.body)
    useful = needed(statements, lambda part: refusal(part) is not None)
    work = [
        part for part in statements[:-1] if refusal(part) is None and not (binds(part) and not stores(part) & useful)
    ]
    match statements[-1:]:
        case [cst.SimpleStatementLine(body=[cst.Return(value=cst.Name())])]:
            return any(refusal(part) is not None for part in statements) and sum(map(binds, work)) == 1
    return False


def binds(statement: cst.CSTNode) -> bool:
    """Whether a statement is a line that gives names their values."""
    return isinstance(statement, cst.SimpleStatementLine) and bool(stores(statement))


class _Names(cst.CSTVisitor):
    def __init__(self) -> None:
        self.loads: set[str] = set()
        self.stores: set[str] = set()

    def visit_Name(self, node: cst.Name) -> None:
        self.loads.add(node.value)

    def visit_AssignTarget(self, node: cst.AssignTarget) -> bool:
        parts = [part.value for part in node.target.elements] if isinstance(node.target, cst.Tuple) else [node.target]
        self.stores |= {part.value for part in parts if isinstance(part, cst.Name)}
        for part in parts:
            if not isinstance(part, cst.Name):
                part.visit(self)
        return False

    def visit_Attribute(self, node: cst.Attribute) -> bool:
        node.value.visit(self)
        return False


def loads(node: cst.CSTNode) -> set[str]:
    """The names that are read, or whose parts are written to."""
    names = _Names()
    node.visit(names)
    return names.loads


def stores(node: cst.CSTNode) -> set[str]:
    """The names that are given new values."""
    names = _Names()
    node.visit(names)
    return names.stores
