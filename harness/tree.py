"""A tree of modules, imported from any folder under one package name.

Inside, `from .closed_form import kl`, `from student.closed_form import kl` and `from closed_form import kl` yield the
same module, whatever the folder is called.
"""

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

PACKAGE = "student"


class Tree:
    """The modules of `folder`, imported on demand; an import that failed fails again without running twice."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self._failed: dict[str, BaseException] = {}
        self._install()

    def module(self, name: str) -> ModuleType:
        """The module `name` of the tree; raises whatever its import raised."""
        if name in self._failed:
            raise self._failed[name]
        try:
            return importlib.import_module(f"{PACKAGE}.{name}")
        except BaseException as error:
            self._failed[name] = error
            raise

    def _install(self) -> None:
        """Make this the tree that PACKAGE means, in place of any earlier one."""
        for finder in [finder for finder in sys.meta_path if isinstance(finder, _BareImports)]:
            sys.meta_path.remove(finder)
            for name in finder.served:
                sys.modules.pop(name, None)
        for name in [name for name in sys.modules if name == PACKAGE or name.startswith(f"{PACKAGE}.")]:
            del sys.modules[name]
        importlib.invalidate_caches()
        package = ModuleType(PACKAGE)
        package.__path__ = [str(self.folder)]
        package.__spec__ = ModuleSpec(PACKAGE, None, is_package=True)
        sys.modules[PACKAGE] = package
        sys.meta_path.append(_BareImports(self.folder))


class _BareImports(MetaPathFinder):
    """Last on sys.meta_path: `import closed_form` of a module of the tree is `student.closed_form`."""

    def __init__(self, folder: Path) -> None:
        self._folder, self.served = folder, set[str]()

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if path is not None or not (self._folder / f"{name}.py").is_file():
            return None
        self.served.add(name)
        return ModuleSpec(name, _Alias(f"{PACKAGE}.{name}"))


class _Alias(Loader):
    """A loader that hands out a module under a second name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self._name)
        self._own_spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run; but the import system gave the module the alias's spec, which relative imports would read."""
        module.__spec__ = self._own_spec
