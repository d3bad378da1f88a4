"""`results.json` for Gradescope: a test for each function.

Contract: "Autograder Specifications", https://gradescope-autograders.readthedocs.io/en/latest/specs/. The tests' scores
add up to the score, which is given all the same. A run without a score has no file: with one, Gradescope would count
the tests that are missing as 0; without one, it says that the autograder failed.

Gradescope reads the output of the whole as HTML unless it is told not to, and takes a test for passed when it has all
its points, so that one without points would pass whatever it asks: format and status are said.
"""

import msgspec

from harness.report import words
from harness.result import Result
from harness.verdict import Outcome

TEXT_LIMIT = 400_000
"""Bytes of all tests' output together."""


def results(result: Result) -> str | None:
    """The content of the file, or None if there is no score."""
    if result.score is None:
        return None
    limit = TEXT_LIMIT // max(1, len(result.functions))
    document = {
        "score": result.score,
        "execution_time": round(result.seconds),
        "output": words.headline(result),
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": [
            {
                "name": f"{row.module}.{row.function}",
                "score": row.score,
                "max_score": row.max_score,
                "status": "passed" if facts and all(fact.outcome is Outcome.PASSED for fact in facts) else "failed",
                "output": words.accounts(result, row, limit),
                "output_format": "text",
            }
            for row in result.functions
            for facts in [words.facts_of(result, row)]
        ],
    }
    return msgspec.json.encode(document).decode()
