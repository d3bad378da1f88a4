"""Mutants: the reference with one small slip in it, and whether the facts see the slip.

A slip is made in the body of a graded function, or of a private function of its module that it uses. It is an operator,
comparison or condition turned round, a number one off or doubled, a call, an index, an argument or a statement left
out, or two arguments swapped (`harness.validation.mutations`). The facts about the functions that reach the slip are
asked until one does not hold.

Left out, because no fact may see the difference: what is given (signatures of graded functions, names under
`# given`), docstrings and annotations; whatever refuses input without meaning, which is not graded (the guards `if ...:
raise ...`, what only they read, functions that check an argument and return it, and calls of these), but for a guard
whose argument a docstring calls "(graded)"; messages; warnings (`with np.errstate(...)`), which are free; and constants
at the top of a module, which tune how a function computes what its docstring promises.

What survives must be listed, with the reason why it is no fault, in a file like

    [[equivalent]]
    module = "closed_form"
    function = "kl"
    line = "return max(0.0, float(np.sum(p * (np.log(p) - np.log(q)))))"
    change = "`0.0` becomes `-1.0`"
    reason = "..."
    computed = true     # equal on 10,000 inputs, as a test shows; may be left out
"""

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import libcst as cst
from libcst.metadata import PositionProvider

from harness.validation.cases import Case, Course, Memory, ask
from harness.validation.guards import loads, needed, only_checks, refusal, statements_of, stores
from harness.validation.mutations import mutations, name_of


class Mutant(NamedTuple):
    """A module of the reference with one slip in it.

    function: the function at the top of the module in which it is. asked: the graded functions that reach it.
    line: its number. text: what stands there, in the reference. change: what the slip is.
    source: the module with the slip.
    """

    module: str
    function: str
    asked: tuple[str, ...]
    line: int
    text: str
    change: str
    source: bytes

    @property
    def says(self) -> str:
        """The slip in a line."""
        return f"{self.module}.py, line {self.line}: {self.change}"


class Equivalent(NamedTuple):
    """A mutant that no fact can kill, and why. It is recognised by what the line says, not by its number."""

    module: str
    function: str
    line: str
    change: str
    reason: str
    computed: bool = False


class Survey(NamedTuple):
    """What became of mutants. drift: entries of the list that no surviving mutant matches, and why they fail to."""

    killed: list[Mutant]
    equivalent: list[Mutant]
    survivors: list[Mutant]
    drift: list[str]


def mutants_of(reference: Path, graded: Mapping[str, Sequence[str]]) -> list[Mutant]:
    """Every mutant of a reference tree, in the order of its modules and lines. graded: the functions of each module."""
    trees = {path.stem: cst.parse_module(path.read_text(encoding="utf-8")) for path in sorted(reference.glob("*.py"))}
    checking = {
        name
        for module, tree in trees.items()
        for name, function in _functions(tree).items()
        if module.startswith("_") or (name.startswith("_") and only_checks(function))
    }
    return [mutant for module in graded for mutant in _mutants(module, trees[module], tuple(graded[module]), checking)]


def survey(
    course: Course,
    mutants: Sequence[Mutant],
    equivalents: Sequence[Equivalent],
    progress: Callable[[int, int], None] = lambda done, total: None,
    memory: Memory | None = None,
) -> Survey:
    """Ask every mutant the facts about the functions that reach it, until one does not hold."""
    cases = [
        Case("mutant", function, str(number), mutant.source, until_killed=True)
        for number, mutant in enumerate(mutants)
        for function in mutant.asked
    ]
    dead = {int(finding.case.name) for finding in ask(course, cases, progress, memory=memory) if finding.failed}
    return sort_out(mutants, dead, equivalents)


def sort_out(mutants: Sequence[Mutant], dead: Iterable[int], equivalents: Sequence[Equivalent]) -> Survey:
    """Which mutants died, which are listed, which should have died; and what the list says in vain."""
    dead = set(dead)
    places = [(mutant.module, mutant.function, mutant.text, mutant.change) for mutant in mutants]
    alive = [number for number in range(len(mutants)) if number not in dead]
    surviving, listed = {places[number] for number in alive}, Counter(entry[:4] for entry in equivalents)
    drift = []
    for place, times in listed.items():
        module, function, line, change = place
        fate = "was killed" if place in places else "is no mutant any more"
        if place not in surviving:
            drift.append(f"{module}.{function}, `{line}`: {change}: {fate}; delete the entry")
        elif times > 1:
            drift.append(f"{module}.{function}, `{line}`: {change}: listed {times} times; keep one entry")
    return Survey(
        killed=[mutants[number] for number in sorted(dead)],
        equivalent=[mutants[number] for number in alive if places[number] in listed],
        survivors=[mutants[number] for number in alive if places[number] not in listed],
        drift=drift,
    )


def read_equivalents(path: Path) -> list[Equivalent]:
    """The entries of a list. Raises TypeError for an entry without one of its fields, or with one too many."""
    return [Equivalent(**entry) for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("equivalent", [])]


# ---- the slips of one module ----


