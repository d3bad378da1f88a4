"""The one kind of error that a user can mend."""


class UsageError(Exception):
    """The command line, a file or the submission cannot be understood: the message names it and says what to do."""
