"""Objects of the grader that facts hand to a submission: worlds and spies."""

from typing import Any, Self


class Shared:
    """Base of an object that crosses the boundary.

    `attributes` travel once, arrays read-only; `methods` are called where the object lives, in the grader, so that it
    can record every call. Nothing else of the object can be reached from a submission.
    """

    attributes: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    made_from: tuple[tuple[Any, ...], dict[str, Any]]
    """What it was constructed from, so that a replay can make it again."""

    def __new__(cls, *arguments: Any, **keywords: Any) -> Self:
        made = super().__new__(cls)
        made.made_from = (arguments, keywords)
        return made
