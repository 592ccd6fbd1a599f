"""Queries are idle when readers see what they wrote, not when the commit has returned."""

from collections.abc import Collection, Mapping

from penstock.model.topic_partition import TopicPartition
from penstock.sql.queries.idle import wait_until_idle

SINK = ("SINK", 0)


class Cluster:
    """A broker that marks what was written as committed only after some questions."""

    def __init__(self, questions_until_marked: int) -> None:
        self.left = questions_until_marked

    def end_offsets(
        self, partitions: Collection[TopicPartition], *, committed: bool = False
    ) -> Mapping[TopicPartition, int]:
        if committed:
            self.left -= 1
        return dict.fromkeys(partitions, 0 if committed and self.left > 0 else 7)


class Idle:
    """An application that has processed everything."""

    def run_until_idle(self, timeout: str) -> bool:
        return True

    def lag(self) -> Mapping[TopicPartition, int]:
        return {("SOURCE", 0): 0}


def test_wait_for_the_markers_of_the_last_commit() -> None:
    cluster = Cluster(questions_until_marked=4)

    assert wait_until_idle([Idle()], cluster, [SINK], 30.0)

    assert cluster.left <= -1, "the last two rounds saw everything"


def test_say_so_if_the_markers_do_not_come_in_time() -> None:
    assert not wait_until_idle([Idle()], Cluster(10_000), [SINK], 0.1)


def test_an_application_with_input_left_is_not_idle() -> None:
    class Busy(Idle):
        rounds = 0

        def lag(self) -> Mapping[TopicPartition, int]:
            self.rounds += 1
            return {("SOURCE", 0): 3 if self.rounds < 3 else 0}

    busy = Busy()

    assert wait_until_idle([busy], Cluster(0), [SINK], 30.0)

    assert busy.rounds == 4


def test_an_application_without_time_ends_the_wait() -> None:
    class Slow(Idle):
        def run_until_idle(self, timeout: str) -> bool:
            return False

    assert not wait_until_idle([Slow()], Cluster(0), [SINK], 1.0)
