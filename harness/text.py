"""Text that came from a submission, made harmless for terminals, logs and pages."""

import unicodedata

KEPT = {"\n", "\t"}
INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Unicode categories of control, format (bidi marks among them), surrogate, private and line-separating characters."""


def inert(text: str) -> str:
    """`text` with every invisible character but newline and tab spelled out, as in \\x1b."""
    return "".join(
        character if character in KEPT or unicodedata.category(character) not in INVISIBLE else _spelled(character)
        for character in text
    )


def typed(command: str, python: str = "python3") -> str:
    """A command of a record as it works with or without nox on the PATH."""
    return command.replace("nox -s ", f"{python} noxfile.py -s ", 1)


def _spelled(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
