"""The batch log: the leader, where each task is, and its clocks."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.task_id import TaskId
from penstock.runtime.spark.exchange import batch_log as module
from penstock.runtime.spark.exchange.batch_log import (
    BatchLog,
    Cut,
    InstanceRecord,
    LogState,
    Marker,
    offset_rows,
    offsets_from,
)

parts = st.tuples(st.text("ab-é", min_size=1), st.integers(0, 9))
offsets = st.dictionaries(parts, st.integers(0, 2**62))
skips = st.dictionaries(
    parts, st.dictionaries(st.integers(0, 2**62), st.integers(1, 2**31), min_size=1)
)


def clocks(stream_time: int) -> Any:
    return {"stream_time": stream_time}


def marker(batch: int, stream_time: int = 0, **given: Any) -> bytes:
    return Marker(batch, clocks(stream_time), **given).to_json()


@given(st.integers(0, 2**40), offsets, skips, offsets)
def test_a_marker_survives_the_log(batch: int, positions: Any, skipped: Any, began: Any) -> None:
    """Positions and skips are where the next driver goes on."""
    written = Marker(batch, clocks(7), positions, skipped, began)
    assert Marker.from_json(written.to_json()) == written


@given(st.integers(0, 2**40), st.integers(0, 2**40), offsets, offsets, offsets)
def test_a_cut_survives_the_log(
    generation: int, number: int, ends: Any, globals_: Any, positions: Any
) -> None:
    """Copies of stores are exactly as far as the cut says."""
    written = Cut(generation, number, ends, globals_, positions)
    assert Cut.from_json(written.to_json()) == written


@given(offsets)
def test_offsets_survive_as_json_rows(some: dict[tuple[str, int], int]) -> None:
    """JSON has no pairs as keys."""
    assert offsets_from(json.loads(json.dumps(offset_rows(some)))) == some


def test_markers_tell_what_is_done_by_stage() -> None:
    """A task may have committed one stage of a batch and not the next."""
    state = LogState()
    state.apply("task/0_1/0", marker(4))
    state.apply("task/0_1/2", marker(3))
    state.apply("task/1_0/1", marker(4))
    assert state.done(4, 0).keys() == {TaskId(0, 1)}
    assert state.done(4, 1).keys() == {TaskId(1, 0)}
    assert state.done(4, 2) == {}


def test_a_task_that_ran_in_two_stages_has_the_clocks_of_the_later_one() -> None:
    """The order in which compaction leaves the markers does not matter."""
    of_stages = [("task/0_0/0", marker(4, 10)), ("task/0_0/2", marker(4, 30))]
    for order in (of_stages, of_stages[::-1]):
        state = LogState()
        for key, value in order:
            state.apply(key, value)
        assert state.clocks() == {TaskId(0, 0): clocks(30)}


def test_a_newer_batch_has_newer_clocks_than_a_later_stage_of_an_older_one() -> None:
    """A later stage without input does not run, and leaves its old marker."""
    state = LogState()
    state.apply("task/0_0/0", marker(5, 50))
    state.apply("task/0_0/2", marker(4, 40))
    assert state.clocks() == {TaskId(0, 0): clocks(50)}


def test_positions_and_skips_come_from_the_newest_marker() -> None:
    """Skips of an older marker belong to a position that is no longer true."""
    part = ("t", 0)
    state = LogState()
    state.apply("task/1_0/1", marker(4, positions={part: 7}, skips={part: {7: 2}}))
    assert (state.positions(), state.skips()) == ({part: 7}, {part: {7: 2}})
    state.apply("task/1_0/1", marker(5, positions={part: 9}))
    assert (state.positions(), state.skips()) == ({part: 9}, {})


def test_each_partition_is_where_its_newest_batch_has_left_it() -> None:
    """Whatever the other tasks have done: each slot has batches of its own."""
    one, two = ("t", 0), ("t", 1)
    state = LogState()
    state.apply("task/0_0/0", marker(9, positions={one: 40}, began={one: 30}))
    state.apply("task/0_1/0", marker(4, positions={two: 7}, began={two: 5}))
    # The sub-topology had another number before, and the old marker is still there.
    state.apply("task/3_0/0", marker(2, positions={one: 12}, began={one: 10}))
    assert state.positions() == {one: 40, two: 7}
    assert state.began() == {one: 30, two: 5}
    assert state.newest_batch == 9


def test_a_log_without_markers_has_no_batch_yet() -> None:
    """The first one has number 0."""
    assert LogState().newest_batch == -1


def test_a_marker_of_an_older_version_does_not_say_where_it_began() -> None:
    """An upgraded application goes on from the offsets of the group then."""
    told = json.loads(marker(4, positions={("t", 0): 7}))
    del told["began"]
    state = LogState()
    state.apply("task/0_0/0", json.dumps(told).encode())
    assert (state.positions(), state.began()) == ({("t", 0): 7}, {})


def test_letters_of_global_records_are_known_as_far_as_they_are_written() -> None:
    state = LogState()
    state.apply("global-ends", json.dumps(offset_rows({("prices", 1): 9})).encode())
    assert state.global_ends == {("prices", 1): 9}


def test_a_cut_of_a_driver_that_was_replaced_does_not_win() -> None:
    """It may wake up after the new one has begun; numbers of its cuts may be larger."""
    state = LogState()
    state.apply("cut", Cut(2, 5, {}).to_json())
    state.apply("cut", Cut(1, 900, {}).to_json())
    assert state.cut == Cut(2, 5, {})
    state.apply("cut", Cut(2, 6, {}).to_json())
    assert state.cut == Cut(2, 6, {})


def test_records_of_other_versions_change_nothing() -> None:
    """A later version may write what this one does not know; an earlier one wrote plans."""
    state = LogState()
    state.apply("plan", b'{"batch": 4}')
    state.apply("complete", b"4")
    state.apply("plan", None)
    state.apply("something-new", b"{}")
    assert state == LogState()
    state.apply("topology", b"abc")
    assert state.fingerprint == "abc"


def test_the_marker_of_a_task_that_is_gone_is_deleted() -> None:
    """A changed topology numbers its tasks anew."""
    state = LogState()
    state.apply("task/0_0/0", marker(4))
    state.apply("task/0_0/0", None)
    assert state.markers == {}


class Producer:
    """A producer whose records go straight into the state of another reader of the log."""

    def __init__(self) -> None:
        self.seen = LogState()
        self.committed = 0

    def init_transactions(self, timeout: float) -> None: ...

    def begin_transaction(self) -> None: ...

    def produce(self, topic: str, value: bytes, key: str, partition: int, timestamp: int) -> None:
        self.seen.apply(key, value)

    def commit_transaction(self, timeout: float) -> None:
        self.committed += 1

    def flush(self, timeout: float) -> int:
        return 0


@pytest.fixture
def producer(monkeypatch: pytest.MonkeyPatch) -> Producer:
    made = Producer()
    monkeypatch.setattr(module, "new_producer", lambda settings: made)
    return made


def log_of(*, exactly_once: bool = True) -> BatchLog:
    return BatchLog("app-batches", {}, {}, exactly_once=exactly_once)


def test_every_driver_takes_a_generation_of_its_own(producer: Producer) -> None:
    """Slots of a smaller generation, or of another run, may no longer write."""
    log = log_of()
    assert log.take_generation(2, "first") == 1
    assert log.take_generation(2, "second") == 2
    seen = producer.seen
    assert (seen.generation, seen.run_id, producer.committed) == (2, "second", 2)


def test_the_number_of_slots_in_the_log_never_shrinks(producer: Producer) -> None:
    """A later driver has to end the transactions of every slot that ever wrote."""
    log = log_of()
    log.take_generation(4, "first")
    log.take_generation(1, "second")
    assert (log.state.slots, producer.seen.slots) == (4, 4)
    log.note_slots(3)
    assert producer.committed == 2
    log.note_slots(6)
    assert (producer.seen.slots, producer.seen.generation) == (6, 2)


def test_an_older_generation_record_does_not_lower_the_slots() -> None:
    """Compaction may keep several records for a while; the most slots count."""
    state = LogState()
    for generation, slots in ((1, 5), (2, 3)):
        told = {"generation": generation, "run": "r", "slots": slots}
        state.apply("generation", json.dumps(told))
    assert (state.generation, state.slots) == (2, 5)


def instance(name: str, **given: Any) -> InstanceRecord:
    return InstanceRecord(id=name, pid=1, host="h", port=2, server="", started_ms=3, **given)


def test_an_instance_of_a_newer_version_may_say_more_of_itself() -> None:
    """During an upgrade both versions read each other's records."""
    record = instance("one", tags={"zone": "a"}, machine="m")
    newer = {**json.loads(record.to_json()), "mood": "fine"}
    assert InstanceRecord.from_json(json.dumps(newer).encode()) == record


