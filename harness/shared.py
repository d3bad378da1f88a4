"""Objects of the grader that facts hand to a submission: worlds and spies."""


class Shared:
    """Base of an object that crosses the boundary.

    `attributes` travel once, arrays read-only; `methods` are called where the object lives, in the grader, so that it
    can record every call. Nothing else of the object can be reached from a submission.
    """

    attributes: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
