"""Every kind of store opens from its spec, with the layers that the spec asks for.

Exercises ``state.environment`` and ``state.protocols``.
"""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import StreamsError
from penstock.model.versioned import ValueAndTimestamp
from penstock.serde.base import SerdeDefaults
from penstock.serde.serdes import Serdes
from penstock.state.engine.memory import MemoryStore
from penstock.state.open import open_store
from penstock.state.spec import StoreKind, StoreSpec
from tests.state.kit import Task, kv


class Operations:
    """Which operations were measured."""

    def __init__(self) -> None:
        self.seen: set[str] = set()

    def record(self, store: str, operation: str, elapsed_ns: int) -> None:
        self.seen.add(operation)

    def opened(self, store: str) -> int:
        return 0

    def closed(self, store: str, number: int) -> None: ...


def spec_of(kind: StoreKind, **fields: Any) -> StoreSpec:
    return kv(
        kind=kind,
        retention_ms=1_000,
        window_size_ms=10,
        segment_interval_ms=500,
        history_retention_ms=1_000,
        other_value_serde=Serdes.string(),
        **fields,
    )


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("kind", list(StoreKind))
def test_every_kind_opens_and_closes(kind: StoreKind, *, persistent: bool) -> None:
    """The store says what it is, and knows when it is closed."""
    store = open_store(spec_of(kind, persistent=persistent), Task().env)
    assert (store.name, store.kind, store.is_open) == ("store", kind, True)
    assert store.persistent == persistent
    store.flush()
    store.close()
    assert not store.is_open


@pytest.mark.parametrize("kind", list(StoreKind))
def test_missing_serde_opens_no_engine(kind: StoreKind) -> None:
    """A store that cannot be used leaves no files behind."""

    def refuse(name: str) -> MemoryStore:
        raise AssertionError(name)

    task = Task(engine=refuse)
    task.env.defaults = SerdeDefaults()
    with pytest.raises(StreamsError, match="missing-serde"):
        open_store(spec_of(kind, persistent=True), task.env)


def test_engine_is_asked_for_persistent_stores_only() -> None:
    """By name: the engine's owner decides where the files are."""
    asked: list[str] = []

    def engine(name: str) -> MemoryStore:
        asked.append(name)
        return MemoryStore()

    task = Task(engine=engine)
    open_store(kv("memory"), task.env)
    open_store(kv("lru", max_entries=3), task.env)
    open_store(kv("disk", persistent=True), task.env)
    assert asked == ["disk"]


def test_subscription_store_is_a_timestamped_store() -> None:
    """Only its label differs."""
    store: Any = open_store(spec_of(StoreKind.FOREIGN_KEY_SUBSCRIPTION), Task().env)
    store.put("a", ValueAndTimestamp("x", 4))
    assert store.get("a") == ValueAndTimestamp("x", 4)


def test_metrics_reach_the_engine_of_other_kinds() -> None:
    """Window stores have no typed layer to measure at; their engine is measured."""
    metrics = Operations()
    spec = spec_of(StoreKind.WINDOW, persistent=True)
    store: Any = open_store(spec, Task().env, metrics=metrics)
    store.put("a", "1", 5)
    store.fetch("a", 5)
    assert metrics.seen & {"put", "put-all"}
    assert "get" in metrics.seen
