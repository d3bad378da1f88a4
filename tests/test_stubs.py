"""The stub generator: what it keeps, what it drops, what it refuses, and that no answer gets into the stub tree."""

import ast
import tomllib
from pathlib import Path

import pytest

from harness.stubs import MANIFEST, StubError, check, generate, given_modules, write

ROOT = Path(__file__).resolve().parents[1]

MODULE = '''"""A module."""

import math
from os import path, sep

import numpy as np

from .other import helper, shown

# given
# How many.
N = 3


# graded
_SECRET = 17


def _private(x):
    return x + _SECRET


# the answer is forty-two
def answer(x: np.ndarray, n: int = N) -> float:  # quickly
    """What it promises."""
    # add them up
    return math.fsum(x) + _private(n)


PUBLIC_TABLE = [1, 2]


# given
def show() -> None:
    """Prints it."""
    print(answer(np.ones(N)), shown, sep)  # stays


# a comment at the end of what is given stays, too
'''

STUB = '''"""A module."""

from os import sep

import numpy as np

from .other import shown

# given
# How many.
N = 3


# graded
def answer(x: np.ndarray, n: int = N) -> float:
    """What it promises."""
    raise NotImplementedError


# given
def show() -> None:
    """Prints it."""
    print(answer(np.ones(N)), shown, sep)  # stays


# a comment at the end of what is given stays, too
'''

OTHER = '"""Another."""\n\n# given\nshown = 1\n\n\n# graded\ndef helper():\n    """Helps."""\n    return shown\n'


def tree(folder: Path, **modules: str) -> Path:
    """A tree of modules, by name, under folder/tree."""
    for name, text in modules.items():
        (folder / "tree").mkdir(exist_ok=True)
        (folder / "tree" / f"{name}.py").write_text(text, encoding="utf-8")
    return folder / "tree"


def test_keeps_what_is_given_and_the_signatures_and_docstrings_of_what_is_graded(tmp_path):
    assert generate(tree(tmp_path, module=MODULE, other=OTHER))["module.py"] == STUB


def test_stubs_are_a_fixed_point(tmp_path):
    stubs = generate(tree(tmp_path, module=MODULE, other=OTHER))
    assert generate(tree(tmp_path, module=stubs["module.py"], other=stubs["other.py"])) == stubs


def test_a_module_given_whole_is_copied_with_the_imports_that_it_does_not_use(tmp_path):
    given = '"""Given."""\n\n# given\nimport os\n\n_private = 1   # oddly  spaced\n'
    source = tree(tmp_path, given=given, other=OTHER, __init__='"""Package."""\n', __main__=given)
    assert generate(source)["given.py"] == given
    assert generate(source)["__main__.py"] == given
    assert given_modules(source) == {"given.py": given}


def test_private_modules_are_dropped(tmp_path):
    source = tree(tmp_path, other=OTHER, _private="nothing = 'marked'\n", __init__='"""Package."""\n')
    assert generate(source).keys() == {"other.py", "__init__.py"}


def test_long_imports_are_laid_out_as_a_formatter_does(tmp_path):
    names = [f"a_rather_long_name_number_{i}" for i in range(5)]
    text = f'"""Doc."""\n\nfrom os import {", ".join([*names, "sep"])}\n\n# given\nX = [{", ".join(names)}]\n\n\n'
    expected = "from os import (\n" + "".join(f"    {name},\n" for name in names) + ")\n"
    source = tree(tmp_path, module=text + '# graded\ndef f():\n    """Doc."""\n')
    assert expected in generate(source)["module.py"]


