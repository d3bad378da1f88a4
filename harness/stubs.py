"""Writes the tree that students are handed from the tree that answers everything.

A comment line of its own at the left margin, `# given` or `# graded`, opens a region that ends at the next one:

- before the first: the docstring and imports. An import stays if what remains uses it;
- `# given`: copied as it stands;
- `# graded`: a public function keeps its signature and docstring, and its body becomes one `raise NotImplementedError`.
  Decorators, comments, private helpers, constants and everything else are dropped.

A module that starts with `# given` and never changes is copied whole. A module whose name starts with an underscore is
dropped. What the rules cannot make sense of raises `StubError`, and so does writing over a folder that holds anything
but what was last written there: a student's work is never overwritten.
"""

import ast
import hashlib
import re
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path, PurePosixPath
from typing import TypeAlias

import libcst as cst
from libcst.metadata import PositionProvider

from harness.errors import UsageError

MANIFEST = ".generated"  # digests of what was last written to a folder; lies beside it
LINE_LENGTH = 120

Statement: TypeAlias = cst.SimpleStatementLine | cst.BaseCompoundStatement

_MARKER_LOOKALIKE = re.compile(r"#\W*(given|graded)(\W*|\W*[:,–—-].*)", re.IGNORECASE)


class StubError(UsageError):
    """A source that the rules do not cover, or a folder that must not be written over; the message says what to do."""


class Region(Enum):
    """What becomes of the statements of a part of a module."""

    PREAMBLE = "before the first marker"
    GIVEN = "# given"
    GRADED = "# graded"


def generate(source: Path) -> dict[str, str]:
    """The stub tree of a reference tree: text by POSIX path relative to the tree.

    Raises StubError, naming file and line, if a module is not marked as the rules want it, or if what remains of it
    uses a name that was dropped.
    """
    originals = _read_modules(source)
    if not originals:
        raise StubError(f"{source} holds no Python files: name the folder of the full implementations.")
    stubs = {path: _stub(f"{source.name}/{path}", text) for path, text in originals.items()}
    for path, text in stubs.items():
        _refuse_lost_names(f"{source.name}/{path}", originals[path], text)
        _refuse_lost_imports(f"{source.name}/{path}", path, text, stubs)
    return stubs


def given_modules(source: Path) -> dict[str, str]:
    """The modules that are given whole, `__init__` and `__main__` aside, as they stand in the reference tree."""
    modules = {path: text for path, text in _read_modules(source).items() if not path.endswith("__.py")}
    return {path: text for path, text in modules.items() if _is_given_whole(_parse(path, text))}


def check(folder: Path, files: Mapping[str, str]) -> list[str]:
    """What is stale in a folder that should hold exactly these files, one line each; empty if nothing is."""
    files = _with_manifest(files)
    present = _files_in(folder)
    problems = [f"{folder / path}: missing" for path in files.keys() - present]
    problems += [f"{folder / path}: extra" for path in present - files.keys()]
    problems += [f"{folder / path}: stale" for path in files.keys() & present if _read(folder / path) != files[path]]
    return sorted(problems)


def write(folder: Path, files: Mapping[str, str]) -> list[str]:
    """Makes a folder hold exactly these files, and returns the paths that changed, were added or removed.

    Raises StubError, before anything is written, if the folder holds a file that was not generated, or that was changed
    since: each file must match the manifest of the last run, or already be what would be written. Line endings do not
    count.
    """
    new = _with_manifest(files)
    present = _files_in(folder)
    digests = _read_manifest(folder)
    for path in sorted(present - {MANIFEST}):
        text = _read(folder / path)
        if text != new.get(path) and (text is None or _digest(text) != digests.get(path)):
            raise StubError(
                f"{folder / path} was not written by the stub generator, or was changed since. Nothing was written: "
                f"move your work to another folder, or delete {folder} if it is not needed, and try again."
            )
    changed = [path for path, text in new.items() if path not in present or _read(folder / path) != text]
    removed = present - new.keys()
    for path in sorted(changed, key=lambda path: path == MANIFEST):  # last: a run cut short can be repeated
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(new[path], encoding="utf-8", newline="\n")
    for path in removed:
        (folder / path).unlink()
    return sorted({*changed, *removed} - {MANIFEST})


# ---- one module ----


def _stub(name: str, text: str) -> str:
    """The stub of one module. name: the file, for messages."""
    module = _parse(name, text)
    if _is_given_whole(module):
        return text
    kept = list(_kept_statements(name, module))
    body = [statement for region, statement in kept if region is not Region.PREAMBLE]
    used = _names_used("".join(module.code_for_node(statement) for statement in body))
    preamble = [statement for region, statement in kept if region is Region.PREAMBLE]
    footer = module.footer if kept[-1][0] is Region.GIVEN else []
    stub = module.with_changes(body=[*_without_unused_imports(module, preamble, used), *body], footer=footer)
    return stub.code.rstrip() + "\n"


