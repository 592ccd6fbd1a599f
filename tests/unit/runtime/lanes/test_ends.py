"""Where partitions end: one question for all lanes, and no partition holds up the others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator

import pytest

from penstock.errors import StreamsError
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.driver.lanes import ends as module
from penstock.runtime.spark.driver.lanes.ends import EndsWatch

ZERO, ONE, TWO = ("in", 0), ("in", 1), ("in", 2)
ALL = {ZERO, ONE, TWO}
LONG_S = 30.0
NO_LEADER = StreamsError("broker-away", "no leader")


class Kafka:
    """Answers questions; partitions may have no leader, so that whoever asks for them waits."""

    def __init__(self) -> None:
        self.ends = {ZERO: 10, ONE: 11, TWO: 12}
        self.questions: list[frozenset[TopicPartition]] = []
        self.committed: set[bool] = set()
        #: Raised by questions about one of these partitions.
        self.errors: dict[TopicPartition, Exception] = {}
        self.without_leader: set[TopicPartition] = set()
        self._changed = threading.Condition()

    def elect(self, *parts: TopicPartition) -> None:
        with self._changed:
            self.without_leader -= set(parts)
            self._changed.notify_all()

    def end_offsets(
        self, partitions: Iterable[TopicPartition], *, committed: bool = False
    ) -> dict[TopicPartition, int]:
        parts = frozenset(partitions)
        self.questions.append(parts)
        self.committed.add(committed)
        with self._changed:
            self._changed.wait_for(lambda: not parts & self.without_leader, LONG_S)
        for part in parts & self.errors.keys():
            raise self.errors[part]
        return {part: self.ends[part] for part in parts}

    def alone(self, part: TopicPartition) -> int:
        """Return how often a partition was asked for alone."""
        return self.questions.count(frozenset((part,)))

    def offsets_at(
        self, partitions: Iterable[TopicPartition], time_ms: int
    ) -> dict[TopicPartition, int]:
        raise AssertionError("nobody asks for times")


@pytest.fixture
def kafka() -> Iterator[Kafka]:
    made = Kafka()
    yield made
    made.elect(*ALL)


@pytest.fixture
def watch(kafka: Kafka, monkeypatch: pytest.MonkeyPatch) -> Iterator[EndsWatch]:
    for name, seconds in (("_LATE_S", LONG_S), ("_PATIENCE_S", LONG_S), ("_PAUSE_S", 0.0)):
        monkeypatch.setattr(module, name, seconds)
    made = EndsWatch(kafka, ALL, committed=True)
    yield made
    made.close()


def until(is_true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LONG_S
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def test_every_question_begins_after_the_call(kafka: Kafka, watch: EndsWatch) -> None:
    """What was written before it is seen."""
    for end in (20, 21, 22):
        kafka.ends[ZERO] = end
        assert watch.fresh() == {ZERO: end, ONE: 11, TWO: 12}
    assert kafka.questions == [frozenset(ALL)] * 3
    assert kafka.committed == {True}


def test_lanes_that_ask_at_the_same_time_share_a_question(kafka: Kafka, watch: EndsWatch) -> None:
    """While one question is under way, those who come ask the next one together."""
    kafka.without_leader = {ZERO}
    found: list[dict[TopicPartition, int]] = []
    lanes = [threading.Thread(target=lambda: found.append(watch.fresh())) for _ in range(6)]
    lanes[0].start()
    until(lambda: len(kafka.questions) == 1)
    for lane in lanes[1:]:
        lane.start()
    until(lambda: watch._wanted == 2)
    kafka.elect(ZERO)
    for lane in lanes:
        lane.join(LONG_S)
    assert len(found) == 6
    assert sum(question == ALL for question in kafka.questions) == 2


def test_what_is_left_is_known_from_the_last_question(kafka: Kafka, watch: EndsWatch) -> None:
    """It costs no question of its own. A task may be beyond an end that has become old."""
    assert watch.behind({ZERO: 0}) is None
    watch.fresh()
    assert watch.behind({ZERO: 4, ONE: 11, TWO: 13, ("other", 0): 0}) == 6
    assert watch.behind({}) is None
    assert len(kafka.questions) == 1


def test_a_late_answer_is_not_waited_for(
    kafka: Kafka, watch: EndsWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lane goes on with the ends that it knows."""
    before = watch.fresh()
    monkeypatch.setattr(module, "_PATIENCE_S", 0.01)
    kafka.without_leader, kafka.ends[ONE] = {ZERO}, 99
    assert watch.fresh() == before
    kafka.elect(ZERO)
    until(lambda: watch.fresh()[ONE] == 99)