def test_names_in_quoted_annotations_count_as_used(tmp_path):
    text = (
        '"""Doc."""\n\nfrom decimal import Decimal\n\n\n# graded\ndef f(x: "Decimal"):\n    """Doc."""\n    return x\n'
    )
    assert "from decimal import Decimal\n" in generate(tree(tmp_path, module=text))["module.py"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('"""Doc."""\n\nX = 1\n\n\n# graded\n', r"module\.py:3: neither `# given` nor `# graded` stands above"),
        ('"""Doc."""\n\nimport os\n', r"module\.py: no line says `# given` or `# graded`"),
        ('"""Doc."""\n\n# given: the demo\nX = 1\n', r"`# given: the demo` is no marker"),
        ('"""Doc."""\n\n# Graded\nX = 1\n', r"`# Graded` is no marker"),
        ('"""Doc."""\n\n\n# graded\ndef f():\n    return 1\n', r"module\.py:5: f is graded and has no docstring"),
        (
            '"""Doc."""\n\n\n# graded\n_N = 1\n\n\n# given\nX = _N\n',
            "what students are given uses `_N`, which is dropped",
        ),
        (
            '"""Doc."""\n\n\n# graded\nclass C:\n    pass\n\n\ndef f(x: C):\n    """Doc."""\n',
            "uses `C`, which is dropped",
        ),
        ('"""Doc."""\n\n# given\nfrom .other import _gone\n', "imports `_gone` from `.other`, which is dropped"),
        ('"""Doc."""\n\n# given\nfrom ._private import x\n', "imports `x` from `._private`, which is dropped"),
        ("import os\n", r"module\.py:1: the module has no docstring"),
        ('"""Doc."""\n\ndef f(:\n', r"module\.py:3: "),
    ],
)
def test_refuses_a_source_that_the_rules_do_not_cover(tmp_path, text, message):
    with pytest.raises(StubError, match=message):
        generate(tree(tmp_path, module=text, other=OTHER))


def test_refuses_an_empty_source(tmp_path):
    with pytest.raises(StubError, match="holds no Python files"):
        generate(tmp_path)


FILES = {"a.py": "one\n", "sub/b.py": "two\n"}


def test_writes_and_finds_nothing_stale(tmp_path):
    assert write(tmp_path / "out", FILES) == ["a.py", "sub/b.py"]
    assert check(tmp_path / "out", FILES) == []
    assert write(tmp_path / "out", FILES) == []


def test_writes_over_its_own_files_and_removes_those_that_are_gone(tmp_path):
    write(tmp_path, FILES)
    assert write(tmp_path, {"a.py": "ONE\n"}) == ["a.py", "sub/b.py"]
    assert check(tmp_path, {"a.py": "ONE\n"}) == []


def test_line_endings_do_not_make_a_file_somebody_elses(tmp_path):
    write(tmp_path, FILES)
    (tmp_path / "a.py").write_bytes(b"one\r\n")
    assert write(tmp_path, {**FILES, "a.py": "ONE\n"}) == ["a.py"]


def test_an_interrupted_run_can_be_repeated(tmp_path):
    write(tmp_path, FILES)
    (tmp_path / "a.py").write_text("ONE\n")  # as far as the run came: new text, and the manifest still the old one
    assert write(tmp_path, {"a.py": "ONE\n", "sub/b.py": "TWO\n"}) == ["sub/b.py"]


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("a.py", b"a student's work\n"),
        ("notes.txt", b"a file of the student's\n"),
        ("sub/c.py", b"a module of the student's\n"),
        ("a.py", b"\xff\xfe no text"),
    ],
)
def test_never_writes_over_a_students_work(tmp_path, path, content):
    write(tmp_path, FILES)
    (tmp_path / path).write_bytes(content)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    with pytest.raises(StubError, match=f"{path} was not written by the stub generator, or was changed since"):
        write(tmp_path, {"a.py": "new\n", "sub/b.py": "new\n"})
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before


def test_never_writes_over_a_folder_without_a_manifest(tmp_path):
    (tmp_path / "a.py").write_text("work\n")
    with pytest.raises(StubError, match="was not written by the stub generator"):
        write(tmp_path, FILES)


