"""Columns of every kind say the same about the same items."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.columns.batch import Batch, Origins
from penstock.kernel.columns.batch_column import (
    BatchColumn,
    DictionaryBatchColumn,
    TakenColumn,
    WindowedColumn,
    concatenated,
    input_column,
)
from penstock.model.columns.dictionary_bytes import DictionaryBytes
from penstock.model.time.duration import MAX_LONG
from penstock.model.windows.windowed import Window, Windowed
from penstock.serde.json import JsonSerde
from penstock.serde.primitives import LongSerde, StringSerde
from penstock.serde.windowed import TimeWindowedSerde

TEXT = StringSerde()
Make = Callable[[list[str | None]], BatchColumn]


def places(*numbers: int) -> Any:
    return np.array(numbers, np.int64)


def of_values(items: list[str | None]) -> BatchColumn:
    return BatchColumn(items)


def of_bytes(items: list[str | None]) -> BatchColumn:
    return BatchColumn(encoded=[None if i is None else i.encode() for i in items], serde=TEXT)


def coded(items: list[str | None]) -> BatchColumn:
    different = sorted({item for item in items if item is not None})
    codes = [-1 if item is None else different.index(item) for item in items]
    return DictionaryBatchColumn(places(*codes), of_bytes([*different]))


def repeated(items: list[str | None]) -> BatchColumn:
    return TakenColumn(of_values([*reversed(items)]), places(*range(len(items)))[::-1])


COLUMNS = pytest.mark.parametrize("make", [of_values, of_bytes, coded, repeated])
ITEMS = st.lists(st.sampled_from(["a", "b", "ü", None]), max_size=8)


def says(column: BatchColumn) -> dict[str, Any]:
    encoded = [*column.encoded(TEXT)]
    return {
        "length": len(column),
        "encoded": encoded,
        "values": [*column.values()],
        "nulls": column.has_nulls(),
        "known": column.are_known(),
    }


@COLUMNS
@given(items=ITEMS, data=st.data())
def test_a_column_says_what_its_items_are(
    make: Make, items: list[str | None], data: st.DataObject
) -> None:
    """Also about some of them, and about some of those."""
    mask = data.draw(st.lists(st.booleans(), min_size=len(items), max_size=len(items)))
    kept = [item for item, keeps in zip(items, mask, strict=True) if keeps]
    for column, expected in (
        (make(items), items),
        (make(items).keep(mask), kept),
        (make(items).keep(mask).take([*range(len(kept))][::-1]), kept[::-1]),
    ):
        assert says(column) == {
            "length": len(expected),
            "encoded": [None if item is None else item.encode() for item in expected],
            "values": expected,
            "nulls": None in expected,
            "known": [item is not None for item in expected],
        }


class Counting(JsonSerde):
    """Notes what it is asked for."""

    calls: ClassVar[list[str]] = []

    def decode(self, data: bytes) -> Any:
        self.calls.append("decode")
        return super().decode(data)

    def encode(self, value: Any) -> bytes:
        self.calls.append("encode")
        return super().encode(value)


def test_bytes_that_a_serde_would_write_again_are_passed_on() -> None:
    """Nothing is decoded for it."""
    data = [b"a", None, "ü".encode()]
    column = BatchColumn(encoded=data, serde=TEXT)
    assert column.encoded(TEXT) is data
    assert column._values is None


def test_bytes_that_a_serde_would_not_write_are_written_anew() -> None:
    """A text that is not UTF-8 comes back changed; a number is not a text."""
    assert [*BatchColumn(encoded=[b"\xff"], serde=TEXT).encoded(TEXT)] == ["\ufffd".encode()]
    assert [*BatchColumn(encoded=[b'{"a": 1}'], serde=JsonSerde()).encoded(JsonSerde())] == [
        b'{"a":1}'
    ]
    longs = BatchColumn(encoded=[b"7", None], serde=JsonSerde())
    assert [*longs.encoded(LongSerde())] == [(7).to_bytes(8), None]


def test_items_are_decoded_and_encoded_once() -> None:
    serde = Counting()
    serde.calls.clear()
    column = BatchColumn(encoded=[b"[1, 2]"], serde=serde)
    assert column.values() is column.values()
    assert column.encoded(serde) is column.encoded(serde)
    assert serde.calls == ["decode", "encode"]


def test_only_a_serde_that_refuses_bytes_is_asked_to_check() -> None:
    texts = BatchColumn(encoded=[b"\xff"], serde=TEXT)
    texts.check()
    assert texts._values is None
    BatchColumn([1]).check()
    serde = Counting()
    with pytest.raises(Exception, match="Counting"):
        BatchColumn(encoded=[b"no json"], serde=serde).check()
    with pytest.raises(Exception, match="Counting"):
        DictionaryBatchColumn(places(0), BatchColumn(encoded=[b"no json"], serde=serde)).check()


def test_coded_texts_that_become_the_same_are_written_one_by_one() -> None:
    """Two keys that are not UTF-8 may be the same key once they are decoded."""
    column = DictionaryBatchColumn(
        places(0, 1, -1), BatchColumn(encoded=[b"\xff", b"\xfe"], serde=TEXT)
    )
    encoded = column.encoded(TEXT)
    assert not isinstance(encoded, DictionaryBytes)
    assert [*encoded] == ["\ufffd".encode()] * 2 + [None]
    plain = coded(["a", "b", "a"]).encoded(TEXT)
    assert isinstance(plain, DictionaryBytes)


def test_input_that_comes_again_is_coded_only_if_bytes_tell_values_apart() -> None:
    data = DictionaryBytes(places(0, 1, 0, -1), [b'{"a": 1}', b'{"a":1}'])
    column = input_column(data, JsonSerde())
    assert not isinstance(column, DictionaryBatchColumn)
    assert [*column.values()] == [{"a": 1}] * 3 + [None]
    assert isinstance(input_column(DictionaryBytes(places(0), [b"a"]), TEXT), DictionaryBatchColumn)
    assert not isinstance(input_column([b"a"], TEXT), DictionaryBatchColumn)


WINDOWED = TimeWindowedSerde(TEXT, 10)


@given(starts=st.lists(st.sampled_from([0, 5, 10, MAX_LONG - 3]), max_size=6), data=st.data())
def test_windowed_keys_are_those_of_the_serde(starts: list[int], data: st.DataObject) -> None:
    keys = data.draw(st.lists(st.sampled_from("ab"), min_size=len(starts), max_size=len(starts)))
    column = WindowedColumn(BatchColumn([*keys]), starts, 10)
    expected = [
        Windowed(key, Window(start, min(start + 10, MAX_LONG)))
        for key, start in zip(keys, starts, strict=True)
    ]
    assert (len(column), column.has_nulls(), column.are_known()) == (
        len(starts), False, [True] * len(starts),
    )  # fmt: skip
    assert [*column.encoded(WINDOWED)] == [WINDOWED.encode(key) for key in expected]
    assert column.values() == expected
    for name in ("key", "start", "end"):
        wanted = [getattr(w if name == "key" else w.window, name) for w in expected]
        assert [*(column.member(name) or ())] == wanted
    assert column.member("other") is None
    mask = [start < 10 for start in starts]
    kept = [each for each, keeps in zip(expected, mask, strict=True) if keeps]
    assert column.keep(mask).values() == kept
    assert column.keep(mask).take([*range(len(kept))][::-1]).values() == kept[::-1]


def test_windowed_keys_of_another_serde_are_made_whole() -> None:
    class Reversed(StringSerde):
        def encode(self, value: Any) -> bytes:
            return super().encode(f"{value.window.start} {value.key}")

    column = WindowedColumn(BatchColumn(["a"]), [5], 10)
    assert [*column.encoded(Reversed())] == [b"5 a"]


@pytest.mark.parametrize("has_more", [False, True], ids=["bare", "headers and origins"])
def test_a_batch_keeps_what_belongs_to_a_record_together(*, has_more: bool) -> None:
    headers = [(("h", bytes([n])),) for n in range(4)] if has_more else None
    origins = Origins("t", 1, places(10, 11, 12, 13)) if has_more else None
    batch = Batch(
        BatchColumn([*"abcd"]), BatchColumn([1, 2, 3, 4]), places(5, 6, 7, 8), headers, origins
    )

    def rows(found: Batch) -> list[tuple[Any, ...]]:
        offsets = None if found.origins is None else found.origins.offsets.tolist()
        columns = [found.keys.values(), found.values.values(), found.timestamps.tolist()]
        columns += [each for each in (found.headers, offsets) if each is not None]
        return [*zip(*columns, strict=True)]

    whole = rows(batch)
    assert len(batch) == 4
    assert len(whole[0]) == (5 if has_more else 3)
    assert rows(batch.keep([True, False, False, True])) == [whole[0], whole[3]]
    assert rows(batch.take(places(2, 0, 2))) == [whole[2], whole[0], whole[2]]
    again = batch.repeated(BatchColumn(["x"]), BatchColumn([9]), places(1))
    assert rows(again) == [("x", 9, *whole[1][2:])]
    assert rows(batch.with_columns(batch.values, batch.keys))[0][:2] == (1, "a")
    shared = Batch(batch.keys, batch.keys, batch.timestamps).take(places(1))
    assert shared.values is shared.keys


def test_columns_of_bytes_are_put_together_as_bytes() -> None:
    """What is not decoded stays so, and keeps whether it comes from a topic."""
    one, other = (input_column([text], TEXT) for text in (b"a", b"b"))
    whole = concatenated([one, BatchColumn([]), other])
    assert whole.encoded(TEXT) == [b"a", b"b"]
    assert whole._values is None
    assert concatenated([input_column([b"1 "], JsonSerde())] * 2).encoded(JsonSerde()) == [b"1"] * 2


def test_columns_of_different_kinds_are_put_together_as_values() -> None:
    text, number = input_column([b"a"], TEXT), input_column([bytes(8)], LongSerde())
    coded = DictionaryBatchColumn(np.array([0, -1]), BatchColumn(["x"]))
    assert concatenated([text, number, coded, BatchColumn([1.5])]).values() == [
        "a", 0, "x", None, 1.5,
    ]  # fmt: skip
    assert concatenated([]).values() == []


def test_places_among_all_inputs_go_with_the_records() -> None:
    """A join of streams puts the records of both sides in order by them."""
    batch = Batch(BatchColumn([*"abc"]), BatchColumn([1, 2, 3]), np.arange(3))
    batch.order = np.array([4, 7, 9])
    for changed in (
        batch.take(np.array([2, 0])),
        batch.keep([True, False, True]).take(np.array([1, 0])),
        batch.with_columns(batch.values, batch.keys).repeated(
            BatchColumn([1, 2]), BatchColumn([1, 2]), np.array([2, 0])
        ),
    ):
        assert changed.order is not None
        assert changed.order.tolist() == [9, 4]