def test_a_partition_that_does_not_answer_is_left_out(
    kafka: Kafka, watch: EndsWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its broker hangs; the others go on, and are asked for without it."""
    monkeypatch.setattr(module, "_LATE_S", 0.3)
    kafka.without_leader = {ONE}
    assert watch.fresh() == {ZERO: 10, TWO: 12}
    assert watch.away == {ONE}
    monkeypatch.setattr(module, "_LATE_S", LONG_S)
    kafka.questions.clear()
    kafka.ends[ZERO] = 21
    assert watch.fresh() == {ZERO: 21, TWO: 12}
    assert kafka.questions == [frozenset({ZERO, TWO})]
    kafka.elect(ONE)
    until(lambda: watch.fresh().get(ONE) == 11)
    assert watch.away == frozenset()


def test_a_partition_without_a_leader_is_asked_for_alone_until_it_has_one(
    kafka: Kafka, watch: EndsWatch
) -> None:
    """Kafka says at once that it has none."""
    watch.fresh()
    kafka.errors[ONE] = NO_LEADER
    assert watch.fresh() == {ZERO: 10, TWO: 12}
    for _ in range(2):
        before = kafka.alone(ONE)
        until(lambda before=before: ONE not in watch.fresh() and kafka.alone(ONE) > before)  # type: ignore[misc]
    kafka.ends[ONE] = 50
    kafka.errors.clear()
    until(lambda: watch.fresh().get(ONE) == 50)
    kafka.ends[ONE] = 51
    assert watch.fresh() == {ZERO: 10, ONE: 51, TWO: 12}


def test_a_cluster_that_does_not_answer_at_all_is_an_error(
    kafka: Kafka, watch: EndsWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then it is not the partitions."""
    monkeypatch.setattr(module, "_LATE_S", 0.05)
    kafka.without_leader = set(ALL)
    with pytest.raises(StreamsError, match="does not say where the partitions of 'in'") as raised:
        watch.fresh()
    assert raised.value.code == "broker-away"
    assert watch.away == frozenset()
    monkeypatch.setattr(module, "_LATE_S", LONG_S)
    kafka.elect(*ALL)
    assert watch.fresh() == kafka.ends


def test_the_last_partitions_that_fall_silent_are_an_error_too(
    kafka: Kafka, watch: EndsWatch
) -> None:
    """Ends of earlier answers are no answer."""
    watch.fresh()
    kafka.errors = {ONE: NO_LEADER}
    watch.fresh()
    kafka.errors = dict.fromkeys(ALL, NO_LEADER)
    with pytest.raises(StreamsError, match="no leader"):
        watch.fresh()


def test_the_reason_that_kafka_gives_is_told(kafka: Kafka, watch: EndsWatch) -> None:
    kafka.errors = dict.fromkeys(ALL, StreamsError("not-allowed", "no right to read 'in'"))
    with pytest.raises(StreamsError, match="no right to read 'in'"):
        watch.fresh()


def test_a_topic_that_is_gone_is_an_error_at_once(kafka: Kafka, watch: EndsWatch) -> None:
    """Waiting would not help: the application begins again without it, or ends."""
    kafka.errors[ONE] = StreamsError("unknown-topic", "topic 'in' does not exist")
    with pytest.raises(StreamsError, match="topic 'in' does not exist"):
        watch.fresh()
    assert watch.away == frozenset()
    assert kafka.questions == [frozenset(ALL)]


def test_an_error_is_forgotten_with_the_next_answer(kafka: Kafka, watch: EndsWatch) -> None:
    kafka.errors[ONE] = StreamsError("unknown-topic", "topic 'in' does not exist")
    with pytest.raises(StreamsError):
        watch.fresh()
    kafka.errors.clear()
    assert watch.fresh() == kafka.ends


def test_the_end_does_not_wait_for_an_answer(kafka: Kafka, watch: EndsWatch) -> None:
    kafka.without_leader = set(ALL)
    asking = threading.Thread(target=watch.fresh)
    asking.start()
    until(lambda: bool(kafka.questions))
    watch.close()
    asking.join(LONG_S)
    assert not asking.is_alive()


def test_a_topology_without_inputs_has_no_ends(kafka: Kafka) -> None:
    watch = EndsWatch(kafka, (), committed=False)
    assert watch.fresh() == {}
    watch.close()
