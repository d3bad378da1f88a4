"""Whose fault an error is."""


class UsageError(Exception):
    """The command line, a file or the submission cannot be understood: the message names it and says what to do."""


class Unreadable(UsageError):
    """The submission is there, and holds nothing that can be graded: its author's to mend, and no points."""


class GraderFault(Exception):
    """The grader itself failed, or the place where it runs: not the submission.s fault; no marks are published."""
