"""What decides a result, as digests: a submission with an equal key need not be graded again."""

import json
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import NamedTuple

from harness.result import Environment, Result
from harness.sandbox.intake import Taken


class Key(NamedTuple):
    """What decides a result: two submissions with equal keys have the same one. All but `reseed` are digests or names.

    submission: of what was taken and of what was left out, and why. suite: facts, points, harness, reference.
    selection: the names of --only, sorted. level: of the isolation.
    """

    submission: str
    suite: str
    selection: tuple[str, ...]
    environment: str
    level: str
    reseed: int


def key_of(taken: Taken, suite: str, selection: Iterable[str], environment: str, level: str, reseed: int) -> Key:
    """The key of a submission before it is graded."""
    submission = _submission_digest(taken.digest(), taken.left_out)
    return Key(submission, suite, tuple(sorted(set(selection))), environment, level, reseed)


def key_of_result(result: Result) -> Key:
    """The key of a submission that was graded."""
    left_out = {file.name: file.left_out or "" for file in result.submission.files if not file.sha256}
    return Key(
        _submission_digest(result.submission.digest, left_out),
        result.suite.digest,
        tuple(sorted(set(result.suite.selection))),
        environment_digest(result.environment),
        result.isolation.level,
        result.environment.reseed,
    )


def environment_digest(environment: Environment) -> str:
    """A digest of the versions: the platform decides no mark, and the workers of one cluster may have several."""
    parts = [environment.python, environment.torch, environment.numpy]
    return sha256(json.dumps(parts).encode()).hexdigest()


def _submission_digest(digest: str, left_out: Mapping[str, str]) -> str:
    return sha256(json.dumps([digest, left_out], sort_keys=True).encode()).hexdigest()
