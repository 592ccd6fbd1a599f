"""Entries that columns leave in a cache have the context of their own record.

Exercises ``cache_handoff`` and ``store_rows``.
"""

from __future__ import annotations

from typing import Any

import pytest

from penstock.kernel.columns.batch import NotProvenError
from penstock.kernel.columns.batch_column import BatchColumn
from penstock.kernel.columns.cache_handoff import keep_each, last_contexts
from penstock.kernel.columns.gathered import Gathered
from penstock.kernel.columns.grouping import grouped
from penstock.kernel.columns.store_rows import encoded_states, settled, stored_keys
from penstock.model.record import RecordContext
from penstock.serde.primitives import LongSerde, StringSerde


def at(offset: int) -> RecordContext:
    return RecordContext(10 + offset, offset, 2, "t", (("h", bytes([offset])),))


def seen(context: RecordContext) -> tuple[Any, ...]:
    return (
        context.timestamp, context.offset, context.partition, context.topic, context.headers,
    )  # fmt: skip


@pytest.mark.parametrize("fails", [False, True])
def test_each_entry_is_kept_in_its_context_and_then_all_is_as_before(*, fails: bool) -> None:
    """Also if the cache has to flush and a node behind it fails."""
    found: list[Any] = []
    current, before = at(9), at(9)

    def keep(key: str, row: int) -> None:
        found.append((key, row, seen(current)))
        if fails and row == 2:
            raise ValueError("a node behind the cache")

    try:
        keep_each(current, [at(0), at(1)], keep, ["a", "b"], [1, 2])
    except ValueError:
        assert fails
    assert found == [("a", 1, seen(at(0))), ("b", 2, seen(at(1)))]
    assert seen(current) == seen(before)


def test_records_of_unknown_place_have_no_context() -> None:
    records = Gathered()
    records.add([b"a"], [], BatchColumn([1]).values(), None)  # type: ignore[arg-type]
    with pytest.raises(NotProvenError, match="offsets of its records are not known"):
        last_contexts(records, grouped([b"a"]))


class Silent(StringSerde):
    """Writes no bytes for an empty text."""

    def encode(self, value: str) -> Any:
        return value.encode() or None


def test_a_key_without_bytes_is_left_to_records() -> None:
    """A null key is not one; nodes without a rule for nulls leave it out before."""
    assert [*stored_keys(BatchColumn(["a", None]), Silent())] == [b"a", None]
    with pytest.raises(NotProvenError, match="a key has no bytes"):
        stored_keys(BatchColumn(["a", ""]), Silent())


def test_a_state_without_bytes_is_left_to_records() -> None:
    assert [*encoded_states(LongSerde(), [1])] == [bytes(7) + b"\x01"]
    with pytest.raises(NotProvenError, match="an aggregate is None"):
        encoded_states(LongSerde(), [1, None])


class Rows:
    def __init__(self, *, is_settled: bool) -> None:
        self.is_settled = is_settled


def test_a_cache_that_holds_changes_keeps_a_batch_from_columns() -> None:
    settled(Rows(is_settled=True))
    with pytest.raises(NotProvenError, match="not passed on yet"):
        settled(Rows(is_settled=False))
