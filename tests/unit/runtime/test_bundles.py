"""Records in repartition topics arrive completely, in order, and exactly once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.raw_columns import RawColumns, columns_of, listed
from penstock.kernel.record_queue import RawRecord
from penstock.model.columns.dictionary_bytes import DictionaryBytes
from penstock.model.task_id import TaskId
from penstock.runtime.spark.exchange import bundles as module
from penstock.runtime.spark.exchange.bundles import (
    Bundle,
    Sent,
    bundle_header,
    decode_headers,
    encode_headers,
    position_after,
    split_sent,
    unpacked,
)
from penstock.runtime.spark.exchange.stage_request import Skips

A, B, C = "0_0", "0_2", "0_10"


def bundle_of(keys: Sequence[bytes | None]) -> Bundle:
    return Bundle(0, list(range(len(keys))), list(keys), [None] * len(keys))


def bundled(offset: int, upstream: str, *keys: bytes) -> RawRecord:
    ((_, data),) = bundle_of(keys).packed()
    return RawRecord("app-t", 0, offset, 5, None, data, bundle_header(TaskId.parse(upstream), 7))


def single(offset: int, key: bytes) -> RawRecord:
    return RawRecord("app-t", 0, offset, 5, key, b"v")


def split(*records: RawRecord, skips: Skips | None = None) -> list[Sent]:
    return split_sent("t", 0, columns_of("app-t", 0, records), skips or {})


def keys_of(sent: Sent) -> list[bytes | None]:
    return list(sent.columns("app-t", range(len(sent))).keys)


def rows_of(bundle: Bundle) -> list[tuple[object, ...]]:
    headers = bundle.headers or [None] * len(bundle)
    times = listed(bundle.timestamps)
    return list(zip(times, bundle.keys, bundle.values, headers, strict=True))


# One bundle


BYTES = st.none() | st.binary(max_size=5)
ROWS = st.lists(st.tuples(st.integers(-1, 2**60), BYTES, BYTES, st.none() | st.just(b"h")))


@given(ROWS.filter(len), st.booleans())
def test_a_bundle_comes_back_as_it_was_packed(rows: list[tuple[object, ...]], coded: bool) -> None:
    """Null keys and values, times before 1970 and headers are data, too."""
    times, keys, values, headers = (list(column) for column in zip(*rows, strict=True))
    column: object = keys
    if coded:
        different = sorted({key for key in keys if key is not None})
        codes = [-1 if key is None else different.index(key) for key in keys]
        column = DictionaryBytes(np.array(codes, np.int64), different)
    bundle = Bundle(0, times, column, values, headers if any(headers) else None)  # type: ignore[arg-type]
    ((_, data),) = bundle.packed()
    assert rows_of(unpacked(data)) == rows_of(bundle) == rows


def test_values_that_are_the_keys_travel_once() -> None:
    """A stream that was re-keyed by its value has the same column twice."""
    keys = [b"k" * 100] * 50
    ((_, same),), ((_, other),) = (
        list(Bundle(0, [1] * 50, keys, v).packed()) for v in (keys, list(keys))
    )
    assert len(same) < len(other) * 0.6
    again = unpacked(same)
    assert again.values is again.keys


def test_a_large_bundle_is_split_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Brokers refuse records above a limit; one row is never split."""
    monkeypatch.setattr(module, "_MOST_BYTES", 2_000)
    keys = [b"%03d" % n + bytes(300) for n in range(20)]
    packed = list(bundle_of(keys).packed())
    pieces = [unpacked(data) for _, data in packed]
    assert [first for first, _ in packed] == [int((piece.keys[0] or b"")[:3]) for piece in pieces]
    assert len(pieces) > 5
    assert [key for piece in pieces for key in piece.keys] == keys
    assert len(list(bundle_of([bytes(5_000)]).packed())) == 1


def test_headers_survive_and_none_cost_nothing() -> None:
    """Null values and repeated names are headers, too."""
    headers = (("a", b"1"), ("a", None), ("ü", b""))
    assert decode_headers(encode_headers(headers)) == headers
    assert encode_headers(()) is None
    assert decode_headers(None) == ()


# What one upstream task sent


def test_records_are_sorted_by_the_task_that_sent_them() -> None:
    """Each upstream task has a queue of its own, in numeric order; the topic interleaves them."""
    found = split(bundled(1, B, b"b1"), bundled(2, A, b"a1", b"a2"), bundled(4, C, b"c1"),
                  bundled(5, B, b"b2"))  # fmt: skip
    found.sort(key=lambda sent: sent.order)
    assert [(sent.queue, keys_of(sent)) for sent in found] == [
        ("t|0_0", [b"a1", b"a2"]), ("t|0_2", [b"b1", b"b2"]), ("t|0_10", [b"c1"]),
    ]  # fmt: skip