def _parse(name: str, text: str) -> cst.Module:
    """The module's syntax tree. Raises StubError if it does not parse, or does not start with a docstring."""
    try:
        module = cst.parse_module(text)
    except cst.ParserSyntaxError as error:
        raise StubError(f"{name}:{error.raw_line}: {error.message}") from None
    if module.get_docstring() is None:
        raise StubError(f"{name}:1: the module has no docstring; start it with one.")
    return module


def _is_given_whole(module: cst.Module) -> bool:
    """Whether `# given` stands right after the docstring, with no `# graded` after it; or there is only a docstring."""
    if len(module.body) == 1:
        return True
    markers = [[_marker("", line) for line in statement.leading_lines] for statement in module.body]
    return Region.GIVEN in markers[1] and Region.GRADED not in {region for regions in markers for region in regions}


def _kept_statements(name: str, module: cst.Module) -> Iterator[tuple[Region, Statement]]:
    """The statements that remain, graded functions as stubs, with the region each is in."""
    positions = cst.MetadataWrapper(module, unsafe_skip_copy=True).resolve(PositionProvider)
    region = Region.PREAMBLE
    pending: list[cst.EmptyLine] = []  # a marker, and the blank lines around it, whose first statements were dropped
    for index, statement in enumerate(module.body):
        where = f"{name}:{positions[statement].start.line}"
        leading = pending
        for line in statement.leading_lines:
            if marker := _marker(where, line):
                region = marker
                # nothing was kept under an earlier marker
                leading = [line for line in leading if not _marker(where, line)]
            if marker or line.comment is None or region is not Region.GRADED:
                leading = [*leading, line]

        kept: Statement | None = None
        if region is Region.PREAMBLE:
            if index > 0 and not _imports(statement):
                raise StubError(
                    f"{where}: neither `# given` nor `# graded` stands above this statement; write one of them."
                )
            kept = statement
        elif region is Region.GIVEN:
            kept = statement.with_changes(leading_lines=_at_most_two_blank(leading))
        elif isinstance(statement, cst.FunctionDef) and not statement.name.value.startswith("_"):
            while len(leading) > 1 and leading[-1].comment is None and any(line.comment for line in leading):
                leading = leading[:-1]  # the marker stands right above its first function
            kept = _stub_function(where, statement).with_changes(leading_lines=_at_most_two_blank(leading))

        if kept is not None:
            yield region, kept
        pending = leading if kept is None and any(line.comment for line in leading) else []
    if region is Region.PREAMBLE:
        raise StubError(
            f"{name}: no line says `# given` or `# graded`; put one under the imports, or above to keep them."
        )


def _marker(where: str, line: cst.EmptyLine) -> Region | None:
    """The region that a line opens. Raises StubError for what is nearly a marker: a slip could give an answer away."""
    if line.comment is None:
        return None
    comment = line.comment.value.rstrip()
    for region in (Region.GIVEN, Region.GRADED):
        if comment == region.value:
            return region
    if _MARKER_LOOKALIKE.fullmatch(comment):
        raise StubError(
            f"{where}: `{comment}` is no marker; write `# given` or `# graded`, and nothing else on the line."
        )
    return None


def _stub_function(where: str, function: cst.FunctionDef) -> cst.FunctionDef:
    """Signature, docstring and one `raise NotImplementedError`. Raises StubError if there is no docstring."""
    if function.get_docstring() is None:
        raise StubError(f"{where}: {function.name.value} is graded and has no docstring; a student needs one.")
    docstring = cst.ensure_type(function.body.body[0], cst.SimpleStatementLine)
    body = cst.IndentedBlock(body=[docstring, cst.parse_statement("raise NotImplementedError")])
    return function.with_changes(body=body, decorators=[], lines_after_decorators=[])


def _at_most_two_blank(lines: list[cst.EmptyLine]) -> list[cst.EmptyLine]:
    """The lines, with runs of blank ones cut to two."""
    return [
        line for i, line in enumerate(lines) if line.comment or i < 2 or lines[i - 1].comment or lines[i - 2].comment
    ]


# ---- imports and names ----


def _imports(statement: Statement) -> list[cst.Import | cst.ImportFrom]:
    """The import that a line consists of, or nothing."""
    if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1:
        return [part for part in statement.body if isinstance(part, cst.Import | cst.ImportFrom)]
    return []


def _without_unused_imports(module: cst.Module, preamble: list[Statement], used: set[str]) -> list[Statement]:
    """The docstring and the imports, less those that bind no name that is used."""
    remaining: list[Statement] = []
    gap: list[cst.EmptyLine] = []  # blank lines above dropped imports, which open a section
    for statement in preamble:
        leading = list(statement.leading_lines)
        for node in _imports(statement):
            if isinstance(node.names, cst.ImportStar) or module.code_for_node(node).startswith("from __future__"):
                continue
            kept = [alias for alias in node.names if _bound_name(alias) in used]
            if not kept:
                gap = gap or [line for line in leading if line.comment is None]
                break
            if len(kept) < len(node.names):
                statement = _import_of(module, node, kept)
        else:
            remaining.append(statement.with_changes(leading_lines=leading if leading else gap))
            gap = []
    return remaining


