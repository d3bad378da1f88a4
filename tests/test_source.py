"""What is read off a source without running it."""

import pytest

from harness.source import is_stub, lines_of, mentions, text_of

STUB = b'def f(x):\n    """Docstring."""\n    raise NotImplementedError\n'


@pytest.mark.parametrize(
    ("source", "stub"),
    [
        (STUB, True),
        (b"def f(x): raise NotImplementedError('later')", True),
        (STUB + b"\ndef g(): return f\nk = f(1) if False else 0\n", True),
        (b"def f(x):\n    return x", False),
        (b"def f(x):\n    if x: raise NotImplementedError\n    return x", False),
        (b"@cache\n" + STUB, False),
        (STUB + b"f = lambda x: x\n", False),
        (STUB + b"def f(x): return x\n", False),
        (STUB + b"from helper import f\n", False),
        (STUB + b"from helper import g as f\n", False),
        (STUB + b"from helper import *\n", False),
        (STUB + b"for f in [abs]: pass\n", False),
        (STUB + b"if True:\n    def f(x): return x\n", False),
        (b"", False),
        (b"def g(): raise NotImplementedError", False),
        (b"def f(:", False),
        (b"\xff\xfe", False),
    ],
    ids=repr,
)
def test_a_stub_is_a_function_that_only_raises(source: bytes, stub: bool) -> None:
    assert is_stub(source, "f") is stub


def test_names_that_a_module_uses() -> None:
    source = b"from .a import kl\nimport b\ndef f(): return kl(1) + b.tv(2)\ndef g(): pass\n"
    assert mentions(source, {"kl"})
    assert mentions(source, {"tv", "x"})
    assert not mentions(source, {"f", "g"})
    assert not mentions(b"def f(:", {"f"})


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\xef\xbb\xbfx = 1\r\n", "x = 1\n"),
        (b"# coding: latin-1\nx = '\xe9'", "# coding: latin-1\nx = 'é'"),
        ("x = 'β'".encode(), "x = 'β'"),
    ],
    ids=repr,
)
def test_text_is_read_as_python_reads_it(data: bytes, text: str) -> None:
    assert text_of(data) == text


def test_lines_of_what_is_no_text_are_none() -> None:
    assert lines_of(b"x = '\xe9'") == lines_of(b"# coding: none-such\n") == []
