"""Users' functions from a folder: every ``.py`` file in it may define some."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType

from penstock.model.sql.errors import AnalysisError
from penstock.sql.functions.registry import FunctionRegistry
from penstock.sql.functions.user import UserFunction


def load_extensions(folder: Path, registry: FunctionRegistry) -> list[str]:
    """Add the functions of every file in a folder, in order of names, and return their names.

    Raises:
        AnalysisError: a file cannot be run. The functions of earlier files stay added.
    """
    names = []
    for file in sorted(folder.glob("*.py")):
        for function in vars(_load(file)).values():
            if isinstance(function, UserFunction):
                function.register(registry)
                names.append(function.name)
    return names


def _load(file: Path) -> ModuleType:
    # The module name must not begin with that of this package: workers have the package, but not
    # the file.
    spec = importlib.util.spec_from_file_location(f"sql_extension_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # A dataclass resolves its type hints in the module that ``sys.modules`` has under this name.
    sys.modules[module.__name__] = module
    try:
        spec.loader.exec_module(module)
    except AnalysisError:
        # The error of a refused declaration already names its line.
        raise
    # The file is the user's own code: whatever it raises is reported with the file's name.
    except Exception as error:
        raise AnalysisError(
            "bad-extension",
            f"functions of {file.name!r} cannot be loaded: {type(error).__name__}: {error}",
            at=_place(error, file),
        ) from error
    return module


def _place(error: Exception, file: Path) -> str:
    """Return the file, with its last line in the traceback."""
    line = error.lineno if isinstance(error, SyntaxError) else None
    for frame in traceback.extract_tb(error.__traceback__):
        if Path(frame.filename) == file:
            line = frame.lineno
    return f"{file}:{line}" if line else str(file)