def _import_of(module: cst.Module, node: cst.Import | cst.ImportFrom, aliases: list[cst.ImportAlias]) -> Statement:
    """The import, of these names alone, laid out as a formatter would."""
    names = [module.code_for_node(alias.with_changes(comma=cst.MaybeSentinel.DEFAULT)) for alias in aliases]
    bare = node.with_changes(names=[cst.ImportAlias(cst.Name("_"))], lpar=None, rpar=None)
    start = module.code_for_node(bare).removesuffix("_")
    line = start + ", ".join(names)
    if len(line) > LINE_LENGTH:
        line = start + "(\n    " + ",\n    ".join(names) + ",\n)"
    return cst.parse_statement(line + "\n")


def _bound_name(alias: cst.ImportAlias) -> str:
    """The name that an import makes known in the module: `import a.b` binds a."""
    return alias.evaluated_alias or alias.evaluated_name.partition(".")[0]


def _names_used(code: str) -> set[str]:
    """All names that code reads or writes, those in quoted annotations and in `__all__` included."""
    tree = ast.parse(code)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for node in ast.walk(tree):
        for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            for part in ast.walk(annotation) if isinstance(annotation, ast.AST) else ():
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    names.update(re.findall(r"[A-Za-z_]\w*", part.value))
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            names.update(ast.literal_eval(node.value))
    return names


def _names_defined(code: str) -> set[str]:
    """The names that a module binds at its top level."""
    names: set[str] = set()
    for statement in ast.parse(code).body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(statement.name)
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            names.update(alias.asname or alias.name.partition(".")[0] for alias in statement.names)
        else:
            nodes = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
            names.update(node.id for node in nodes if isinstance(node.ctx, ast.Store))
    return names


def _refuse_lost_names(name: str, original: str, stub: str) -> None:
    """Raises StubError if what remains of a module uses a name of the module that was dropped."""
    lost = (_names_defined(original) - _names_defined(stub)) & _names_used(stub)
    if lost:
        raise StubError(
            f"{name}: what students are given uses `{min(lost)}`, which is dropped; put it under `# given`."
        )


def _refuse_lost_imports(name: str, path: str, stub: str, stubs: Mapping[str, str]) -> None:
    """Raises StubError if a stub imports, from its own tree, a module or a name that was dropped."""
    for node in ast.walk(ast.parse(stub)):
        if not isinstance(node, ast.ImportFrom) or node.level == 0:
            continue
        folder = PurePosixPath(path).parents[node.level - 1]
        for alias in node.names:
            target = folder.joinpath(*(node.module or "").split("."))
            inside = stubs.get(f"{target}.py", stubs.get(f"{target}/__init__.py", ""))
            is_module = f"{target / alias.name}.py" in stubs or f"{target / alias.name}/__init__.py" in stubs
            if alias.name != "*" and not is_module and alias.name not in _names_defined(inside):
                raise StubError(
                    f"{name}:{node.lineno}: what students are given imports `{alias.name}` from "
                    f"`{'.' * node.level}{node.module or ''}`, which is dropped; put it under `# given` there."
                )


# ---- folders ----


def _read_modules(source: Path) -> dict[str, str]:
    """The modules of a tree that students have too, by POSIX path: private ones, `_name.py`, are left out."""
    return {
        path: _read(source / path) or ""
        for path in sorted(_files_in(source))
        if path.endswith(".py") and not any(re.match(r"_(?!_)", part) for part in PurePosixPath(path).parts)
    }


def _files_in(folder: Path) -> set[str]:
    """The POSIX paths of all files below a folder, bytecode aside; none if there is no folder."""
    files = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file() or path.is_symlink())
    return {path.as_posix() for path in files if "__pycache__" not in path.parts}


def _read(path: Path) -> str | None:
    """A file's text with newlines as one; None if it is not text."""
    try:
        return path.read_text(encoding="utf-8")
    except (UnicodeDecodeError, OSError):
        return None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _with_manifest(files: Mapping[str, str]) -> dict[str, str]:
    """The files, and the manifest of their digests."""
    lines = [f"{_digest(text)}  {path}\n" for path, text in sorted(files.items())]
    return {**files, MANIFEST: "".join(lines)}


def _read_manifest(folder: Path) -> dict[str, str]:
    """Digest by path, as the last run wrote it; empty if there was none."""
    text = _read(folder / MANIFEST) or ""
    return {path: digest for digest, _, path in (line.partition("  ") for line in text.splitlines())}