def test_records_without_the_header_are_taken_as_they_are() -> None:
    """Another program may write to the topic, and Java's format has no bundles."""
    (sent,) = split(single(3, b"x"), single(7, b"y"))
    assert (sent.queue, sent.upstream) == ("t", None)
    columns = sent.columns("app-t", range(0))
    assert (list(columns.offsets), list(columns.keys)) == ([3, 7], [b"x", b"y"])


def test_records_of_a_bundle_get_the_offsets_that_the_queue_hands_out() -> None:
    """The Kafka record has one offset for all of them."""
    (sent,) = split(bundled(1, A, b"a", b"b"), bundled(9, A, b"c"))
    found = list(sent.columns("app-t", range(40, 43)))
    assert [(record[2], record[4]) for record in found] == [(40, b"a"), (41, b"b"), (42, b"c")]


def test_headers_stay_with_their_records_when_bundles_are_joined() -> None:
    """Most bundles have none; joining fills the gaps."""
    with_headers = Bundle(
        0, [1, 2], [b"a", b"b"], [None] * 2, [None, encode_headers([("h", b"1")])]
    )
    ((_, data),) = with_headers.packed()
    record = RawRecord("app-t", 0, 1, 5, None, data, bundle_header(TaskId.parse(A), 0))
    (sent,) = split(record, bundled(2, A, b"c"))
    assert sent.columns("app-t", range(3)).headers == [(), (("h", b"1"),), ()]


def test_what_was_processed_before_is_left_out() -> None:
    """Skips say how many rows of each Kafka record earlier batches have had."""
    skips = {1: 2, 2: 1, 3: 1}
    found = split(bundled(1, A, b"a", b"b", b"c"), single(2, b"x"), bundled(3, B, b"d"),
                  single(4, b"y"), skips=skips)  # fmt: skip
    assert [keys_of(sent) for sent in found] == [[b"c"], [], [b"y"]]


# Where to go on


@pytest.mark.parametrize(
    ("progress", "after"),
    [
        ([], (9, {})),
        ([(3, 5, 5), (7, 1, 1)], (9, {})),
        ([(3, 0, 5), (7, 0, 1)], (3, {})),
        ([(3, 2, 5), (7, 0, 1)], (3, {3: 2})),
        ([(7, 1, 1), (3, 5, 5), (5, 1, 4)], (5, {5: 1, 7: 1})),
    ],
)
def test_the_position_is_the_first_record_with_rows_left(
    progress: list[tuple[int, int, int]], after: tuple[int, dict[int, int]]
) -> None:
    """What lies behind it and is processed is named, so that it is not processed again."""
    assert position_after(progress, 9, {}) == after


def test_skips_of_records_that_were_not_read_this_time_stay() -> None:
    """A limit may end the reading before a record that an earlier batch had processed."""
    assert position_after([(3, 1, 5)], 6, {3: 1, 8: 4}) == (3, {3: 1, 8: 4})
    assert position_after([], 6, {8: 4}) == (6, {8: 4})


class Reading(NamedTuple):
    """The log of one partition, and the rows of each upstream task in the order it sent them."""

    log: list[RawRecord]
    sent: dict[str, list[bytes]]


@st.composite
def logs(draw: st.DrawFn) -> Reading:
    upstreams = draw(st.lists(st.sampled_from([A, B, None]), max_size=8))
    log, sent, offset, row = [], defaultdict(list), 0, 0
    for upstream in upstreams:
        offset += draw(st.integers(1, 3))
        count = 1 if upstream is None else draw(st.integers(1, 4))
        keys = [b"%d" % n for n in range(row, row + count)]
        row += count
        log.append(single(offset, *keys) if upstream is None else bundled(offset, upstream, *keys))
        sent["t" if upstream is None else f"t|{upstream}"] += keys
    return Reading(log, dict(sent))


def read(log: list[RawRecord], start: int, end: int) -> RawColumns:
    return columns_of("app-t", 0, [each for each in log if start <= each.offset < end])


@given(logs(), st.data())
def test_any_cuts_process_every_row_once_and_never_go_back(
    reading: Reading, data: st.DataObject
) -> None:
    """Reading and processing may stop anywhere, in every batch, for every upstream task."""
    end = 1 + max((record.offset for record in reading.log), default=0)
    position, skips, done = 0, dict[int, int](), defaultdict(list)
    for is_last in [False] * data.draw(st.integers(0, 6)) + [True]:
        reached = end if is_last else data.draw(st.integers(position, end))
        progress: list[tuple[int, int, int]] = []
        for sent in split_sent("t", 0, read(reading.log, position, reached), skips):
            taken = len(sent) if is_last else data.draw(st.integers(0, len(sent)))
            done[sent.queue] += keys_of(sent)[:taken]
            progress += sent.progress(taken)
        before = position
        position, left = position_after(progress, reached, skips)
        skips = dict(left)
        assert before <= position <= end
        assert all(offset >= position for offset in skips)
    assert {queue: keys for queue, keys in done.items() if keys} == reading.sent
    assert (position, skips) == (end, {})