def test_check_lists_stale_missing_and_extra_files(tmp_path):
    write(tmp_path, FILES)
    (tmp_path / "a.py").write_text("changed\n")
    (tmp_path / "sub" / "b.py").unlink()
    (tmp_path / "extra.py").touch()
    assert check(tmp_path, FILES) == [
        f"{tmp_path / 'a.py'}: stale",
        f"{tmp_path / 'extra.py'}: extra",
        f"{tmp_path / 'sub/b.py'}: missing",
    ]
    assert len(check(tmp_path / "nowhere", FILES)) == len([*FILES, MANIFEST])


# ---- the real trees ----


# What any training loop in PyTorch says, the given one of world.py too: it answers nothing.
EVERY_LOOP = {"optimizer.zero_grad()", "optimiser.zero_grad()", "with torch.no_grad():"}


@pytest.fixture(scope="module")
def stubs() -> dict[str, str]:
    return generate(ROOT / "reference")


def test_the_generated_files_are_up_to_date(stubs):
    assert check(ROOT / "student", stubs) == []
    assert check(ROOT / "checks" / "given", given_modules(ROOT / "reference")) == []


def test_every_graded_body_is_one_raise(stubs):
    for path, text in stubs.items():
        originals = functions((ROOT / "reference" / path).read_text(encoding="utf-8"))
        for name, stub in functions(text).items():
            assert ast.dump(stub.args) == ast.dump(originals[name].args), (path, name)
            assert ast.get_docstring(stub) == ast.get_docstring(originals[name]), (path, name)
            if ast.dump(stub) != ast.dump(originals[name]):
                assert [ast.unparse(statement) for statement in stub.body[1:]] == ["raise NotImplementedError"]


def test_the_graded_functions_are_those_with_points(stubs):
    points = tomllib.loads((ROOT / "checks" / "points.toml").read_text(encoding="utf-8"))
    raising = {
        (path.removesuffix(".py"), name)
        for path, text in stubs.items()
        for name, function in functions(text).items()
        if ast.unparse(function.body[-1]) == "raise NotImplementedError"
    }
    assert raising == {(module, function) for module, functions in points.items() for function in functions}


def test_no_answer_gets_into_the_stubs(stubs):
    """No distinctive line of a graded body or a private helper stands anywhere in what students are handed."""
    handed = {line for text in stubs.values() for line in lines(ast.parse(text))}
    answers = {
        (path.name, line)
        for path in sorted((ROOT / "reference").rglob("*.py"))
        for function in answered(path, stubs)
        for line in lines(function)
        if is_distinctive(line)
    }
    assert len(answers) > 100, "the reference's answers were not found; this test would pass on anything"
    assert sorted(answer for answer in answers if answer[1] in handed and answer[1] not in EVERY_LOOP) == []


def functions(text: str) -> dict[str, ast.FunctionDef]:
    """The top-level functions of a module."""
    return {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}


def answered(path: Path, stubs: dict[str, str]) -> list[ast.FunctionDef]:
    """The functions of a reference module that its stub does not hold as they are."""
    stub = functions(stubs.get(path.relative_to(ROOT / "reference").as_posix(), ""))
    return [
        function
        for name, function in functions(path.read_text(encoding="utf-8")).items()
        if name not in stub or ast.dump(stub[name]) != ast.dump(function)
    ]


def lines(tree: ast.Module | ast.FunctionDef) -> list[str]:
    """The statements of a tree, one line each, in the layout of `ast.unparse`; no docstrings, no signatures."""
    statements = [
        node for node in ast.walk(tree) if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef)
    ]
    return [ast.unparse(statement).splitlines()[0] for statement in statements if not is_text(statement)]


def is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def is_distinctive(line: str) -> bool:
    """Long enough to be no accident, and it computes something."""
    try:
        tree = ast.parse(line if not line.endswith(":") else f"{line} pass")
    except SyntaxError:  # the first line of an `else`, `except`, …
        return False
    return len(line) >= 20 and any(isinstance(node, ast.BinOp | ast.Call | ast.Compare) for node in ast.walk(tree))
