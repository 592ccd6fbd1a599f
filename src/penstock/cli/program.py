"""Load a user's program: its topology, its settings, and its functions for a demonstration."""

from __future__ import annotations

import importlib.util
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import cloudpickle
import typer

import penstock
from penstock.errors import InvalidArgumentError, PenstockError, StreamsError
from penstock.model.site import raising_site
from penstock.topology.topology import Topology

#: The names that a program may use for its topology, in the order in which they are tried.
NAMES = ("topology", "builder", "build")


@dataclass(frozen=True, slots=True)
class LoadedProgram:
    """A program's topology and, if the file defines them, its settings and its functions."""

    path: Path
    topology: Topology
    config: Mapping[str, Any] = field(default_factory=dict)
    #: Called with the address of a private broker before the start, to fill it with samples.
    prepare: Callable[[str], object] | None = None
    #: Called with the running application at the end of a demonstration, to ask its stores.
    show: Callable[[Any], object] | None = None
    #: Yields sample records, which a private broker gets for as long as the program runs.
    samples: Callable[[], Iterable[Any]] | None = None


class _Made(BaseException):
    """Raised where a program creates ``KafkaStreams``; carries the topology and the settings."""

    def __init__(self, topology: Any, config: Any) -> None:
        super().__init__(topology, config)
        self.topology = topology
        self.config = config


class _Recorder:
    """Stand in for ``KafkaStreams`` while a program is loaded, so that nothing is started."""

    def __init__(self, topology: Any, config: Any = None, *_: Any, **__: Any) -> None:
        raise _Made(topology, config)


def load_program(program: str) -> LoadedProgram:
    """Load ``app.py``, or ``app.py:name`` for a topology of another name.

    The file is imported, so code under ``if __name__ == "__main__"`` does not run. Without such a
    guard, the program runs until it creates a ``KafkaStreams``, and stops there.

    Raises:
        typer.BadParameter: there is no such file.
        InvalidArgumentError: ``no-topology``, with the names that are looked for.
        StreamsError: ``program-failed``, with the line that raised.
    """
    path, name = _split(program)
    module = _module(path)
    config: Any = None
    with _recording(), _beside(path):
        try:
            assert module.__spec__ is not None
            assert module.__spec__.loader is not None
            module.__spec__.loader.exec_module(module)
            made = _built(_named(vars(module), path, name))
        except _Made as application:
            made, config = application.topology, application.config
        except PenstockError:
            raise
        except SystemExit as end:
            raise _failed(path, end, "ended itself") from None
        except Exception as error:
            raise _failed(path, error, f"raised {_text(error)}") from error
    if not isinstance(made, Topology):
        raise _no_topology(path, f"{name or 'what it offers'} is a {type(made).__name__}")
    return LoadedProgram(
        path,
        made,
        _config(path, config if config is not None else getattr(module, "config", None)),
        getattr(module, "prepare", None),
        getattr(module, "show", None),
        _function(module, "samples"),
    )


def program_path(program: str) -> Path:
    """Return the file of ``app.py`` or ``app.py:name``.

    Raises:
        typer.BadParameter: there is no such file.
    """
    return _split(program)[0]


def _module(path: Path) -> ModuleType:
    """Return a module for the file, registered under a name that no other module has.

    The folder is part of the name: many programs are called ``app.py``. Python looks up type
    annotations in quotes there. Workers cannot import it, so its functions and classes are pickled
    by value.
    """
    places = path.absolute().with_suffix("").parts[-2:]
    name = "penstock_app_" + re.sub(r"\W", "_", "_".join(places))
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    cloudpickle.register_pickle_by_value(module)
    return module


def _function(module: ModuleType, name: str) -> Callable[[], Iterable[Any]] | None:
    """Return a function of the program; a variable of the same name is the program's own affair."""
    found = getattr(module, name, None)
    return found if callable(found) else None


def _built(found: Any) -> Any:
    made = found() if callable(found) and not hasattr(found, "build") else found
    return made.build() if hasattr(made, "build") else made


def _config(path: Path, given: Any) -> Mapping[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InvalidArgumentError(
            "bad-config",
            f"config of {str(path)!r} is a {type(given).__name__}",
            fix="make it a dictionary of settings by their Kafka names",
        )
    return dict(given)


def _split(program: str) -> tuple[Path, str | None]:
    text, colon, name = program.rpartition(":")
    path, wanted = (Path(text), name) if colon and name.isidentifier() else (Path(program), None)
    if not path.is_file():
        raise typer.BadParameter(f"there is no file {str(path)!r}", param_hint="APP.PY")
    return path, wanted


def _named(scope: Mapping[str, Any], path: Path, name: str | None) -> Any:
    for candidate in (name,) if name else NAMES:
        if scope.get(candidate) is not None:
            return scope[candidate]
    raise _no_topology(path, f"it has no {name or ', '.join(NAMES)}")


def _no_topology(path: Path, why: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        "no-topology",
        f"{str(path)!r} has no topology: {why}",
        fix="give the file a variable topology or builder, or a function build(), that is made"
        f" when it is imported, or name another one with {path.name}:NAME",
    )


def _text(error: Exception) -> str:
    """Return the error without what the line says: a syntax error carries its file and line."""
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}({error.msg!r})"
    return repr(error)


def _failed(path: Path, error: BaseException, what: str) -> StreamsError:
    # A module knows its file by the absolute path, whatever the user typed.
    file = path.absolute()
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename) == file
    ]
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename) == file:
        lines.append(error.lineno or 1)
    return StreamsError(
        "program-failed",
        f"{str(path)!r} {what} while it was loaded",
        fix=f"correct the line; python {path} shows the whole traceback",
        at=f"{path}:{lines[-1]}" if lines else raising_site(error) or str(path),
    )


@contextmanager
def _recording() -> Iterator[None]:
    """Replace ``KafkaStreams`` by the recorder where programs import it, without loading Spark."""
    scope = vars(penstock)
    real = scope.get("KafkaStreams")
    scope["KafkaStreams"] = _Recorder
    try:
        yield
    finally:
        if real is None:
            del scope["KafkaStreams"]
        else:
            scope["KafkaStreams"] = real


@contextmanager
def _beside(path: Path) -> Iterator[None]:
    """Let the program import modules from its own folder, as with ``python app.py``."""
    folder, arguments = str(path.absolute().parent), sys.argv
    sys.path.insert(0, folder)
    sys.argv = [str(path)]
    try:
        yield
    finally:
        sys.path.remove(folder)
        sys.argv = arguments
