"""What a batch writes is written once per key, as a cache does it at the commit."""

from __future__ import annotations

from collections import Counter
from typing import Any, cast

import numpy as np
import pytest

import penstock as ps
from penstock.kernel.columns import column_task
from penstock.kernel.columns.batch import NotProvenError
from penstock.kernel.columns.effects import Effects
from penstock.kernel.processing_log import LOGGED_DROPS
from penstock.kernel.raw_columns import RawColumns
from penstock.state.layers.bulk import BulkRows
from penstock.testing import TopologyTestDriver


def joined() -> ps.Topology:
    builder = ps.StreamsBuilder()
    rows = builder.table("rows", materialized="rows", key="string", value="json")
    both = ps.struct(one=ps.left["n"], other=ps.right["n"])
    stream = builder.stream("in", key="string", value="json")
    stream.left_join(rows, both).to("out", key="string", value="json")
    return builder.build()


def logged(driver: TopologyTestDriver) -> list[tuple[bytes | None, bytes | None, int]]:
    changelog = [each for each in driver.outputs() if each.topic.endswith("rows-changelog")]
    return [(each.key, each.value, each.timestamp) for each in changelog]


@pytest.mark.parametrize("engine", ["records", "columns"])
def test_rows_that_change_in_several_turns_are_written_once(
    engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row that came and went between two commits was never there: it leaves no tombstone.

    One that was there and is deleted twice leaves the second tombstone.
    """
    monkeypatch.setattr(column_task, "_SHORT_RUN", 0)
    with TopologyTestDriver(joined(), engine=engine) as driver:
        driver.pipe_batch({"rows": [("old", {"n": 1}, 0), ("gone", {"n": 1}, 0)]})
        rows = [
            ("new", {"n": 1}, 1), ("old", {"n": 2}, 1), ("kept", {"n": 3}, 1), ("gone", None, 1),
            ("new", None, 3), ("old", None, 3), ("kept", {"n": 4}, 3), ("gone", None, 3),
        ]  # fmt: skip
        stream = [(key, {"n": 0}, time) for time in (2, 4) for key in ("new", "old", "kept")]
        driver.pipe_batch({"rows": rows, "in": stream})
        assert [row["other"] for row in driver.read_values("out")] == [1, 2, 3, None, None, 4]
        rows_now = [(b"gone", None, 3), (b"kept", b'{"n":4}', 3), (b"old", None, 3)]
        assert sorted(logged(driver)[2:]) == rows_now
        assert [key for key, _ in driver.get_key_value_store("rows").all()] == ["kept"]
        assert all(batch.ran_over_columns for batch in driver.batches)


@pytest.mark.parametrize("engine", ["records", "columns"])
def test_rows_are_written_in_the_order_of_their_last_changes(
    engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cache moves a key to the end that is written again."""
    monkeypatch.setattr(column_task, "_SHORT_RUN", 0)
    with TopologyTestDriver(joined(), engine=engine) as driver:
        rows = [("a", {"n": 1}, 1), ("b", {"n": 2}, 1), ("a", {"n": 3}, 3)]
        driver.pipe_batch({"rows": rows, "in": [("a", {"n": 0}, 2), ("b", {"n": 0}, 4)]})
        assert [row["other"] for row in driver.read_values("out")] == [1, 2]
        assert logged(driver) == [(b"b", b'{"n":2}', 1), (b"a", b'{"n":3}', 3)]
        assert all(batch.ran_over_columns for batch in driver.batches)


@pytest.mark.parametrize("times", [[5, 9, 7], np.array([5, 9, 7])], ids=["list", "array"])
def test_the_newest_time_is_that_of_records_that_were_not_skipped(times: Any) -> None:
    """Records that were all skipped move no clock."""
    records = RawColumns("t", 0, range(3), times, [b"k"] * 3, [b"v"] * 3)
    effects, found = Effects(), []
    for place in (1, 2, 0):
        found.append(effects.newest(records))
        effects.skip(records.record(place), lambda: None)
    assert [*found, effects.newest(records)] == [9, 7, 5, -1]
    other = RawColumns("t", 1, range(3), times, [b"k"] * 3, [b"v"] * 3)
    assert effects.newest(other) == 9


@pytest.mark.parametrize("reason", sorted(LOGGED_DROPS))
def test_a_drop_that_the_log_has_to_name_is_left_to_records(reason: str) -> None:
    """Over columns a drop is only counted."""
    dropped = Counter[tuple[str, str]]()
    plain, naming = Effects(), Effects(names_drops=True)
    plain.drop("node", reason, 2)
    plain.drop("node", reason, 0)
    naming.drop("node", reason, 0)
    naming.drop("node", "another", 1)
    with pytest.raises(NotProvenError, match="the log has to name it"):
        naming.drop("node", reason, 1)
    plain.apply(dropped)
    naming.apply(dropped)
    assert dropped == {("node", reason): 2, ("node", "another"): 1}


def test_executors_of_one_node_share_what_they_hold_of_a_store() -> None:
    """Of this batch only, and each store has its own."""
    effects = Effects()
    first: list[int] = effects.shared("one", list)
    first.append(1)
    assert effects.shared("one", list) is first
    assert effects.shared("other", list) == []
    assert Effects().shared("one", list) == []


def test_rows_that_a_table_writes_later_are_read_as_they_are_at_a_place() -> None:
    class Stored:
        is_cached = True

        def read(self, keys: list[bytes]) -> list[bytes | None]:
            return [b"stored" if key == b"a" else None for key in keys]

    effects, rows = Effects(), cast("BulkRows", Stored())
    for places, values in (([2, 3], [b"a2", b"b3"]), ([6, 8], [None, b"b8"])):
        effects.note_changes("rows", [b"a", b"b"], values, np.array(places))
    keys = [b"a", b"a", b"a", b"b", b"b", b"b", b"c"]
    found = effects.read_at("rows", rows, keys, np.array([1, 4, 7, 1, 5, 9, 4]))
    assert found == [b"stored", b"a2", None, None, b"b3", b"b8", None]
    assert effects.read_at("others", rows, [b"a"], np.array([4])) == [b"stored"]
    # What writes them sees the store.
    assert effects.read("rows", rows, [b"a"]) == [b"stored"]


def test_notes_of_a_task_are_changed_when_the_batch_has_succeeded() -> None:
    kept: dict[bytes, bytes | None] = {b"old": b"1"}
    effects = Effects()
    effects.notes(kept)[b"new"] = None
    seen = effects.notes(kept)
    assert (seen[b"old"], seen[b"new"]) == (b"1", None)
    assert kept == {b"old": b"1"}
    effects.apply(Counter())
    assert kept == {b"old": b"1", b"new": None}


def test_what_is_decided_later_comes_at_the_place_that_was_kept_for_it() -> None:
    """Also a place inside of another one."""
    effects, done = Effects(), list[int]()
    first = effects.keep_place()
    effects.add(lambda: done.append(3))
    with effects.in_place(first):
        effects.add(lambda: done.append(1))
        second = effects.keep_place()
    effects.add(lambda: done.append(4))
    with effects.in_place(second):
        effects.add(lambda: done.append(2))
    effects.apply(Counter())
    assert done == [1, 2, 3, 4]
