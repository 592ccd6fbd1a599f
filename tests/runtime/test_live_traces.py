"""Threads trace the next records that a reader watches, and nothing else changes.

Exercises ``slot_traces``, ``task_traces``, ``trace_mark``, ``journey.decoding`` and
``journey.live_stores``.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.runtime.local.memory_clients import InjectedFaultError
from penstock.runtime.local.memory_kafka import MemoryKafka
from penstock.runtime.local.staged import StagedApplication
from penstock.runtime.spark.worker.traces.slot_traces import LEASE_S, MOST_WAITING, SlotTraces
from penstock.serving.journey.values import LiveTrace, RecordWatch, Traced
from tests.runtime.slot_programs import Staged, counts, new_kafka, send, words

WATCH = RecordWatch(name="one", topic="in", key=b"0")


def take(application: StagedApplication, watch: RecordWatch = WATCH) -> list[LiveTrace]:
    return [trace for each in asked(application, watch) for trace in each.traces]


def asked(application: StagedApplication, watch: RecordWatch = WATCH) -> list[Traced]:
    numbers = range(application.slots)
    return [application.slot_of(number).traces.take(watch) for number in numbers]


def plain(raw: Any) -> Any:
    return json.loads(bytes(raw))


def told(trace: LiveTrace) -> list[tuple[str, Any, Any]]:
    return [(step.node, plain(step.key), plain(step.value)) for step in trace.trace.steps]


def accesses(trace: LiveTrace) -> list[tuple[Any, ...]]:
    return [
        (each.operation, each.store, plain(each.key), plain(each.value),
         None if each.before is None else plain(each.before), each.is_known)
        for step in trace.trace.steps for each in step.accesses
    ]  # fmt: skip


@pytest.mark.parametrize("form", ["columns", "records"])
def test_a_record_is_followed_through_a_repartition_topic(
    kafka: MemoryKafka, staged: Staged, form: str
) -> None:
    """The part behind the topic names the same record, and the stores' rows before and after."""
    application = staged(
        words,
        slots=2,
        **{"penstock.repartition.format": form, "statestore.cache.max.bytes": 0},
    )
    send(kafka, "a b", "a")
    application.run_batch(1_000)
    assert take(application) == []
    send(kafka, "b a", "a a")
    application.run_batch(2_000)
    first, *rest = take(application)
    assert {each.origin for each in (first, *rest)} == {first.origin}
    assert first.record.value == b"b a"
    assert first.record.topic == first.origin.topic == "in"
    assert told(first)[0] == ("KSTREAM-SOURCE-0000000000", "0", "b a")
    passed = [each for step in first.trace.steps for each in step.sent]
    assert [(plain(each.key), each.is_internal) for each in passed] == [("b", True), ("a", True)]
    assert sorted(accesses(each) for each in rest) == [
        [("read", "counts", "a", 2, None, True), ("write", "counts", "a", 3, 2, True)],
        [("read", "counts", "b", 1, None, True), ("write", "counts", "b", 2, 1, True)],
    ]
    sent = [each for trace in rest for step in trace.trace.steps for each in step.sent]
    assert [(each.topic, each.is_internal) for each in sent] == [("out", False)] * 2
    assert counts(application) == {"a": 5, "b": 2}


def test_functions_never_see_the_mark_of_a_trace(kafka: MemoryKafka, staged: Staged) -> None:
    """It is taken off before the record enters the task behind a repartition topic."""
    seen = []

    class Headers(ps.Processor[Any, Any, Any, Any]):
        def process(self, record: ps.Record[Any, Any]) -> None:
            seen.append(list(record.headers))

    def program(builder: ps.StreamsBuilder) -> None:
        lines = builder.stream("in", key="string", value="string")
        lines.select_key(lambda key, value: value).repartition().process(Headers)

    application = staged(program)
    take(application)
    send(kafka, "a", "b")
    application.run_batch(1_000)
    assert seen == [[], []]
    assert len(take(application)) == 2


def test_drops_and_effects_belong_to_the_trace(kafka: MemoryKafka, staged: Staged) -> None:
    """Functions of peek are called, once; a record that a handler drops says so."""
    peeked: list[str] = []

    def program(builder: ps.StreamsBuilder) -> None:
        lines = builder.stream("in", key="string", value="string")
        lines.peek(lambda key, value: peeked.append(value), name="look").map_values(
            lambda value: 1 // len(value), name="divide"
        ).to("out")

    application = staged(program, **{"processing.exception.handler": "continue"})
    take(application)
    send(kafka, "", "b")
    application.run_batch(1_000)
    (trace,) = take(application)
    assert sorted(peeked) == ["", "b"]
    assert [step.is_skipped for step in trace.trace.steps] == [False] * 3
    assert "ZeroDivisionError" in (trace.trace.steps[-1].error or "")
    assert trace.trace.dropped == [("divide", "processing")]


