"""Helpers of the store tests: an environment, a changelog in a list, a recording listener."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock.model.record import Headers, RecordContext
from penstock.serde.base import SerdeDefaults
from penstock.serde.serdes import Serdes
from penstock.state.bytes_store import BytesStore
from penstock.state.engine.memory import MemoryStore
from penstock.state.environment import StoreEnvironment
from penstock.state.layers.cache import RecordCache
from penstock.state.open import open_key_value_store
from penstock.state.spec import StoreKind, StoreSpec

Logged = tuple[bytes, bytes | None, int]


class ListLog:
    """A changelog in memory."""

    def __init__(self) -> None:
        self.records: list[Logged] = []
        #: The headers of each record.
        self.headers: list[Headers] = []

    def append(
        self, key: bytes, value: bytes | None, timestamp: int, headers: Headers = ()
    ) -> None:
        self.records.append((key, value, timestamp))
        self.headers.append(headers)

    def append_all(
        self,
        keys: Sequence[bytes],
        values: Sequence[bytes | None],
        timestamps: Sequence[int],
    ) -> None:
        self.records.extend(zip(keys, values, timestamps, strict=True))
        self.headers.extend(() for _ in keys)

    def latest(self) -> dict[bytes, tuple[bytes | None, int]]:
        return {key: (value, timestamp) for key, value, timestamp in self.records}


class Task:
    """One task's worth of store environment: context, changelogs by store, cache."""

    def __init__(
        self,
        cache_bytes: int | None = None,
        engine: Callable[[str], BytesStore] = lambda name: MemoryStore(),
    ) -> None:
        self.context = RecordContext(0, 0, 0, "in")
        self.cache = None if cache_bytes is None else RecordCache(cache_bytes)
        self.logs: dict[str, ListLog] = {}
        self.env = StoreEnvironment(
            context=self.context,
            defaults=SerdeDefaults(Serdes.string(), Serdes.string()),
            engine=engine,
            changelog=lambda store: self.logs.setdefault(store, ListLog()),
            cache=self.cache,
        )

    def at(self, timestamp: int, offset: int = 0, headers: Headers = ()) -> Task:
        self.context.timestamp = timestamp
        self.context.offset = offset
        self.context.headers = headers
        return self

    def open(self, spec: StoreSpec) -> Any:
        return open_key_value_store(spec, self.env)


def kv(name: str = "store", **fields: Any) -> StoreSpec:
    kind = fields.pop("kind", StoreKind.KEY_VALUE)
    return StoreSpec(name=name, kind=kind, **{"persistent": False, **fields})


class Forwarded:
    """A flush listener that keeps what it was told, with the context it was told it in."""

    def __init__(self, task: Task) -> None:
        self._context = task.context
        self.changes: list[tuple[Any, Any, Any]] = []
        self.contexts: list[RecordContext] = []
        self.timestamps: list[int] = []

    def __call__(self, key: Any, new: Any, old: Any, timestamp: int, headers: Headers) -> None:
        self.changes.append((key, new, old))
        self.timestamps.append(timestamp)
        self.contexts.append(self._context.copy())
