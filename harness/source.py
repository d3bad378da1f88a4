"""What can be read off a module's source without running it."""

import ast
import tokenize
from collections.abc import Collection, Mapping
from functools import lru_cache
from io import BytesIO, TextIOWrapper


def text_of(data: bytes) -> str:
    """The text of a Python file: byte order mark, coding line and line ends as Python itself reads them."""
    encoding, _ = tokenize.detect_encoding(BytesIO(data).readline)
    return TextIOWrapper(BytesIO(data), encoding, newline=None).read()


def lines_of(data: bytes) -> list[str]:
    """The lines of a Python file; none if it cannot be read as text."""
    try:
        return text_of(data).splitlines()
    except (SyntaxError, UnicodeDecodeError, LookupError):
        return []


def mentions(data: bytes, names: Collection[str]) -> bool:
    """Whether a module uses one of these names, as a variable or an attribute."""
    tree = _parsed(data)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    used |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return not used.isdisjoint(names)


@lru_cache(maxsize=1024)  # asked before each fact; parsing a module takes 4 ms
def is_stub(data: bytes, function: str) -> bool:
    """Whether a module does no more about `function` than raise NotImplementedError in it."""
    tree = _parsed(data)
    bindings = [node for node in tree.body if not _bound_by(node).isdisjoint((function, "*"))]
    if len(bindings) != 1 or not isinstance(bindings[0], ast.FunctionDef) or bindings[0].decorator_list:
        return False
    body = [node for node in bindings[0].body if not _is_docstring(node)]
    return len(body) == 1 and isinstance(body[0], ast.Raise) and _raises_not_implemented(body[0])


@lru_cache(maxsize=1024)
def parameters(data: bytes, function: str) -> list[str]:
    """The names of the parameters of a top-level function that are given by position; none if it is not there."""
    found = [node for node in _parsed(data).body if isinstance(node, ast.FunctionDef) and node.name == function]
    return [argument.arg for argument in (*found[-1].args.posonlyargs, *found[-1].args.args)] if found else []


def calls(sources: Mapping[str, bytes], functions: Collection[str]) -> dict[str, set[str]]:
    """By function, those of `functions` that it uses, itself or through other functions of the modules, by name."""
    uses: dict[str, set[str]] = {}
    for data in sources.values():
        for node in _parsed(data).body:
            if isinstance(node, ast.FunctionDef):
                names = {child.id for child in ast.walk(node) if isinstance(child, ast.Name)}
                uses[node.name] = names | {child.attr for child in ast.walk(node) if isinstance(child, ast.Attribute)}
    reached: dict[str, set[str]] = {}
    for function in functions:
        seen: set[str] = set()
        waiting = [function]
        while waiting:
            new = uses.get(waiting.pop(), set()) - seen
            seen |= new
            waiting += new
        reached[function] = seen & set(functions)
    return reached


def _parsed(data: bytes) -> ast.Module:
    """The syntax tree; an empty one for what Python would not compile."""
    try:
        return ast.parse(text_of(data))
    except (SyntaxError, ValueError, RecursionError, MemoryError, LookupError):
        return ast.Module([], [])


def _bound_by(node: ast.stmt) -> set[str]:
    """Names that a top-level statement may bind; a star import, which may bind any, gives "*"."""
    names = {child.id for child in ast.walk(node) if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store)}
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    for child in ast.walk(node):
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            names.add(child.name)
        elif isinstance(child, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name.partition(".")[0] for alias in child.names}
    return names


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _raises_not_implemented(node: ast.Raise) -> bool:
    raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"
