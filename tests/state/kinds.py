"""Specs and helpers for tests of window, session and versioned stores."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from penstock.state.bytes_store import BytesStore
from penstock.state.engine.memory import MemoryStore
from penstock.state.engine.rocks import open_rocks
from penstock.state.open import open_store
from penstock.state.spec import StoreKind, StoreSpec
from tests.state.kit import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderedSpec(StoreSpec):
    """A spec that can ask for the layout of final results, as the DSL's does."""

    time_ordered: bool = False


def window(**fields: Any) -> OrderedSpec:
    """A persistent window store: windows of 10 ms, kept for 100 ms, in segments of 25 ms."""
    given = {"retention_ms": 100, "window_size_ms": 10, "segment_interval_ms": 25, **fields}
    kind = given.pop("kind", StoreKind.WINDOW)
    return OrderedSpec(name="store", kind=kind, **given)


def session(**fields: Any) -> OrderedSpec:
    """A persistent session store: sessions kept for 100 ms, in segments of 25 ms."""
    given = {"retention_ms": 100, "segment_interval_ms": 25, **fields}
    return OrderedSpec(name="store", kind=StoreKind.SESSION, **given)


def versioned(**fields: Any) -> StoreSpec:
    """A versioned store: a history of 100 ms, in segments of 30 ms."""
    given = {"history_retention_ms": 100, "segment_interval_ms": 30, **fields}
    return StoreSpec(name="store", kind=StoreKind.VERSIONED_KEY_VALUE, **given)


class Bench:
    """One store in its own task, over an engine that can be looked into and opened again."""

    def __init__(
        self, spec: StoreSpec, directory: Path | None = None, cache_bytes: int | None = None
    ) -> None:
        self.spec = spec
        self.directory = directory
        self.cache_bytes = cache_bytes
        self.dropped = 0
        self.engine: BytesStore = self._open_engine()
        self.task = Task(cache_bytes, lambda name: self.engine)
        self.task.env.expired = self._count_dropped
        self.store: Any = open_store(spec, self.task.env)

    def _open_engine(self) -> BytesStore:
        if self.directory is None:
            return MemoryStore()
        return open_rocks(self.directory / "store", "store")

    def _count_dropped(self, store: str) -> None:
        assert store == "store"
        self.dropped += 1

    @property
    def logged(self) -> list[tuple[bytes, bytes | None, int]]:
        return self.task.logs["store"].records if "store" in self.task.logs else []

    def physical_entries(self) -> int:
        return sum(1 for _ in self.engine.scan(None, None))

    def reopen(self) -> None:
        """Closes the store and opens it again from what is on disk."""
        self.store.flush()
        self.store.close()
        self.engine = self._open_engine()
        self.store = open_store(self.spec, self.task.env)


@contextmanager
def on_disk(spec: StoreSpec, cache_bytes: int | None = None) -> Iterator[Bench]:
    directory = Path(mkdtemp(prefix="penstock-state-"))
    bench = Bench(spec, directory, cache_bytes)
    try:
        yield bench
    finally:
        bench.store.close()
        shutil.rmtree(directory)
