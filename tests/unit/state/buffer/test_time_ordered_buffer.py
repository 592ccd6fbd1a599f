"""Time-ordered buffers: Java's bytes and sizes, order, prior values, late records.

Exercises ``change_buffer`` and ``join_buffer``.
"""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import NullArgumentError
from penstock.model.change import Change
from penstock.model.record import RecordContext
from penstock.model.time.duration import MAX_LONG
from penstock.model.versioned import ValueAndTimestamp
from penstock.serde.serdes import Serdes
from penstock.state.buffer.buffer_value import BufferValue
from penstock.state.spec import StoreKind, StoreSpec
from tests.state.kinds import Bench
from tests.state.kit import Forwarded

CONTEXT = RecordContext(5, 6, 1, "topic", (("h", b"x"), ("n", None)))
_HEAD = (
    "0000000000000005000000000000000600000005746f70696300000001"
    "0000000200000001680000000178000000016effffffff"
)
SUPPRESS = StoreSpec(
    name="store",
    kind=StoreKind.TIME_ORDERED_BUFFER,
    persistent=False,
    value_serde=Serdes.long(),
)
JOIN = StoreSpec(name="store", kind=StoreKind.TIME_ORDERED_BUFFER, retention_ms=20)


@pytest.mark.parametrize(
    ("value", "tail", "size"),
    [
        (BufferValue(b"old", b"old", b"new", CONTEXT), "000000036f6c64fffffffe000000036e6577", 34),
        (
            BufferValue(b"prior", b"old", None, CONTEXT),
            "000000057072696f72000000036f6c64ffffffff",
            36,
        ),
        (BufferValue(None, None, b"new", CONTEXT), "ffffffffffffffff000000036e6577", 31),
    ],
)
def test_buffered_value_has_bytes_and_size_of_kafka_streams(
    value: BufferValue, tail: str, size: int
) -> None:
    """Recorded from Kafka Streams 4.1; limits in bytes depend on the size."""
    assert value.encode().hex() == _HEAD + tail
    assert value.size == size
    assert BufferValue.decode(value.encode()) == value


def test_header_names_count_as_java_counts_them() -> None:
    """In UTF-16 units, not in code points."""
    context = RecordContext(0, 0, 0, None, (("\U0001f600", None),))
    assert BufferValue(None, None, None, context).size == 8 + 8 + 4 + 2
    assert BufferValue.decode(BufferValue(None, None, None, context).encode()).context == context


def put(bench: Bench, time: int, key: str, change: Change, offset: int = 0) -> None:
    context = RecordContext(time, offset, 0, "in", (("h", b"x"),) if offset == 0 else ())
    bench.store.put(time, key, change, context)


def test_changelog_of_a_suppression_has_the_bytes_of_kafka_streams() -> None:
    """Recorded from a suppressed count on Kafka Streams 4.1, with one flush per record."""
    bench = Bench(SUPPRESS)
    put(bench, 10, "a", Change(1, 0))
    bench.store.flush()
    put(bench, 30, "a", Change(2, 1), offset=2)
    bench.store.flush()
    bench.store.evict_while(lambda: True, lambda gone: None)
    bench.store.flush()
    assert [value and value.hex() for _, value, _ in bench.logged] == [
        (
            "000000000000000a000000000000000000000002696e000000000000000100000001680000000178"
            "000000080000000000000000fffffffe000000080000000000000001000000000000000a"
        ),
        (
            "000000000000001e000000000000000200000002696e0000000000000000"
            "000000080000000000000000000000080000000000000001000000080000000000000002"
            "000000000000000a"
        ),
        None,
    ]


def test_size_is_the_sum_over_key_time_values_and_context() -> None:
    """Eight bytes for the time, then key, values and context; a replaced change counts no more."""
    bench = Bench(SUPPRESS)
    put(bench, 10, "a", Change(1, None), offset=1)
    one = 8 + 1 + 8 + (8 + 8 + 2 + 4)
    assert bench.store.buffer_size_bytes == one
    put(bench, 10, "b", Change(1, None), offset=1)
    assert bench.store.buffer_size_bytes == 2 * one
    put(bench, 11, "a", Change(2, 1), offset=1)
    assert bench.store.buffer_size_bytes == 2 * one + 8
    bench.store.evict_while(lambda: bench.store.num_records > 1, lambda gone: None)
    assert bench.store.buffer_size_bytes == one


