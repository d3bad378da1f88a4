"""A tree of modules, imported from memory under one package name.

Inside, `from .closed_form import kl`, `from student.closed_form import kl` and `from closed_form import kl` yield the
same module. The package is found before a folder of that name on the path; bare names are found last, so that a file of
the tree never stands in for a library.
"""

import functools
import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType
from typing import Any

from harness.source import text_of

PACKAGE = "student"


class Tree:
    """Modules by name, from their sources; making one puts it in the place of any earlier one in this process.

    sources: the bytes of each module. folder: what stands before `name.py` in tracebacks. lent: functions that stand in
    for a broken module where another one imports it.
    """

    def __init__(self, sources: Mapping[str, bytes], folder: str = "") -> None:
        self.sources, self.folder = dict(sources), folder
        self.lent: dict[str, Callable[..., Any]] = {}
        self.asked = ""
        self.failed: dict[str, BaseException] = {}
        # Not by a walk through sys.modules: in a forked child it would copy every page that holds a module's name.
        stale = {PACKAGE, *(f"{PACKAGE}.{name}" for name in self.sources)}
        for finder in [finder for finder in sys.meta_path if isinstance(finder, _Finder | _BareNames)]:
            sys.meta_path.remove(finder)
            stale |= finder.served
        for name in stale:
            sys.modules.pop(name, None)
        sys.meta_path.insert(0, _Finder(self))
        sys.meta_path.append(_BareNames(self))

    def module(self, name: str) -> ModuleType:
        """The module `name`; raises what its import raised, each time the same."""
        if name in self.failed:
            raise self.failed[name]
        self.asked = name
        try:
            return importlib.import_module(f"{PACKAGE}.{name}")
        except BaseException as error:
            self.failed[name] = error
            raise

    def filename(self, name: str) -> str:
        """What tracebacks call the module."""
        return f"{self.folder}{name}.py"

    def loaded(self) -> list[ModuleType]:
        """The modules of the tree that were imported so far."""
        return [sys.modules[full] for name in self.sources if (full := f"{PACKAGE}.{name}") in sys.modules]


class _Finder(MetaPathFinder):
    """First on sys.meta_path: the package and its modules."""

    def __init__(self, tree: Tree) -> None:
        self._tree, self.served = tree, {f"{PACKAGE}.{name}" for name in tree.sources}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name == PACKAGE:
            return ModuleSpec(name, _Package(self._tree), is_package=True)
        if name in self.served:
            module = name.rpartition(".")[2]
            return ModuleSpec(name, _Source(self._tree, module), origin=self._tree.filename(module))
        return None


class _BareNames(MetaPathFinder):
    """Last on sys.meta_path: `import closed_form` is `student.closed_form`, unless a library has the name."""

    def __init__(self, tree: Tree) -> None:
        self._tree, self.served = tree, set[str]()

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in self._tree.sources:
            return None
        self.served.add(name)
        return ModuleSpec(name, _Alias(f"{PACKAGE}.{name}"))


class _Package(Loader):
    """The package itself: its `__init__.py`, if the tree has one."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    def exec_module(self, module: ModuleType) -> None:
        if "__init__" in self._tree.sources:
            _run(self._tree, "__init__", module)


class _Source(Loader):
    """A module of the tree."""

    def __init__(self, tree: Tree, name: str) -> None:
        self._tree, self._name = tree, name

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = self._tree.filename(self._name)
        try:
            _run(self._tree, self._name, module)
        except (Exception, SystemExit) as error:
            if not self._tree.lent or self._name == self._tree.asked:
                raise
            # A broken helper costs its own marks. Its other names are aliases of types and data of demos.
            self._tree.failed[self._name] = error
            vars(module).update(self._tree.lent, __getattr__=lambda name: Any)


class _Alias(Loader):
    """A module of the tree under its bare name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self._name)
        self._own_spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run; but the import system gave the module the alias's spec, which relative imports would read."""
        module.__spec__ = self._own_spec


def _run(tree: Tree, name: str, module: ModuleType) -> None:
    exec(_compiled(tree.sources[name], tree.filename(name)), module.__dict__)


@functools.lru_cache(maxsize=256)
def _compiled(source: bytes, filename: str) -> CodeType:
    """A tree is made anew for each fact, mostly of sources that were compiled for the last: 25 ms for the reference."""
    return compile(text_of(source), filename, "exec", dont_inherit=True)
