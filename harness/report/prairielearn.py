"""`results.json` for PrairieLearn: a score in [0, 1], and a test for each function.

Contract: "External grading", https://docs.prairielearn.com/externalGrading/ (at most 1 MB). `gradable: false` costs a
student no attempt and no points: it is said when nothing could be read, and when there is no score.
"""

from typing import Any

import msgspec

from harness.report import words
from harness.result import Result

TEXT_LIMIT = 400_000
"""Bytes of all tests' output together; as JSON a byte may take two, and 1 MB is the limit."""


def results(result: Result) -> str:
    """The content of the file."""
    if result.score is None or not result.readable:
        document: dict[str, Any] = {"gradable": False, "format_errors": [words.headline(result)]}
        return msgspec.json.encode(document).decode()
    limit = TEXT_LIMIT // max(1, len(result.functions))
    document = {
        "gradable": True,
        "score": min(1.0, max(0.0, result.score / result.max_score)) if result.max_score else 0.0,
        "message": words.headline(result),
        "tests": [
            {
                "name": f"{row.module}.{row.function}",
                "description": words.held(words.facts_of(result, row)),
                "points": row.score,
                "max_points": row.max_score,
                "output": words.accounts(result, row, limit),
            }
            for row in result.functions
        ],
    }
    return msgspec.json.encode(document).decode()
