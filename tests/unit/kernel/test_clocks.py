"""Which of the clocks that were noted belong to a task."""

from penstock.kernel.clocks import Clocks, fitting, read_clocks, set_clocks
from penstock.kernel.punctuation import PunctuationQueue
from penstock.kernel.record_queue import Head, PartitionGroup, RawRecord, RecordQueue

NOTED: Clocks = {
    "stream_time": 90,
    "partitions": {"in": 90, "moved|0_1": 40, "moved|0_2": 30},
    "received": {"moved|0_1": 4, "moved|0_2": 3},
    "operators": {"agg": (90, 80, 0), "other": (1, 1, 1)},
    "joins": {"merge": (40, 30, 0)},
    "stream_punctuations": [("agg", 100), ("tick", -1)],
    "wall_punctuations": [("tick", 5)],
    "queue_order": ["moved|0_2", "in"],
}
NODES = {"agg", "other", "merge", "tick"}


def test_clocks_of_the_same_task_fit_as_they_are() -> None:
    """A topic is the part of a queue's name before the task that sends to it."""
    assert fitting(NOTED, {"in", "moved", "new"}, NODES | {"new"}) == NOTED


def test_a_topic_that_is_not_read_takes_its_clocks_and_the_stream_time_along() -> None:
    """The highest time of the inputs that are left is what their records have shown."""
    fit = fitting(NOTED, {"moved"}, {"merge"})
    assert fit is not None
    assert fit["partitions"] == {"moved|0_1": 40, "moved|0_2": 30}
    assert fit["received"] == {"moved|0_1": 4, "moved|0_2": 3}
    assert fit["stream_time"] == 40
    assert fit["queue_order"] == ["moved|0_2"]
    assert (fit["operators"], fit["joins"]) == ({}, {"merge": (40, 30, 0)})


def test_nodes_alone_leave_the_stream_time_unknown() -> None:
    """Their own clocks say when their windows close."""
    fit = fitting(NOTED, {"elsewhere"}, {"agg"})
    assert fit is not None
    assert (fit["stream_time"], fit["operators"]) == (-1, {"agg": (90, 80, 0)})


def test_clocks_of_another_task_do_not_fit() -> None:
    """A query that was added in front has neither its topics nor its nodes."""
    assert fitting(NOTED, {"elsewhere"}, {"unheard"}) is None


def test_punctuations_fit_only_if_all_of_their_nodes_do() -> None:
    """Their order says which schedule of a node each belongs to."""
    fit = fitting(NOTED, {"in", "moved"}, {"tick"})
    assert fit is not None
    assert fit["stream_punctuations"] == []
    assert fit["wall_punctuations"] == [("tick", 5)]


def test_punctuations_without_nodes_fit_where_all_inputs_do() -> None:
    """An earlier release noted the times alone."""
    old: Clocks = {**NOTED, "stream_punctuations": [100, -1]}
    same, other = fitting(old, {"in", "moved"}, NODES), fitting(old, {"in"}, NODES)
    assert same is not None
    assert same["stream_punctuations"] == [100, -1]
    assert other is not None
    assert other["stream_punctuations"] == []


def test_schedules_take_times_of_their_own_nodes_only() -> None:
    """More may have been noted: made while records were processed."""
    assert restored([("a", 70), ("b", -1), ("late", 9)]) == [("a", 70), ("b", -1)]
    assert restored([("b", 70), ("a", 80)]) == [("a", 0), ("b", 0)]
    assert restored([("a", 70)]) == [("a", 0), ("b", 0)]
    assert restored([]) == [("a", 0), ("b", 0)]
    assert restored([70, -1]) == [("a", 70), ("b", -1)]


def restored(noted: list[tuple[str, int]] | list[int]) -> list[tuple[str, int]]:
    stream, wall, group = PunctuationQueue(), PunctuationQueue(), PartitionGroup()
    for node in ("a", "b"):
        stream.schedule(node, 0, 10, lambda time: None)
    set_clocks({**NOTED, "stream_punctuations": noted}, group, {}, {}, stream, wall)
    times = stream.times()
    assert stream.next_time() == min((time for _, time in times if time >= 0), default=None)
    return times


def test_the_order_of_queues_is_noted_after_a_cut_only() -> None:
    """Equal timestamps of the next batch depend on it, also after a restart."""
    group, queue = PartitionGroup(), PunctuationQueue()
    for name in ("one", "other"):
        group.queues[name] = RecordQueue(name, "source", decode)
        group.add(name, [RawRecord("t", 0, n, n, None, None) for n in range(2)])
    assert "queue_order" not in read_clocks(group, {}, {}, queue, queue)
    group.next()
    assert group.give_back() == {"other": 2, "one": 1}
    noted = read_clocks(group, {}, {}, queue, queue)
    assert noted["queue_order"] == ["other", "one"]
    again = PartitionGroup()
    set_clocks(noted, again, {}, {}, queue, queue)
    assert again.in_order([("one", 1), ("new", 2), ("other", 3)]) == [
        ("other", 3), ("one", 1), ("new", 2),
    ]  # fmt: skip


def test_a_queue_without_a_clock_has_seen_no_record() -> None:
    """A changed program reads another topic; its first record may have any time."""
    group, queue = PartitionGroup(), PunctuationQueue()
    for name in ("in", "more"):
        group.queues[name] = RecordQueue(name, "source", decode)
    set_clocks(NOTED, group, {}, {}, queue, queue)
    found = {name: (each.partition_time, each.received) for name, each in group.queues.items()}
    assert found == {"in": (90, 0), "more": (-1, 0)}


def decode(raw: RawRecord, partition_time: int) -> Head:
    return raw, raw.key, raw.value, raw.timestamp
