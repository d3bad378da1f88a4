"""Text of a submission is shown, and does nothing."""

import pytest

from harness.text import inert


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\nβ ≤ 1 中文 👍", "plain\ttext\nβ ≤ 1 中文 👍"),
        ("\x1b[31mred\x07\r\x00", "\\x1b[31mred\\x07\\r\\x00"),
        ("\u202egnp.exe\u2066", "\\u202egnp.exe\\u2066"),
        ("a\u2028b\u200bc\ufeff", "a\\u2028b\\u200bc\\ufeff"),
        ("\ud800\x9b", "\\ud800\\x9b"),
    ],
    ids=ascii,
)
def test_invisible_characters_are_spelled_out(text: str, shown: str) -> None:
    assert inert(text) == shown
