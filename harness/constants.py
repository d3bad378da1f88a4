"""The numbers that Hypothesis tries on its own account: those of the suite, in every process.

Now and then it draws a constant that stands in a module which happens to be loaded. What a submission is asked, and the
mark of one that is nearly right, would then depend on what else its grader has imported: in a run of one fact, in a
student's copy, in the grader of a whole class.
"""

import functools
from pathlib import Path

from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants, _constants_from_source


def draw_constants_of(suite: Path) -> None:
    """Let Hypothesis try the constants of a suite's facts, and of no other module. There is no public way to say so."""
    constants = _constants_of(suite.resolve())
    if providers._local_constants is not constants:
        providers._local_constants = constants
        providers._get_local_constants = lambda: constants
        providers.CONSTANTS_CACHE.cache.clear()


@functools.cache
def _constants_of(suite: Path) -> Constants:
    found = Constants()
    for path in sorted(suite.glob("check_*.py")):
        found |= _constants_from_source(path.read_bytes(), limit=True)
    return found
