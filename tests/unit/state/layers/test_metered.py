"""Metrics are counted per store and operation, and only if they are switched on."""

from __future__ import annotations

from itertools import count

from penstock.state.engine.memory import MemoryStore
from penstock.state.layers.metered import Metered
from penstock.state.open import open_key_value_store
from tests.state.kit import Task, kv


class Recorded:
    """Keeps every measurement."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, int]] = []

    def record(self, store: str, operation: str, elapsed_ns: int) -> None:
        self.calls.append((store, operation, elapsed_ns))


def test_every_operation_is_named_and_timed() -> None:
    """One measurement per call; an iterator is measured to its end."""
    metrics, ticks = Recorded(), count()
    store = Metered(MemoryStore(), "s", metrics, clock=lambda: next(ticks))
    store.put(b"a", b"1")
    store.get(b"a")
    store.multi_get([b"a"])
    store.write([(b"b", b"1"), (b"c", b"1")])
    assert len(list(store.scan(None, None))) == 3
    store.put(b"a", None)
    store.delete_range(b"a", b"c")
    store.flush()
    assert store.approximate_num_entries() == 1
    operations = ["put", "get", "get-all", "put-all", "range", "delete", "delete-range", "flush"]
    assert metrics.calls == [("s", operation, 1) for operation in operations]
    store.close()


def test_store_is_metered_only_when_asked() -> None:
    """Without metrics the layer is not there at all."""
    metrics, task = Recorded(), Task()
    store = open_key_value_store(kv(), task.env, metrics=metrics)
    store.put("a", "1")
    assert [operation for _, operation, _ in metrics.calls] == ["put"]
    plain = open_key_value_store(kv("plain").with_logging_disabled(), task.env)
    assert isinstance(plain._inner, MemoryStore)
