"""The changelog mirrors writes, with the time and the bytes that Kafka Streams gives them."""

from __future__ import annotations

from penstock.model.record import RecordContext
from penstock.model.versioned import ValueAndTimestamp
from penstock.serde.serdes import Serdes
from penstock.state.engine.memory import MemoryStore
from penstock.state.layers.changelogged import ChangeLogged
from penstock.state.spec import StoreKind
from tests.state.kit import ListLog, Task, kv

TIMESTAMPED = StoreKind.TIMESTAMPED_KEY_VALUE


def test_every_write_is_logged_with_the_time_of_the_current_record() -> None:
    """Deleting what is absent is a write too."""
    task = Task()
    store = task.open(kv())
    task.at(5)
    store.put("a", "1")
    task.at(6)
    assert store.put_if_absent("a", "2") == "1"
    store.delete("a")
    store.delete("a")
    store.put_if_absent("a", None)
    store.put_all([("b", "1"), ("c", None)])
    assert task.logs["store"].records == [
        (b"a", b"1", 5),
        (b"a", None, 6),
        (b"a", None, 6),
        (b"a", None, 6),
        (b"b", b"1", 6),
        (b"c", None, 6),
    ]


def test_timestamped_value_is_logged_bare_at_its_own_time() -> None:
    """The changelog of a table reads like any topic; a tombstone has the record's time."""
    task = Task().at(9)
    store = task.open(kv(kind=TIMESTAMPED, value_serde=Serdes.long()))
    store.put("a", ValueAndTimestamp(1, 5))
    store.put("a", None)
    assert task.logs["store"].records == [(b"a", b"\0" * 7 + b"\1", 5), (b"a", None, 9)]


def test_timestamped_bytes_are_eight_bytes_of_time_and_the_value() -> None:
    """State is readable by whoever knows Kafka Streams' format."""
    engine = MemoryStore()
    task = Task(engine=lambda name: engine)
    store = task.open(kv(kind=TIMESTAMPED, persistent=True))
    store.put("a", ValueAndTimestamp("x", 258))
    assert engine.get(b"a") == b"\0\0\0\0\0\0\1\2x"


def test_restore_puts_the_time_back_and_logs_nothing() -> None:
    """Replaying the changelog gives the same store."""
    task = Task().at(9)
    store = task.open(kv(kind=TIMESTAMPED))
    store.put("a", ValueAndTimestamp("x", 5))
    store.put("b", ValueAndTimestamp("y", 6))
    store.put("b", None)
    again = Task()
    restored = again.open(kv(kind=TIMESTAMPED))
    restored.restore(task.logs["store"].records)
    assert list(restored.all()) == list(store.all()) == [("a", ValueAndTimestamp("x", 5))]
    assert again.logs["store"].records == []


def test_disabled_logging_logs_nothing() -> None:
    """And asks for no changelog."""
    task = Task()
    task.open(kv().with_logging_disabled()).put("a", "1")
    assert task.logs == {}


def test_expiry_is_not_logged() -> None:
    """The topic has a retention of its own."""
    log, inner = ListLog(), MemoryStore()
    store = ChangeLogged(inner, log, RecordContext(0, 0, 0, "t"))
    store.write([(b"a", b"1"), (b"b", b"1")])
    store.delete_range(b"a", b"b")
    assert [key for key, _ in store.scan(None, None)] == [b"b"]
    assert len(log.records) == 2
    assert store.multi_get([b"a", b"b"]) == [None, b"1"]
    assert store.approximate_num_entries() == 1
    store.flush()
    store.close()
    assert inner.approximate_num_entries() == 0