def test_processors_are_closed_and_made_again_with_their_schedules(
    kafka: MemoryKafka, staged: Staged
) -> None:
    """Only when a watched record comes, and when the watch is over; stream time goes on."""
    lives: list[str] = []
    fired: list[int] = []

    class Timed(ps.Processor[Any, Any, Any, Any]):
        def init(self, context: Any) -> None:
            lives.append("init")
            context.schedule("1s", ps.PunctuationType.STREAM_TIME, fired.append)

        def process(self, record: Any) -> None:
            return None

        def close(self) -> None:
            lives.append("close")

    def program(builder: ps.StreamsBuilder) -> None:
        builder.stream("in", key="string", value="string").process(Timed)

    application = staged(program, partitions=2)
    now = [0.0]
    slot = application.slot_of(0)
    slot.traces._clock = lambda: now[0]
    part = ("in", 0)

    def batch(key: bytes, time: int) -> None:
        kafka.append("in", key, b"v", time, partition=part[1])
        application.run_batch(time)

    batch(b"x", 0)
    before = len(lives)
    take(application)
    batch(b"x", 500)
    assert len(lives) == before
    batch(b"0", 1_500)
    assert lives[before:] == ["close", "init"]
    batch(b"x", 2_500)
    now[0] += LEASE_S
    batch(b"x", 3_500)
    assert lives[before:] == ["close", "init"] * 2
    assert fired == [0, 1_500, 2_500, 3_500]


def test_a_batch_that_fails_is_traced_once(kafka: MemoryKafka, staged: Staged) -> None:
    """What is not committed is not shown."""
    application = staged(words)
    take(application)
    send(kafka, "a")
    kafka.fault = lambda number: "before"
    with pytest.raises(InjectedFaultError):
        application.run_batch(1_000)
    assert take(application) == []
    kafka.fault = lambda number: None
    application.run_again()
    first, second = take(application)
    assert first.trace.notes == []
    assert "record cache" in second.trace.notes[0]


def test_traces_that_nobody_takes_are_bounded(kafka: MemoryKafka, staged: Staged) -> None:
    """How many records more there were is said."""
    application = staged(words, partitions=2)
    everything = RecordWatch(name="all", topic="in")
    take(application, everything)
    send(kafka, *(["a"] * 200))
    application.run_batch(1_000)
    (found,) = asked(application, everything)
    assert len(found.traces) == MOST_WAITING
    assert found.missed >= 200 - 2 * MOST_WAITING
    assert counts(application) == {"a": 200}


def test_a_share_of_all_records_is_traced(kafka: MemoryKafka, staged: Staged) -> None:
    """One of so many of each partition."""
    application = staged(words)
    share = RecordWatch(name="share", topic="in", every=10)
    take(application, share)
    send(kafka, *(["a"] * 60))
    application.run_batch(1_000)
    origins = {each.origin for each in take(application, share)}
    assert origins
    assert all(origin.offset % 10 == 0 for origin in origins)


def test_watches_end_by_themselves() -> None:
    """A reader that is gone costs nothing after its lease."""
    now = [0.0]
    traces = SlotTraces(lambda: now[0])
    for number in range(3):
        traces.take(RecordWatch(name=str(number), topic="in"))
    now[0] = LEASE_S
    assert traces.is_on
    assert traces.watches() == {}
    assert not traces.is_on
    traces.take(RecordWatch(name="more", topic="in"))
    assert [*traces.watches()] == ["more"]


@given(
    batches=st.lists(
        st.tuples(st.lists(st.sampled_from(["a", "b", "a b", "c a", ""]), max_size=6),
                  st.sampled_from(["take", "wait", "end"])),
        max_size=8,
    ),
    slots=st.integers(1, 2),
    over_columns=st.booleans(),
)  # fmt: skip
def test_a_watch_never_changes_what_comes_out(
    batches: list[tuple[list[str], str]], slots: int, over_columns: bool
) -> None:
    """The output and the stores are those of a run that nobody watches."""
    how: dict[str, Any] = {"slots": slots, "over_columns": over_columns}
    assert _run(batches, watches=True, **how) == _run(batches, watches=False, **how)


def _run(
    batches: list[tuple[list[str], str]], *, slots: int, over_columns: bool, watches: bool
) -> object:
    builder = ps.StreamsBuilder()
    windowed(builder)
    kafka, now = new_kafka(2), [0.0]
    config = {
        "application.id": "app",
        "statestore.cache.max.bytes": 1_000,
        "penstock.vectorize": "on" if over_columns else "off",
    }
    application = StagedApplication(builder.build().graph, config, kafka, slots=slots)
    try:
        time = 0
        for lines, what in batches:
            if watches and what == "take":
                for number in range(slots):
                    application.slot_of(number).traces._clock = lambda: now[0]
                take(application, RecordWatch(name="one", topic="in", every=2))
            if what == "end":
                now[0] += LEASE_S
            for line in lines:
                time += 700
                kafka.append("in", line[:1].encode(), line.encode(), time)
            application.run_batch(time)
        outputs = [
            # Markers of transactions take offsets, too.
            [each and (each.key, each.value, each.timestamp) for each in partition]
            for partition in kafka.logs["out"]
        ]
        rows = [dict(store.all()) for store in application.stores().get("counts", [])]
        return outputs, application.clocks, rows
    finally:
        application.close()


def windowed(builder: ps.StreamsBuilder) -> None:
    """Two stages with a cache, windows that close, and a table."""
    lines = builder.stream("in", key="string", value="string")
    split = lines.flat_map_values(lambda line: line.split()).group_by(lambda _, word: word)
    split.count("counts").to_stream().to("out")
    split.windowed_by(ps.TimeWindows.of_size_and_grace("2s", "1s")).count("per-window").suppress(
        ps.Suppressed.until_window_closes(ps.BufferConfig.unbounded())
    ).to_stream(lambda windowed, _: f"{windowed.key}@{windowed.window.start}").to("out")
