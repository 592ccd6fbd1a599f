"""A task's batch: what is consumed, and what a cut leaves behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import penstock as ps
from penstock.config import StreamsConfig
from penstock.kernel.raw_columns import RawColumns
from penstock.kernel.stores import TaskStores
from penstock.kernel.task import StreamTask
from penstock.model.record import Headers
from penstock.model.task_id import TaskId
from penstock.runtime.settings import task_settings
from penstock.state.engine.memory import MemoryStore

BAD = b"bad"


class Output:
    """Keeps the values that are sent, by topic."""

    def __init__(self) -> None:
        self.sent: dict[str, list[bytes | None]] = {}

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers,
        partition: int | None = None,
    ) -> None:
        self.sent.setdefault(topic, []).append(value)

    def partitions(self, topic: str) -> int:
        return 1


def start(*topics: str, program: Callable[[Any], Any] = lambda stream: stream) -> StreamTask:
    """A task that copies these topics to one; a value has to be JSON."""
    builder = ps.StreamsBuilder()
    stream = builder.stream(list(topics), key="bytes", value="json")
    program(stream).to("out", key="bytes", value="json")
    graph = builder.build().graph
    config = {
        "application.id": "app", "deserialization.exception.handler": "continue",
        "errors.dead.letter.queue.topic.name": "dead",
    }  # fmt: skip
    settings = task_settings(StreamsConfig(config))
    stores = TaskStores(
        [], settings=settings, engine=lambda name: MemoryStore(), changelog=lambda name: None
    )
    task = StreamTask(
        TaskId(0, 0), graph, graph.nodes, settings=settings, collector=Output(), stores=stores,
        wall_clock=lambda: 0,
    )  # fmt: skip
    for topic in topics:
        task.add_queue(topic, next(iter(graph.nodes)))
    return task


def records(topic: str, *values: bytes, first: int = 0, at: int = 0) -> tuple[str, RawColumns]:
    """Records a millisecond apart."""
    places, times = range(first, first + len(values)), range(at, at + len(values))
    return topic, RawColumns(topic, 0, places, times, [b"k"] * len(values), values)


def sent(task: StreamTask, topic: str = "out") -> list[bytes | None]:
    return task.collector.sent.get(topic, [])  # type: ignore[attr-defined,no-any-return]


def at_question(number: int) -> Callable[[], bool]:
    answers = iter([False] * (number - 1))
    return lambda: next(answers, True)


def test_a_batch_is_consumed_whole_unless_something_cuts_it() -> None:
    """Records that are skipped are consumed, too."""
    task = start("in", "empty")
    inputs = [records("in", b"1", BAD, b"2", BAD), records("empty")]
    assert task.run_batch(inputs) == {"in": 4, "empty": 0}
    assert sent(task) == [b"1", b"2"]
    assert task.consumed_offsets == {("in", 0): 3}


def test_stop_ends_a_batch_after_a_record() -> None:
    """What is left is forgotten, and comes again with the next batch."""
    task = start("in")
    assert task.run_batch([records("in", b"1", b"2", b"3")], stop=at_question(2)) == {"in": 2}
    assert task.consumed_offsets == {("in", 0): 1}
    assert not task.has_records
    assert task.run_batch([records("in", b"3", first=2)]) == {"in": 1}
    assert sent(task) == [b"1", b"2", b"3"]


def test_a_slow_function_is_noticed_at_once() -> None:
    """Each of the first records is followed by a question, later only every 32nd."""
    asked = []

    def stop() -> bool:
        asked.append(len(sent(task)))
        return False

    task = start("in")
    task.run_batch([records("in", *[b"1"] * 90)], stop=stop)
    assert asked == [*range(1, 17), 48, 80]


def test_stop_is_not_asked_before_a_record_is_done() -> None:
    """A batch that is always late still goes on by one record."""
    task = start("in", "other")
    both = [records("in", b"1", b"3"), records("other", b"2", at=1)]
    assert task.run_batch(both, stop=lambda: True) == {"in": 1, "other": 0}
    assert sent(task) == [b"1"]


def test_skipped_records_before_the_head_are_consumed_with_the_record_before_them() -> None:
    """Their handler was asked while the next head was looked for; it must not be asked again."""
    task = start("in")
    values = (b"1", BAD, BAD, b"2", BAD)
    assert task.run_batch([records("in", *values)], stop=lambda: True) == {"in": 3}
    assert task.consumed_offsets == {("in", 0): 2}
    assert task.run_batch([records("in", *values[3:], first=3)], stop=lambda: True) == {"in": 2}
    assert sent(task, "dead") == [BAD, BAD, BAD]
    assert sum(task.dropped_records.values()) == 3


def test_a_head_that_is_not_processed_leaves_no_trace() -> None:
    """It was decoded, so that its time is known, but neither clock has seen it."""
    task = start("in", "other")
    both = [records("in", b"1", b"3", at=5), records("other", b"2", at=90)]
    task.run_batch(both, stop=lambda: True)
    clocks = task.clocks()
    assert (clocks["stream_time"], clocks["partitions"]) == (5, {"in": 5, "other": -1})


def test_a_truncated_queue_that_is_empty_keeps_the_others_waiting() -> None:
    """Its next record might be the oldest."""
    task = start("in", "other")
    both = [records("in", b"1", b"2"), records("other", b"3", b"4", at=1)]
    assert task.run_batch(both, truncated=frozenset({"in"})) == {"in": 2, "other": 1}
    assert sent(task) == [b"1", b"3", b"2"]
    again = [records("in", b"5", first=2, at=2), records("other", b"4", first=1, at=2)]
    assert task.run_batch(again) == {"in": 1, "other": 1}
    assert sent(task) == [b"1", b"3", b"2", b"4", b"5"]


def test_a_truncated_queue_without_records_lets_nothing_through() -> None:
    """Also if all that was handed over is skipped, which is consumed."""
    task = start("in", "other")
    waiting = records("other", BAD, b"1")
    nothing = task.run_batch([records("in"), waiting], truncated=frozenset({"in"}))
    assert nothing == {"in": 0, "other": 0}
    skipped = task.run_batch([records("in", BAD), waiting], truncated=frozenset({"in"}))
    assert skipped == {"in": 1, "other": 1}
    assert (sent(task), sent(task, "dead")) == ([], [BAD, BAD])


def test_a_truncated_queue_alone_is_consumed() -> None:
    """There is nothing that could wait for it."""
    task = start("in")
    assert task.run_batch([records("in", b"1", b"2")], truncated=frozenset({"in"})) == {"in": 2}


def test_offsets_of_records_that_are_left_are_given_again() -> None:
    """They count on from batch to batch where there is no topic."""
    task = start("in")
    assert task.next_offsets("in", 3) == range(3)
    task.run_batch([records("in", b"1", b"2", b"3")], stop=lambda: True)
    assert task.next_offsets("in", 2) == range(1, 3)


def test_a_request_to_commit_can_be_read_after_the_batch() -> None:
    """The flush answers it, so it holds for one batch."""

    class Impatient(ps.Processor[Any, Any, Any, Any]):
        def process(self, record: Any) -> None:
            if record.value == 1:
                self.context.commit()

    task = start("in", program=lambda stream: stream.process(Impatient))
    task.run_batch([records("in", b"1", b"2")])
    assert (task.commit_requested, task.commit_was_requested) == (False, True)
    task.run_batch([records("in", b"2", first=2)])
    assert not task.commit_was_requested
