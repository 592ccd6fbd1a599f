"""Loads a user's program for its topology, without running the application in it."""

from __future__ import annotations

import runpy
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

import penstock
from penstock.errors import InvalidArgumentError, PenstockError, StreamsError
from penstock.topology.topology import Topology

#: What a program may call its topology, in the order in which they are looked for.
NAMES = ("topology", "builder", "build")


class _Started(BaseException):
    """The program got to its application; what is of interest is the topology it gave."""

    def __init__(self, topology: Any) -> None:
        super().__init__(topology)
        self.topology = topology


class _Recorder:
    """Stands for ``KafkaStreams`` while a program is loaded: nothing is ever started."""

    def __init__(self, topology: Any, *_: Any, **__: Any) -> None:
        raise _Started(topology)


def load_topology(program: str) -> Topology:
    """Gives the topology of ``app.py``, or of the name in ``app.py:name``.

    The program runs under another name than ``__main__`` and stops where it makes a
    ``KafkaStreams``.

    Raises:
        typer.BadParameter: there is no such file.
        InvalidArgumentError: ``no-topology``, with the names that are looked for.
        StreamsError: ``program-failed``, with the line that raised.
    """
    path, name = _split(program)
    with _stand_in(), _beside(path):
        try:
            found = _named(runpy.run_path(str(path), run_name="__penstock__"), path, name)
            made = found() if callable(found) and not hasattr(found, "build") else found
            made = made.build() if hasattr(made, "build") else made
        except _Started as started:
            made = started.topology
        except PenstockError:
            raise
        except SystemExit as end:
            raise _failed(path, end, "ended itself") from None
        except Exception as error:
            raise _failed(path, error, f"raised {error!r}") from error
    if not isinstance(made, Topology):
        raise _no_topology(path, f"{name or 'what it offers'} is a {type(made).__name__}")
    return made


def _split(program: str) -> tuple[Path, str | None]:
    text, colon, name = program.rpartition(":")
    path, wanted = (Path(text), name) if colon and name.isidentifier() else (Path(program), None)
    if not path.is_file():
        raise typer.BadParameter(f"there is no file {str(path)!r}", param_hint="APP.PY")
    return path, wanted


def _named(scope: dict[str, Any], path: Path, name: str | None) -> Any:
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


def _failed(path: Path, error: BaseException, what: str) -> StreamsError:
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename) == path
    ]
    at = f"{path}:{lines[-1]}" if lines else str(path)
    return StreamsError(
        "program-failed",
        f"{str(path)!r} {what} while it was loaded",
        fix=f"correct the line; python {path} shows the whole traceback",
        at=at,
    )


@contextmanager
def _stand_in() -> Iterator[None]:
    """Puts the recorder where programs import ``KafkaStreams`` from."""
    real = getattr(penstock, "KafkaStreams", None)
    if real is None:
        yield
        return
    setattr(penstock, "KafkaStreams", _Recorder)  # noqa: B010
    try:
        yield
    finally:
        setattr(penstock, "KafkaStreams", real)  # noqa: B010


@contextmanager
def _beside(path: Path) -> Iterator[None]:
    """Lets the program import its neighbours, as ``python app.py`` would."""
    folder, arguments = str(path.absolute().parent), sys.argv
    sys.path.insert(0, folder)
    sys.argv = [str(path)]
    try:
        yield
    finally:
        sys.path.remove(folder)
        sys.argv = arguments