def _mutants(name: str, tree: cst.Module, graded: tuple[str, ...], checking: set[str]) -> Iterator[Mutant]:
    """The mutants of one module. checking: functions of the tree that only check an argument."""
    wrapper = cst.MetadataWrapper(tree)
    module, positions, text = wrapper.module, wrapper.resolve(PositionProvider), tree.code
    functions, lines = _functions(module), text.splitlines()
    private = {name for name in functions if name.startswith("_")}
    for changed_in, function in functions.items():
        if changed_in in graded:
            asked: tuple[str, ...] = (changed_in,)
        elif changed_in in private - checking:
            asked = tuple(user for user in graded if changed_in in _reached(user, functions, private))
        else:
            continue
        own, seen = module.code_for_node(function), Counter[tuple[int, str]]()
        for old, new in _Walk(function, changed_in in private, checking, _imported_modules(module)).found:
            mutated = module.code_for_node(cst.ensure_type(function.deep_replace(old, new), cst.FunctionDef))
            line, change = positions[old].start.line, _described(module, old, new)
            seen[line, change] += 1
            if seen[line, change] > 1:
                change += f" ({seen[line, change]})"
            source = text.replace(own, mutated, 1).encode()
            yield Mutant(name, changed_in, asked, line, lines[line - 1].strip(), change, source)


def _functions(module: cst.Module) -> dict[str, cst.FunctionDef]:
    return {part.name.value: part for part in module.body if isinstance(part, cst.FunctionDef)}


class _Walk(cst.CSTVisitor):
    """All slips in a function: pairs of a node and what stands in its place."""

    def __init__(self, function: cst.FunctionDef, private: bool, checking: set[str], modules: set[str]) -> None:
        self.found: list[tuple[cst.CSTNode, cst.CSTNode]] = []
        self._checking, self._modules, self._docstring = checking, modules, function.get_docstring() or ""
        self._bound = {parameter.name.value for parameter in function.params.params}
        self._needed = needed(statements_of(function.body), self._skips)
        if private:
            function.params.visit(self)
        function.body.visit(self)

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.BaseStatement) and self._skips(node):
            return False
        if isinstance(node, cst.Annotation | cst.WithItem | cst.Raise | cst.SimpleString | cst.FormattedString):
            return False
        if self._is_check(node):
            return False
        if isinstance(node, cst.SimpleStatementLine):
            if stores(node) and not stores(node) & self._needed:
                return False
            if self._can_be_dropped(node):
                self.found.append((node, node.with_changes(body=[cst.Pass()])))
            self._bound |= stores(node)
        self.found += mutations(node, self._modules)
        return not (isinstance(node, cst.Arg) and node.keyword and node.keyword.value in ("axis", "dim"))

    def _skips(self, statement: cst.CSTNode) -> bool:
        """Whether a statement is a guard, or a loop over guards, that is not graded."""
        if isinstance(statement, cst.For):
            return all(self._skips(part) for part in statements_of(statement.body))
        message = refusal(statement)
        argument = message.partition(":")[0] if message is not None else ""
        graded = re.search(rf"\b{re.escape(argument)}\b[^;.()]*\(graded\)", self._docstring) if argument else None
        return message is not None and not graded

    def _can_be_dropped(self, line: cst.SimpleStatementLine) -> bool:
        """A call for its effect, a change in place, or a new value for a name that has one; checks aside."""
        match line.body[0]:
            case cst.AugAssign():
                return True
            case cst.Expr(value=cst.Call() as call):
                return not self._is_check(call)
            case cst.Assign(targets=[cst.AssignTarget(target=target), *_], value=value):
                values = [part.value for part in value.elements] if isinstance(value, cst.Tuple) else [value]
                again = stores(line) <= self._bound or isinstance(target, cst.Subscript)
                return again and not all(map(self._is_check, values))
        return False

    def _is_check(self, node: cst.CSTNode) -> bool:
        return isinstance(node, cst.Call) and name_of(node.func) in self._checking


def _reached(name: str, functions: Mapping[str, cst.FunctionDef], private: set[str]) -> set[str]:
    """The private functions that a function calls, directly or through private ones."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        new = (loads(functions[waiting.pop()].body) & private) - found
        found |= new
        waiting += sorted(new)
    return found


def _imported_modules(module: cst.Module) -> set[str]:
    """The names that `import numpy as np` and its like bind."""
    lines = [part for part in module.body if isinstance(part, cst.SimpleStatementLine)]
    nodes = [node for line in lines for node in line.body if isinstance(node, cst.Import)]
    return {alias.evaluated_alias or alias.evaluated_name.partition(".")[0] for node in nodes for alias in node.names}


def _described(module: cst.Module, old: cst.CSTNode, new: cst.CSTNode) -> str:
    if isinstance(old, cst.SimpleStatementLine):  # without the comment at its end
        return f"`{_on_one_line(module, old.body[0])}` is dropped"
    return f"`{_on_one_line(module, old)}` becomes `{_on_one_line(module, new)}`"


def _on_one_line(module: cst.Module, node: cst.CSTNode) -> str:
    return " ".join(module.code_for_node(node).split())
