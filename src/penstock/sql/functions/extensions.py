"""Functions of users from a folder: every ``.py`` file in it may define some."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

from penstock.model.sql.errors import AnalysisError
from penstock.sql.functions.registry import FunctionRegistry
from penstock.sql.functions.user import UserFunction


def load_extensions(folder: Path, registry: FunctionRegistry) -> list[str]:
    """Adds the functions of every file in a folder, in order of names, and gives their names.

    Raises:
        AnalysisError: a file cannot be run; the functions of files before it are there.
    """
    names = []
    for file in sorted(folder.glob("*.py")):
        for function in vars(_load(file)).values():
            if isinstance(function, UserFunction):
                function.register(registry)
                names.append(function.name)
    return names


def _load(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"penstock_extension_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    # The file is the user's own code: whatever it raises is reported with the file's name.
    except Exception as error:
        raise AnalysisError(
            "bad-extension", f"functions of {file.name!r} cannot be loaded: {error!r}", at=str(file)
        ) from error
    return module
