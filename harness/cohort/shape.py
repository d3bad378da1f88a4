"""A digest of what a submission's program is, whatever its author calls things."""

import ast
import hashlib
from collections.abc import Collection, Mapping

from harness.source import text_of

LIMIT = 200_000
"""Bytes of sources that are looked at: parsing may take 1,500 times as much memory. The course's own reference has
116,000."""


def shape(sources: Mapping[str, bytes], functions: Collection[str]) -> str:
    """Equal for two that differ in no more than names, comments, docstrings, annotations of functions, and layout.

    Every name that a module binds (functions, classes, parameters, variables, aliases of imports) is replaced by its
    number in order of appearance; names of graded `functions`, attributes, keywords of calls and constants count as
    they are. Nothing, if a module cannot be parsed, or there is more than LIMIT.
    sources: the submission's own modules, by name.
    """
    if sum(map(len, sources.values())) > LIMIT:
        return ""
    whole = hashlib.sha256()
    for name, data in sorted(sources.items()):
        try:
            tree = ast.parse(text_of(data))
            bound = _Bound(functions)
            bound.visit(tree)
            text = ast.dump(_Renamed(bound.names).visit(tree))
        except (SyntaxError, ValueError, RecursionError, MemoryError, LookupError):
            return ""
        whole.update(f"{name}\0{text}\0".encode("utf-8", "surrogatepass"))
    return whole.hexdigest()


class _Bound(ast.NodeVisitor):
    """The names that a module binds, and what takes their place."""

    def __init__(self, kept: Collection[str]) -> None:
        self._kept = kept
        self.names: dict[str, str] = {}

    def _bind(self, name: str | None) -> None:
        if name and name not in self._kept:
            self.names.setdefault(name, f"_{len(self.names)}")

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self._bind(node.id)

    def visit_arg(self, node: ast.arg) -> None:
        self._bind(node.arg)

    def visit_alias(self, node: ast.alias) -> None:
        self._bind(node.asname)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._bind(node.name)
        self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._bind(node.name)
        self.generic_visit(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        self._bind(node.name)
        self.generic_visit(node)


class _Renamed(ast.NodeTransformer):
    """The same tree under the names that were given, without docstrings and annotations."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for field in ("id", "arg", "name", "asname"):
            value = getattr(node, field, None)
            # a keyword of a call is the name of somebody's parameter; an import's name is a module's
            is_own = not isinstance(node, ast.keyword) and not (isinstance(node, ast.alias) and field == "name")
            if isinstance(value, str) and is_own:
                setattr(node, field, self._names.get(value, value))
        for field in ("annotation", "returns", "type_comment"):
            if hasattr(node, field) and not isinstance(node, ast.AnnAssign):
                setattr(node, field, None)
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and _is_docstring(body[0]):
            del body[0]
        return node


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
