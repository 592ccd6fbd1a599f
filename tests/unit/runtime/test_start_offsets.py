"""Where reading starts: committed offsets, then the source's policy, then the application's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

import penstock as ps
from penstock.errors import StreamsError
from penstock.kafka.admin_answers import PartitionState, Topic
from penstock.kafka.errors import KafkaRequestError
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.driver.start_offsets import first_offsets, start_offsets


class FakeAdmin:
    """Partitions from 10 to 50; times are found at 30, or not at all in topic ``old``.

    The transaction at offset 20 is open.
    """

    def begin_offsets(self, parts: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(parts, 10)

    def end_offsets(
        self, parts: Iterable[TopicPartition], *, committed: bool = False
    ) -> dict[TopicPartition, int]:
        return dict.fromkeys(parts, 20 if committed else 50)

    def offsets_at(
        self, parts: Iterable[TopicPartition], time_ms: int
    ) -> dict[TopicPartition, int]:
        return {part: -1 if part[0] == "old" else 30 for part in parts}


def starts(
    default: str,
    committed: dict[TopicPartition, int] | None = None,
    policy: Any = None,
    topic: str = "t",
    **given: Any,
) -> int:
    builder = ps.StreamsBuilder()
    builder.stream(topic, ps.Consumed(offset_reset=policy)).to("out")
    admin: Any = FakeAdmin()
    graph = builder.build().graph
    return start_offsets([(topic, 0)], committed or {}, graph, admin, default, **given)[topic, 0]


def test_committed_offsets_come_first() -> None:
    """An application goes on where it stopped, whatever the policy."""
    assert starts("latest", {("t", 0): 42}, policy="earliest") == 42


@pytest.mark.parametrize(("default", "expected"), [("earliest", 10), ("latest", 50)])
def test_the_applications_policy_decides_where_nothing_is_committed(
    default: str, expected: int
) -> None:
    """As ``auto.offset.reset`` says."""
    assert starts(default) == expected


def test_a_sources_own_policy_comes_before_the_applications() -> None:
    """Each source may have another one."""
    assert starts("latest", policy="earliest") == 10


def test_a_duration_goes_back_that_far() -> None:
    """Or to the end, if nothing is that young."""
    assert starts("by_duration:PT3600S") == 30
    assert starts("by_duration:PT1.5S", topic="old") == 50


def test_no_policy_is_an_error_that_names_the_partitions() -> None:
    """With ``none`` a missing offset must not be guessed."""
    with pytest.raises(StreamsError, match=r"no-offset.*t-0"):
        starts("none")


@pytest.mark.parametrize("default", ["latest", "by_duration:PT3600S"])
def test_a_reader_of_committed_records_starts_before_an_open_transaction(default: str) -> None:
    """Its end comes before the end of the log. A start behind it looks like lost records."""
    assert starts(default, read_committed=True) == 20


class WithoutLeader(FakeAdmin):
    """Partition 1 has no leader."""

    def begin_offsets(self, parts: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return super().begin_offsets(self._checked(parts))

    def end_offsets(
        self, parts: Iterable[TopicPartition], *, committed: bool = False
    ) -> dict[TopicPartition, int]:
        return super().end_offsets(self._checked(parts), committed=committed)

    def topics(self) -> dict[str, Topic]:
        states = (PartitionState(number, 1 - 2 * number, (), ()) for number in range(2))
        return {"t": Topic("t", tuple(states))}

    @staticmethod
    def _checked(parts: Iterable[TopicPartition]) -> list[TopicPartition]:
        asked = list(parts)
        if ("t", 1) in asked:
            raise KafkaRequestError("kafka-not-ready", "no leader")
        return asked


def begun(default: str, committed: dict[TopicPartition, int]) -> dict[TopicPartition, int]:
    builder = ps.StreamsBuilder()
    builder.stream("t").to("out")
    admin: Any = WithoutLeader()
    return first_offsets([("t", 0), ("t", 1)], committed, builder.build().graph, admin, default)


def test_a_partition_without_a_leader_goes_on_where_it_was_committed() -> None:
    """The others are asked whether their offsets are still there."""
    assert begun("latest", {("t", 0): 5, ("t", 1): 7}) == {("t", 0): 50, ("t", 1): 7}
    assert begun("earliest", {}) == {("t", 0): 10, ("t", 1): 0}


def test_a_partition_without_a_leader_is_waited_for_if_nothing_is_known_about_it() -> None:
    """Its end would have to be guessed."""
    with pytest.raises(KafkaRequestError, match="no leader"):
        begun("latest", {("t", 0): 15})
