"""Files of a course that the proof is handed by path."""

import importlib.util
from pathlib import Path
from types import ModuleType


def import_file(path: Path) -> ModuleType:
    """The module in the file at `path`, run anew; it does not become importable by name."""
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}.{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
