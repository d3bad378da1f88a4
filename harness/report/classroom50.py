"""`result.json` for Classroom 50, schema `classroom50/result/v1`: whole points, a test for each function.

Contract: "The result.json contract", https://github.com/foundation50/classroom50/wiki/Advanced-Autograding, and
schemas/result-v1.schema.json there. The runner stamps who owns the repository, who pushed, and when. A run without a
score has no file: the autograder then ends with another status than 0, and the runner records an error with 0 of 0
points, not a zero of all.
"""

from collections.abc import Mapping
from fractions import Fraction

import msgspec

from harness.marks import rounded
from harness.report import words
from harness.result import Result
from harness.verdict import Outcome

IDENTITY = {
    "classroom": "CLASSROOM",
    "assignment": "ASSIGNMENT",
    "assignment_type": "ASSIGNMENT_TYPE",
    "owner": "OWNER",
    "submission": "SUBMISSION_TAG",
    "commit": "COMMIT_URL",
    "release": "RELEASE_URL",
    "review": "REVIEW_URL",
}
"""Fields that the runner's environment gives."""
UNKNOWN_TIME = "1970-01-01T00:00:00Z"  # the runner writes the commit's own time over it


def results(result: Result, environment: Mapping[str, str]) -> str | None:
    """The content of the file; None if there is no score, or outside a Classroom 50 runner."""
    if result.score is None or not all(environment.get(name) for name in IDENTITY.values()):
        return None
    max_points = rounded({_key(n): Fraction(str(row.max_score)) for n, row in enumerate(result.functions)}, 0)
    shares = {
        _key(n): Fraction(str(row.score)) / Fraction(str(row.max_score)) * Fraction(int(max_points[_key(n)]))
        for n, row in enumerate(result.functions)
        if row.score and row.max_score
    }
    points = rounded(shares, 0)
    document = {
        "schema": "classroom50/result/v1",
        **{field: environment[name] for field, name in IDENTITY.items()},
        "datetime": UNKNOWN_TIME,
        "score": int(sum(points.values())),
        "max-score": int(sum(max_points.values())),
        "tests": [
            {
                "test-name": f"{row.module}.{row.function}",
                "passed": bool(facts) and all(fact.outcome is Outcome.PASSED for fact in facts),
                "score": int(points.get(_key(n), 0)),
                "max-score": int(max_points[_key(n)]),
                "message": words.held(facts),
            }
            for n, row in enumerate(result.functions)
            for facts in [words.facts_of(result, row)]
        ],
    }
    return msgspec.json.encode(document).decode()


def _key(position: int) -> str:
    return str(position)
