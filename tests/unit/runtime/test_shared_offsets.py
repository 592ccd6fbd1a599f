"""Applications of a pool ask Kafka together, and no answer is older than its question."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from penstock.errors import StreamsError
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.driver.threads.shared_offsets import (
    Offsets,
    SharedOffsets,
    _Question,
)

SETTINGS = {"bootstrap.servers": "here", "client.id": "a"}
PATIENCE_S = 30.0


class Kafka:
    """Topics with one partition each, whose ends are told when the test lets the answer go."""

    def __init__(self, **ends: int) -> None:
        self.ends = ends
        self.asked: list[tuple[set[str], bool]] = []
        self.has_begun = threading.Semaphore(0)
        self.may_answer = threading.Event()
        self.may_answer.set()

    def end_offsets(
        self, partitions: Iterable[TopicPartition], *, committed: bool = False
    ) -> dict[TopicPartition, int]:
        topics = {topic for topic, _ in partitions}
        self.asked.append((topics, committed))
        self.has_begun.release()
        assert self.may_answer.wait(PATIENCE_S)
        return {(topic, 0): self.ends[topic] for topic in topics}

    def offsets_at(
        self, partitions: Iterable[TopicPartition], time_ms: int
    ) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, time_ms)


def ask(offsets: Offsets, topic: str, **more: Any) -> int:
    return offsets.end_offsets([(topic, 0)], **more)[topic, 0]


def test_questions_that_wait_are_asked_as_one() -> None:
    """Twenty idle applications cost as many questions as one."""
    kafka, shared = Kafka(a=1, b=2, c=3, d=4), SharedOffsets()
    members = {topic: shared.of(kafka, {**SETTINGS, "client.id": topic}) for topic in "abcd"}
    kafka.may_answer.clear()
    with ThreadPoolExecutor(8) as pool:
        first = [pool.submit(ask, members[topic], topic) for topic in "ab"]
        assert kafka.has_begun.acquire(timeout=PATIENCE_S)
        later = [pool.submit(ask, members[topic], topic) for topic in "cd"]
        for _ in range(3_000):
            group = shared.group((("bootstrap.servers", "here"),), committed=False)
            if len(group._waiting) + sum(len(topics) for topics, _ in kafka.asked) >= 4:
                break
            threading.Event().wait(0.01)
        kafka.may_answer.set()
        assert [call.result(PATIENCE_S) for call in (*first, *later)] == [1, 2, 3, 4]
    assert len(kafka.asked) < 4
    assert set().union(*(topics for topics, _ in kafka.asked)) == set("abcd")


def test_an_answer_is_never_older_than_its_question() -> None:
    """An end before the position of an application would look like a topic that was made anew."""
    kafka, shared = Kafka(a=1), SharedOffsets()
    member = shared.of(kafka, SETTINGS)
    for end in range(2, 20):
        kafka.ends["a"] = end
        assert ask(member, "a") == end


@pytest.mark.parametrize(
    ("other", "committed"), [({"bootstrap.servers": "there"}, False), (SETTINGS, True)]
)
def test_other_clusters_and_isolation_levels_are_asked_apart(
    other: dict[str, Any], committed: bool
) -> None:
    """The same topic has another end there."""
    here, there, shared = Kafka(a=1), Kafka(a=2), SharedOffsets()
    members = shared.of(here, SETTINGS), shared.of(there, other)
    with ThreadPoolExecutor(8) as pool:
        calls = [
            pool.submit(ask, member, "a", committed=flag)
            for member, flag in zip(members, (False, committed), strict=True)
            for _ in range(4)
        ]
        found = [call.result(PATIENCE_S) for call in calls]
    assert found == [1] * 4 + [2] * 4


def test_a_topic_that_is_gone_is_the_error_of_its_own_application() -> None:
    """The others get their answer all the same."""
    kafka, shared = Kafka(a=1, c=3), SharedOffsets()
    members = {topic: shared.of(kafka, SETTINGS) for topic in "abc"}
    with ThreadPoolExecutor(8) as pool:
        calls = {topic: pool.submit(ask, member, topic) for topic, member in members.items()}
        assert [calls[topic].result(PATIENCE_S) for topic in "ac"] == [1, 3]
        with pytest.raises(KeyError, match="b"):
            calls["b"].result(PATIENCE_S)


class Broken(Kafka):
    """Fails for several topics at once."""

    error: Exception = StreamsError("broker-away", "away")

    def end_offsets(
        self, partitions: Iterable[TopicPartition], *, committed: bool = False
    ) -> dict[TopicPartition, int]:
        wanted = [*partitions]
        if len(wanted) > 1:
            raise self.error
        return super().end_offsets(wanted, committed=committed)


@pytest.mark.parametrize("is_fault", [False, True])
def test_only_a_fault_of_the_common_question_is_written_to_the_log(
    is_fault: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Each application asks alone then, and nobody would notice but for the load."""
    kafka, shared = Broken(a=1, b=2), SharedOffsets()
    if is_fault:
        kafka.error = TypeError("a fault")
    group = shared.group((("bootstrap.servers", "here"),), committed=False)
    questions = [_Question(frozenset({(topic, 0)}), Future()) for topic in "ab"]
    group._waiting.extend(questions)
    group._ask_for_all(kafka.end_offsets)
    assert [question.done.result(PATIENCE_S) for question in questions] == [None, None]
    assert ("the common question" in caplog.text) == is_fault


def test_offsets_by_time_are_asked_alone() -> None:
    """Each application asks for times of its own."""
    member = SharedOffsets().of(Kafka(), SETTINGS)
    assert member.offsets_at([("a", 0)], 7) == {("a", 0): 7}
