"""``penstock run --reload``: run a program again whenever one of its files changes.

Kafka and Spark stay up between the runs. On a private broker each run reads its input from the
beginning, and what it writes differently from the last one is shown. On any other broker the state
stays, as long as it fits the program.
"""

from __future__ import annotations

import importlib
import linecache
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import typer

from penstock.cli.live.difference import Differences
from penstock.cli.live.sample_feed import Sample, samples_of
from penstock.cli.output import err, print_error, print_note
from penstock.cli.program import LoadedProgram, program_path
from penstock.cli.quiet import JavaLog
from penstock.cli.snapshot import Snapshot
from penstock.config import APPLICATION_ID, StreamsConfig
from penstock.errors import PenstockError

_LOOK_EVERY_S = 0.3
#: How long the end waits for Spark, which may not answer any more.
_SPARK_S = 10.0
#: How long a changed program may take for the samples that were written before the change.
_REST_S = 5.0
_SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages", "venv"})
_WATCHED = (".py", ".sql", ".json", ".avsc", ".proto")
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


class Feed(Protocol):
    """Sample records that are written while a program runs; ``SampleFeed`` is one."""

    def pause(self) -> None: ...
    def resume(self, samples: Iterator[Sample] | None) -> None: ...


@dataclass(slots=True)
class Reloading:
    """The runs of one program, one after the other.

    Args:
        program: what the user typed, ``app.py`` or ``app.py:name``.
        load: loads the program.
        settings: returns the settings of a loaded program.
        run: runs it until a function is true.
        begins_anew: whether each run is an application of its own, without state, that reads its
            input from the beginning: true for a private broker, which has only sample data.
        forget: removes what the last run has left in Kafka, so that the next one begins anew under
            the same name; None keeps it.
        feed: writes the samples of the program; it rests while two runs are compared.
    """

    program: str
    load: Callable[[str], LoadedProgram]
    settings: Callable[[LoadedProgram], Mapping[str, Any]]
    run: RunOnce
    begins_anew: bool
    forget: Callable[[Mapping[str, Any]], None] | None = None
    feed: Feed | None = None
    _attempt: int = field(default=0, init=False)
    _differences: Differences = field(default_factory=Differences, init=False)

    def run_all(self) -> None:
        """Run the program until a signal ends it; a change of a file starts it again."""
        folder = program_path(self.program).absolute().parent
        changes = FileChanges(folder)
        sys.dont_write_bytecode = True
        with _sigterm_interrupts():
            while self._run_to_a_change(changes):
                print_note(f"changed: {', '.join(changes.accept())}; loading it again")
                forget_modules(folder)

    def _run_to_a_change(self, changes: FileChanges) -> bool:
        """Run once, and return whether a changed file has ended the run."""
        try:
            return self._run_loaded(self.load(self.program), changes)
        except PenstockError as error:
            print_error(error)
        except typer.BadParameter as missing:
            # Some editors remove the file before they write it again.
            print_note(missing.message)
        if self.feed is not None:
            self.feed.pause()
        print_note("waiting for a change; Ctrl-C ends")
        try:
            changes.wait()
        except KeyboardInterrupt:
            return False
        return True

    def _run_loaded(self, loaded: LoadedProgram, changes: FileChanges) -> bool:
        self._attempt += 1
        settings = self._named(loaded)
        if self._attempt > 1 and self.forget is not None:
            self.forget(settings)
        compared = None
        if self.begins_anew or self.forget is not None:
            compared = self._differences
            compared.begin(loaded, settings)
        # The first run goes on with the samples of which some are written already.
        is_first = self._attempt == 1
        run = _Run(changes, compared, self.feed, None if is_first else samples_of(loaded))
        if is_first:
            run.resume_feed()
        self.run(loaded, settings, run.is_over)
        return run.end()

    def _named(self, loaded: LoadedProgram) -> Mapping[str, Any]:
        settings = dict(self.settings(loaded))
        if self._attempt > 1 and self.begins_anew:
            settings[APPLICATION_ID.name] = f"{settings[APPLICATION_ID.name]}-{self._attempt}"
        return settings


@dataclass(slots=True)
class _Run:
    """One run: says when it is over, and lets the samples rest while it is compared."""

    changes: FileChanges
    compared: Differences | None
    feed: Feed | None
    samples: Iterator[Sample] | None
    _rests_since: float | None = None
    _is_fed: bool = False
    _has_settled: bool = False

    def resume_feed(self) -> None:
        if self.feed is not None and not self._is_fed:
            self._is_fed = True
            self.feed.resume(self.samples)

    def is_over(self, snapshot: Snapshot) -> bool:
        """Return whether a change has ended the run, and its samples are processed."""
        if self._rests_since is not None:
            return self._is_processed(snapshot, self._rests_since)
        if self.changes.happened():
            if self.compared is None or self.feed is None:
                return True
            self.feed.pause()
            self.compared.wait_anew()
            self._rests_since = time.monotonic()
            return False
        if self.compared is None or self.compared.look(snapshot):
            self.resume_feed()
        return False

    def end(self) -> bool:
        """Read the rest of the output if a change has ended the run; return whether one has."""
        is_changed = self._rests_since is not None or self.changes.are_there()
        if is_changed and self.compared is not None:
            self.compared.end(has_settled=self._has_settled)
        return is_changed

    def _is_processed(self, snapshot: Snapshot, since: float) -> bool:
        assert self.compared is not None
        self._has_settled = self.compared.has_settled(snapshot)
        return self._has_settled or time.monotonic() - since > _REST_S


@contextmanager
def _sigterm_interrupts() -> Iterator[None]:
    """Treat SIGTERM as Ctrl-C, so that the broker and its note are removed in good order."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    former = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)


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
