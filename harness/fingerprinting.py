"""Fingerprints of a bank: the probes are asked of every mistake and every right answer, here, as all of it is trusted.

The facts that a mistake fails are those of the recorded proof (`nox -s validate -- --deep`): asking them all takes too
long for every day. Where it has none of a mistake, what the file says stays.
"""

import os
import signal
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from harness import facts as suite_facts
from harness import fingerprints, probes
from harness.facts import Fact
from harness.fingerprints import Fingerprint, Fingerprints, Prints
from harness.impl import Impl, Timeout
from harness.local import Local, sources_of
from harness.validation.matrix import UNASKED, Block
from harness.variants import Variant, bank

PATIENCE = 60.0
"""Computing time for the probes of one variant, which may be a mistake that never ends."""


class Course(NamedTuple):
    """Where the parts of a course lie. record: the recorded proof, which need not be there."""

    suite: Path
    reference: Path
    mistakes: Path
    right_answers: Path
    record: Path


class _Recorded(msgspec.Struct, frozen=True):
    matrix: dict[str, Block] = {}


def generate(course: Course, only: Sequence[str] = ()) -> Fingerprints:
    """The fingerprints of the bank; with `only`, of these functions, and the others as they are in the file."""
    os.environ["OMP_NUM_THREADS"] = "1"
    facts = {fact.function: fact for fact in suite_facts.manifest(course.suite)}
    before = fingerprints.read(course.suite).functions
    recorded = _recorded(course.record)
    functions = [function for function in facts if function in probes.load(course.suite).by_function]
    wanted = [function for function in functions if not only or function in only]
    with ProcessPoolExecutor(initializer=_quiet) as pool:
        fresh = dict(
            zip(wanted, pool.map(_prints, [course] * len(wanted), [facts[name] for name in wanted]), strict=True)
        )
    found = {function: fresh.get(function) or before[function] for function in functions}
    joined = {function: _with_facts(prints, before.get(function), recorded.get(function))
              for function, prints in found.items()}  # fmt: skip
    return Fingerprints(fingerprints.SCHEMA, joined)


def encoded(found: Fingerprints) -> bytes:
    """The file, a mistake to a line."""
    blocks = []
    for function, prints in found.functions.items():
        mistakes = ",\n".join(f"   {msgspec.json.encode(mistake).decode()}" for mistake in prints.mistakes)
        right = msgspec.json.encode(prints.right).decode()
        blocks.append(f' "{function}": {{\n  "right": {right},\n  "mistakes": [\n{mistakes}\n  ]\n }}')
    functions = ",\n".join(blocks)
    return f'{{\n"schema": {found.schema},\n"functions": {{\n{functions}\n}}\n}}\n'.encode()


def write(course: Course, found: Fingerprints) -> None:
    """Replace the file beside the suite."""
    (course.suite / fingerprints.FILE).write_bytes(encoded(found))


def stale(course: Course, found: Fingerprints) -> list[str]:
    """What differs between the file and what was generated: digests may differ by rounding, elsewhere."""
    told = fingerprints.read(course.suite).functions
    lines = [f"{function}: not generated" for function in found.functions if function not in told]
    lines += [f"{function}: no longer a function" for function in told if function not in found.functions]
    for function in found.functions.keys() & told.keys():
        old, new = ({mistake.name: mistake for mistake in prints.functions[function].mistakes}
                    for prints in (Fingerprints(1, told), found))  # fmt: skip
        lines += [f"{function}: {name} is missing" for name in new.keys() - old.keys()]
        lines += [f"{function}: {name} is no mistake of the bank" for name in old.keys() - new.keys()]
        lines += [f"{function}: {name} differs" for name in new.keys() & old.keys() if not _same(old[name], new[name])]
    return sorted(lines)


def _same(old: Fingerprint, new: Fingerprint) -> bool:
    alike = len(old.answers) == len(new.answers) and fingerprints.same_answers(old, new)
    return alike and (old.says, old.severity, old.fails) == (new.says, new.severity, new.fails)


def _recorded(path: Path) -> dict[str, Block]:
    if not path.is_file():
        return {}
    return msgspec.json.decode(path.read_bytes(), type=_Recorded).matrix


def _with_facts(prints: Prints, before: Prints | None, block: Block | None) -> Prints:
    kept = {mistake.name: mistake.fails for mistake in before.mistakes} if before else {}
    known = [name for name, row in block.rows.items() if UNASKED not in row] if block else []
    rows = {name.rpartition("::")[2]: block.killers(name) for name in known} if block else {}
    mistakes = [
        msgspec.structs.replace(mistake, fails=rows.get(mistake.name, kept.get(mistake.name, [])))
        for mistake in prints.mistakes
    ]
    return Prints(prints.right, mistakes)


# ---- in a worker ----


def _quiet() -> None:
    import torch

    torch.set_num_threads(1)
    nothing = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):  # variants may print, and libraries complain about them
        os.dup2(nothing, descriptor)


def _prints(course: Course, fact: Fact) -> Prints:
    """The prints of one function, without facts."""
    mistakes = [variant for variant in bank(course.mistakes) if variant.function == fact.function]
    right = [variant for variant in bank(course.right_answers) if variant.function == fact.function]
    known = [asked(course, fact, variant) for variant in (None, *right)]
    return Prints(
        right=[sorted(set(digests)) for digests in zip(*known, strict=True)],
        mistakes=[_print(course, fact, variant) for variant in mistakes],
    )


def _print(course: Course, fact: Fact, variant: Variant) -> Fingerprint:
    """Answers that differ from run to run tell nothing; nor do those that a generator without a seed has touched."""
    with _noting_entropy() as drawn:
        first, again = (asked(course, fact, variant, seed) for seed in (0, 1))
    alike = [not drawn and one == other for one, other in zip(first, again, strict=True)]
    answers = [one if same else probes.NO_ANSWER for one, same in zip(first, alike, strict=True)]
    name = variant.identifier.rpartition("::")[2]
    assert variant.severity is not None
    return Fingerprint(name, variant.says, variant.severity, answers, [])


@contextmanager
def _noting_entropy() -> Iterator[list[bool]]:
    """What comes out is not empty once a generator of NumPy's was made without a seed."""
    own, drawn = np.random.default_rng, []

    def noting(seed: Any = None) -> np.random.Generator:
        if seed is None:
            drawn.append(True)
        return own(seed)

    np.random.default_rng = noting
    try:
        yield drawn
    finally:
        np.random.default_rng = own


def asked(course: Course, fact: Fact, variant: Variant | None, seed: int = 0) -> list[str]:
    replaced = {(fact.module, fact.function): lambda own: variant.answer} if variant else {}
    owners = {fact.function: fact.module}
    impl = Impl(Local(sources_of(course.reference), replaced=replaced), owners)

    def late(*_: object) -> None:
        raise Timeout("too late")

    signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    try:
        with warnings.catch_warnings(action="ignore"):  # whoever asks may have made errors of them
            return probes.answers(impl, fact, probes.load(course.suite).by_function[fact.function], seed=seed)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
