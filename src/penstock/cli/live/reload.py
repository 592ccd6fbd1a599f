"""``penstock run --reload``: run a program again whenever one of its files changes.

Kafka and Spark stay up between the runs. The state stays, too, as long as it fits the program.
"""

from __future__ import annotations

import importlib
import linecache
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.cli.output import err, print_error, print_note
from penstock.cli.program import LoadedProgram, program_path
from penstock.cli.quiet import JavaLog
from penstock.cli.snapshot import Snapshot
from penstock.config import APPLICATION_ID, StreamsConfig
from penstock.errors import PenstockError

_LOOK_EVERY_S = 0.3
#: How long the end waits for Spark, which may not answer any more.
_SPARK_S = 10.0
_SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages", "venv"})
_WATCHED = (".py", ".sql", ".json", ".avsc", ".proto")
#: Codes of errors that say that the state belongs to another plan.
_OTHER_PLAN = ("plan-changed", "partition-count-changed")

#: Runs the program with settings until the function is true.
RunOnce = Callable[[LoadedProgram, Mapping[str, Any], Callable[[Snapshot], bool]], object]


class FileChanges:
    """Notice that a file of a folder was written, added or removed since the last look."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen = self._look()
        self._next_look = 0.0

    def happened(self) -> bool:
        """Return whether there was a change; look at the files a few times per second at most."""
        if time.monotonic() < self._next_look:
            return False
        self._next_look = time.monotonic() + _LOOK_EVERY_S
        return self.are_there()

    def are_there(self) -> bool:
        """Return whether there was a change; look at the files now."""
        return self._look() != self._seen

    def accept(self) -> list[str]:
        """Take the files as they are now, and return the names of those that have changed."""
        before, self._seen = self._seen, self._look()
        names = {
            path for path in {*before, *self._seen} if before.get(path) != self._seen.get(path)
        }
        return sorted(path.name for path in names)

    def wait(self) -> None:
        """Wait for a change; Ctrl-C ends the waiting with ``KeyboardInterrupt``."""
        while not self.happened():
            time.sleep(_LOOK_EVERY_S)

    def _look(self) -> dict[Path, tuple[int, int]]:
        return dict(_stamps(self._folder))


@dataclass(slots=True)
class Reloading:
    """The runs of one program, one after the other.

    Args:
        program: what the user typed, ``app.py`` or ``app.py:name``.
        load: loads the program.
        settings: returns the settings of a loaded program.
        run: runs it until a function is true.
        begins_anew: whether the program may start with new state if its state does not fit it any
            more: true for a private broker, which has only sample data.
    """

    program: str
    load: Callable[[str], LoadedProgram]
    settings: Callable[[LoadedProgram], Mapping[str, Any]]
    run: RunOnce
    begins_anew: bool
    _attempt: int = field(default=1, init=False)

    def run_all(self) -> None:
        """Run the program until a signal ends it; a change of a file starts it again."""
        changes = FileChanges(program_path(self.program).absolute().parent)
        sys.dont_write_bytecode = True
        while self._run_to_a_change(changes):
            print_note(f"changed: {', '.join(changes.accept())}; loading it again")
            forget_modules(program_path(self.program).absolute().parent)

    def _run_to_a_change(self, changes: FileChanges) -> bool:
        """Run once, and return whether a changed file has ended the run."""
        try:
            loaded = self.load(self.program)
            return self._run_loaded(loaded, changes)
        except PenstockError as error:
            print_error(error)
        print_note("waiting for a change; Ctrl-C ends")
        try:
            changes.wait()
        except KeyboardInterrupt:
            return False
        return True

    def _run_loaded(self, loaded: LoadedProgram, changes: FileChanges) -> bool:
        while True:
            try:
                self.run(loaded, self._named(loaded), lambda snapshot: changes.happened())
                return changes.are_there()
            except PenstockError as error:
                if error.code not in _OTHER_PLAN or not self.begins_anew:
                    raise
                print_note(f"the state does not fit the program any more: {error.message}")
                print_note("it starts with new state, and reads its input from the beginning")
                self._attempt += 1

    def _named(self, loaded: LoadedProgram) -> Mapping[str, Any]:
        settings = dict(self.settings(loaded))
        if self._attempt > 1:
            settings[APPLICATION_ID.name] = f"{settings[APPLICATION_ID.name]}-{self._attempt}"
        return settings


@contextmanager
def kept_spark(config: StreamsConfig) -> Iterator[None]:
    """Start Spark for all runs inside a ``with`` block; each of them then starts in a moment."""
    # This imports pyspark, which other commands do not need.
    session = importlib.import_module("penstock.runtime.spark.driver.session")
    log = JavaLog()
    with err().status("starting Spark"), log.taking_stderr():
        spark, _ = session.spark_session(config)
    try:
        yield
    finally:
        session.stop_session(spark, _SPARK_S)
        log.close(keep=False)


def forget_modules(folder: Path) -> None:
    """Forget the modules of a folder, so that the next import reads their files again."""
    importlib.invalidate_caches()
    linecache.checkcache()
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file is None or name.partition(".")[0] in ("penstock", "__main__"):
            continue
        path = Path(file)
        if path.is_relative_to(folder) and not _is_skipped(path.relative_to(folder)):
            del sys.modules[name]


def _stamps(folder: Path) -> Iterator[tuple[Path, tuple[int, int]]]:
    for where, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not _is_skipped(Path(name))]
        for name in files:
            if name.endswith(_WATCHED):
                path = Path(where, name)
                try:
                    found = path.stat()
                except FileNotFoundError:
                    # An editor has just replaced it.
                    continue
                yield path, (found.st_mtime_ns, found.st_size)


def _is_skipped(path: Path) -> bool:
    return any(part.startswith(".") or part in _SKIPPED for part in path.parts)