def test_an_instance_of_an_older_version_has_no_tags() -> None:
    told = json.loads(instance("one").to_json())
    older = {name: of for name, of in told.items() if name not in ("tags", "machine")}
    assert InstanceRecord.from_json(json.dumps(older).encode()) == instance("one")


def test_a_shut_down_counts_for_those_that_were_there() -> None:
    """Whatever the clocks of their machines say: one that starts later runs."""
    state = LogState()
    state.apply("instance/one", instance("one").to_json())
    state.apply("shut-down", b"4102444800000")
    state.apply("instance/two", instance("two").to_json())
    assert state.shut_down == {"one"}


def test_the_log_remembers_that_there_were_transactions(producer: Producer) -> None:
    """An instance without them has to end those of a driver that had them."""
    log_of(exactly_once=True).take_generation(1, "first")
    assert producer.seen.had_transactions
    later = log_of(exactly_once=False)
    later.state = producer.seen
    later.take_generation(1, "second")
    assert producer.seen.had_transactions


def test_a_log_without_transactions_says_so(producer: Producer) -> None:
    log_of(exactly_once=False).take_generation(1, "first")
    assert not producer.seen.had_transactions


class Reader:
    """A consumer of a log of five offsets, of which a transaction hides the last three."""

    def __init__(self) -> None:
        self.answers: list[Any] = [self._record(0, "topology", b"old"), self._end(2)]
        self.is_closed = False
        self.end = 5

    @staticmethod
    def _record(offset: int, key: str, value: bytes) -> Any:
        return SimpleNamespace(
            error=lambda: None, key=key.encode, value=lambda: value, offset=lambda: offset
        )

    @staticmethod
    def _end(offset: int) -> Any:
        end = KafkaError(KafkaError._PARTITION_EOF)
        return SimpleNamespace(error=lambda: end, offset=lambda: offset)

    def assign(self, parts: Any) -> None: ...

    def get_watermark_offsets(self, part: Any, timeout: float) -> tuple[int, int]:
        return 0, self.end

    def poll(self, timeout: float) -> Any:
        if not self.answers:
            self.answers = [self._record(2, "topology", b"new"), self._end(5)]
            return None
        return self.answers.pop(0)

    def close(self) -> None:
        self.is_closed = True


@pytest.mark.parametrize(("is_whole", "last"), [(True, "new"), (False, "old")])
def test_an_open_transaction_is_waited_for_only_if_the_end_is_wanted(
    monkeypatch: pytest.MonkeyPatch, *, is_whole: bool, last: str
) -> None:
    """An application that starts after a kill asks before it may fence anything."""
    reader = Reader()

    def made(settings: dict[str, Any]) -> Reader:
        reader.end = 2 if settings["isolation.level"] == "read_committed" else 5
        return reader

    monkeypatch.setattr(module, "new_consumer", made)
    assert module.read_log("app-batches", {}, is_whole=is_whole).fingerprint == last
    assert reader.is_closed