def test_prior_value_is_what_was_seen_before_the_key_was_buffered() -> None:
    """Later changes do not replace it: nobody behind the buffer has seen them."""
    bench = Bench(SUPPRESS)
    assert bench.store.prior_value_for_buffered("a") == (False, None)
    put(bench, 10, "a", Change(2, 1))
    put(bench, 11, "a", Change(3, 2))
    assert bench.store.prior_value_for_buffered("a") == (True, ValueAndTimestamp(1, -1))
    put(bench, 10, "b", Change(1, None))
    assert bench.store.prior_value_for_buffered("b") == (True, None)


def test_evicted_record_counts_until_its_callback_is_done() -> None:
    """A predicate that asks for sizes sees the buffer as Kafka Streams would show it."""
    bench, seen = Bench(SUPPRESS), list[Any]()
    put(bench, 10, "b", Change(1, None))
    put(bench, 10, "a", Change(None, 1))
    bench.store.evict_while(
        lambda: bench.store.min_timestamp <= 10,
        lambda gone: seen.append((gone.key, gone.value, bench.store.num_records)),
    )
    assert seen == [("a", Change(None, 1), 2), ("b", Change(1, None), 1)]
    assert bench.store.min_timestamp == MAX_LONG


def test_buffered_context_is_a_copy() -> None:
    """The task changes its context in place with the next record."""
    bench, seen = Bench(SUPPRESS), list[Any]()
    bench.task.at(10)
    bench.store.put(10, "a", Change(1, None), bench.task.context)
    bench.task.at(99)
    bench.store.evict_while(lambda: True, lambda gone: seen.append(gone.record_context.timestamp))
    assert seen == [10]


def test_buffer_without_logging_keeps_no_list_of_what_to_log() -> None:
    """A flush is all it takes to forget."""
    bench = Bench(SUPPRESS.with_logging_disabled())
    put(bench, 10, "a", Change(1, None))
    bench.store.flush()
    assert bench.logged == []
    bench.store.close()
    assert (bench.store.is_open, bench.store.num_records) == (False, 0)


def test_changelog_of_a_join_buffer_has_the_bytes_of_kafka_streams() -> None:
    """Recorded from a stream-table join with grace on Kafka Streams 4.1."""
    bench = Bench(JOIN)
    for time, key, value, offset in [(5, "k", "v1", 0), (5, "a", "v2", 1), (40, "k", "v3", 2)]:
        assert bench.store.put(0, key, value, RecordContext(time, offset, 0, "s"))
        bench.store.evict_while(lambda: True, lambda gone: None)
    contexts = ["00000000000000050000000000000000", "00000000000000050000000000000001",
                "00000000000000280000000000000002"]  # fmt: skip
    values = [
        f"{context}00000001730000000000000000ffffffffffffffff00000002763{number}0000000000000000"
        for number, context in enumerate(contexts, start=1)
    ]
    assert [(key.hex(), value and value.hex()) for key, value, _ in bench.logged] == [
        ("0000000000000000056b00000001", values[0]),
        ("0000000000000000056100000002", values[1]),
        ("0000000000000000286b00000003", values[2]),
        ("0000000000000000056100000002", None),
        ("0000000000000000056b00000001", None),
    ]


def test_join_buffer_refuses_what_is_already_past_grace() -> None:
    """The join then looks the record up at once."""
    store = Bench(JOIN).store
    assert store.put(0, "a", "x", RecordContext(100, 0, 0, "s"))
    assert store.put(0, "a", "x", RecordContext(80, 0, 0, "s"))
    assert not store.put(0, "a", "x", RecordContext(79, 0, 0, "s"))
    assert (store.num_records, store.min_timestamp) == (2, 80)


def test_join_buffer_stops_when_the_predicate_says_so() -> None:
    """What stays is found again, in its place."""
    store, seen = Bench(JOIN).store, list[Any]()
    for time in (1, 2, 50):
        store.put(0, "a", str(time), RecordContext(time, 0, 0, "s"))
    store.evict_while(lambda: store.num_records > 2, seen.append)
    assert ([gone.value for gone in seen], store.min_timestamp) == (["1"], 2)
    store.evict_while(lambda: True, seen.append)
    assert [gone.value for gone in seen] == ["1", "2"]


@pytest.mark.parametrize("spec", [SUPPRESS, JOIN])
def test_null_values_are_refused_and_nothing_is_cached(spec: StoreSpec) -> None:
    """A deletion is a change whose new value is None, not None itself."""
    bench = Bench(spec)
    assert not bench.store.set_flush_listener(Forwarded(bench.task), send_old=False)
    with pytest.raises(NullArgumentError, match="buffer 'store'"):
        bench.store.put(0, "a", None, CONTEXT)
    with pytest.raises(NullArgumentError):
        bench.store.put(0, None, Change(1, None), CONTEXT)
    assert JOIN is not spec or bench.store.prior_value_for_buffered("a") == (False, None)
