"""Metrics are counted per store and operation, and only if they are switched on."""

from __future__ import annotations

from itertools import count

from penstock.state.engine.memory import MemoryStore
from penstock.state.layers.metered import Metered
from penstock.state.open import open_key_value_store
from penstock.state.spec import StoreKind
from tests.state.kit import Task, kv


class Recorded:
    """Keeps every measurement."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, int]] = []
        self.open: list[int] = []

    def record(self, store: str, operation: str, elapsed_ns: int) -> None:
        self.calls.append((store, operation, elapsed_ns))

    def opened(self, store: str) -> int:
        self.open.append(len(self.calls))
        return self.open[-1]

    def closed(self, store: str, number: int) -> None:
        self.open.remove(number)


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


def test_iterator_is_open_from_its_first_entry_to_its_end() -> None:
    """One that is closed early, or dropped, is not open any more."""
    metrics = Recorded()
    store = Metered(MemoryStore(), "s", metrics)
    store.write([(b"a", b"1"), (b"b", b"1")])
    entries = iter(store.scan(None, None))
    assert metrics.open == []
    next(entries)
    assert len(metrics.open) == 1
    del entries
    assert metrics.open == []
    assert [operation for _, operation, _ in metrics.calls] == ["put-all", "range"]


def test_rows_of_a_whole_batch_are_measured_at_the_engine() -> None:
    """Columns read and write below the layer that sees single records."""
    metrics, task = Recorded(), Task()
    store = open_key_value_store(
        kv(kind=StoreKind.TIMESTAMPED_KEY_VALUE), task.env, metrics=metrics
    )
    assert store.bulk is not None
    store.bulk.read([b"a", b"b"])
    assert [operation for _, operation, _ in metrics.calls] == ["get-all"]
