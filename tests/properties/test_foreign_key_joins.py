"""Foreign-key joins in batches of any size end with the table that a recomputation finds."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock import KTable, StreamsBuilder
from penstock.runtime.local.memory_kafka import MemoryKafka
from penstock.runtime.local.staged import StagedApplication
from penstock.runtime.spark.exchange.stage_request import NO_LIMITS, Limits
from penstock.topology.graph import Graph
from tests.properties.runs import SOME, cut

Table = dict[str, str]
ALL = 1_000
CONFIG = {"application.id": "app", "statestore.cache.max.bytes": 0}


class Edit(NamedTuple):
    """One record of a table's topic; a value is a foreign key, a colon and a number."""

    topic: str
    key: str
    value: str | None
    timestamp: int = 0


def edits(*topics: str) -> st.SearchStrategy[list[Edit]]:
    """Changes and deletions of few rows; the foreign keys are keys of all topics."""
    key = st.sampled_from(["a", "b", "c"])
    value = st.builds("{}:{}".format, st.sampled_from(["a", "b", "c", ""]), st.integers(0, 2))
    edit = st.builds(Edit, st.sampled_from(topics), key, st.none() | value, st.integers(0, 5))
    return st.lists(edit, max_size=14)


def foreign_key(value: str) -> str | None:
    return value.partition(":")[0] or None


def joined(left: str, right: str | None) -> str:
    return f"{left} {right}"


def run(
    events: Sequence[Edit],
    sizes: Sequence[int],
    *,
    is_left: bool,
    partitions: int = 1,
    limits: Limits = NO_LIMITS,
) -> Table:
    """Return the joined table after all events, the last record of each key in the output."""
    is_self_join = all(event.topic == "left" for event in events)
    kafka = MemoryKafka(partitions)
    for topic in ("left", "right", "out"):
        kafka.create(topic)
    graph = _topology(is_left=is_left, right="left" if is_self_join else "right")
    application = StagedApplication(graph, CONFIG, kafka, slots=partitions, limits=limits)
    try:
        for batch in cut(events, sizes):
            for topic, key, value, timestamp in batch:
                kafka.append(topic, key.encode(), _bytes(value), timestamp)
            application.run_batch(0)
        while application.has_waiting():
            application.run_batch(0)
    finally:
        application.close()
    last = {r.key: r.value for r in kafka.committed if r.topic == "out"}
    return {key.decode(): value.decode() for key, value in last.items() if key and value}


def _topology(*, is_left: bool, right: str) -> Graph:
    builder = StreamsBuilder()
    rows: KTable[str, str] = builder.table("left", key=str, value=str)
    others = rows if right == "left" else builder.table(right, key=str, value=str)
    join = rows.left_join if is_left else rows.join
    join(others, joined, foreign_key=foreign_key).to_stream().to("out")
    return builder.build().graph


def _bytes(value: str | None) -> bytes | None:
    return None if value is None else value.encode()


def recomputed(events: Sequence[Edit], *, is_left: bool) -> Table:
    """Return the joined table of the last values, in plain Python."""
    tables: dict[str, dict[str, str | None]] = {"left": {}, "right": {}}
    for event in events:
        tables[event.topic][event.key] = event.value
    is_self_join = all(event.topic == "left" for event in events)
    others = tables["left" if is_self_join else "right"]
    return dict(_rows(tables["left"], others, is_left=is_left))


def _rows(
    rows: dict[str, str | None], others: dict[str, str | None], *, is_left: bool
) -> Iterator[tuple[str, str]]:
    for key, value in rows.items():
        other = None if value is None else others.get(foreign_key(value) or "")
        if value is not None and (is_left or other is not None):
            yield key, joined(value, other)


PARENT = [Edit("left", "a", ":0"), Edit("left", "k", "a:0")]
PARTNERS = [Edit("right", "a", "row"), Edit("left", "k", "a:0")]

#: With few bytes per stage, the answer to the deletion of "b" comes after its next change.
CUT = [
    Edit("left", "c", "a:2", 2),
    Edit("left", "c", "b:1", 4),
    Edit("left", "b", "b:0", 5),
    Edit("left", "b", None, 4),
    Edit("left", "b", "a:0", 4),
]


@pytest.mark.parametrize(
    "changes",
    [
        [Edit("left", "k", None), Edit("left", "k", "b:1")],
        [Edit("left", "k", ":1"), Edit("left", "k", ":2")],
        [Edit("left", "k", ":1"), Edit("left", "k", None)],
        [Edit("left", "k", "b:1"), Edit("left", "k", "b:2")],
        [Edit("left", "k", "a:1"), Edit("left", "k", None), Edit("left", "k", ":2")],
        [Edit("right", "a", None, 1), Edit("left", "k", "a:1", 2)],
    ],
)
def test_inner_join_deletes_the_result_of_a_row_that_changes_twice(changes: list[Edit]) -> None:
    """The answer to the first change is dropped, so the last one has to be answered."""
    assert run([*PARTNERS, *changes], [2, ALL], is_left=False) == {}


def test_inner_join_in_batches_of_one_record_sends_no_tombstone_without_reason() -> None:
    """One by one, a row without partner is not answered, as in Java."""
    events = [Edit("left", "k", value) for value in ("a:1", "a:2", None, "a:3", ":1", ":2")]
    assert _sent(events, 1) == [None, None]


def _sent(events: Sequence[Edit], size: int) -> list[bytes | None]:
    kafka = MemoryKafka()
    for topic in ("left", "right", "out"):
        kafka.create(topic)
    graph = _topology(is_left=False, right="right")
    application = StagedApplication(graph, CONFIG, kafka)
    for batch in cut(events, [size]):
        for topic, key, value, timestamp in batch:
            kafka.append(topic, key.encode(), _bytes(value), timestamp)
        application.run_batch(0)
    application.close()
    return [record.value for record in kafka.committed if record.topic == "out"]


@pytest.mark.parametrize("is_left", [False, True], ids=["inner", "left"])
@SOME
@given(
    events=edits("left", "right"),
    sizes=st.sampled_from([[1], [2], [3, 1], [ALL]]),
    partitions=st.integers(1, 2),
)
@example([*PARTNERS, Edit("left", "k", None), Edit("left", "k", "b:1")], [2], 1)
def test_join_ends_with_the_recomputed_table(
    is_left: bool, events: list[Edit], sizes: list[int], partitions: int
) -> None:
    """However records are cut into batches, the last result of each row is the right one."""
    found = run(events, sizes, is_left=is_left, partitions=partitions)
    assert found == recomputed(events, is_left=is_left)


@pytest.mark.parametrize("is_left", [False, True], ids=["inner", "left"])
@SOME
@given(events=edits("left"), sizes=st.sampled_from([[1], [2], [3, 1], [ALL]]))
@example([*PARENT, Edit("left", "a", None, 1), Edit("left", "k", "a:1", 2)], [2])
def test_join_of_a_table_with_itself_ends_with_the_recomputed_table(
    is_left: bool, events: list[Edit], sizes: list[int]
) -> None:
    """Both sides then share one task, which runs in several stages of a batch."""
    assert run(events, sizes, is_left=is_left) == recomputed(events, is_left=is_left)


@SOME
@given(
    events=edits("left", "right") | edits("left"),
    sizes=st.sampled_from([[1], [2], [ALL]]),
    limit=st.integers(1, 300),
)
@example(CUT, [1], 11)
def test_join_ends_with_the_recomputed_table_if_stages_are_cut(
    events: list[Edit], sizes: list[int], limit: int
) -> None:
    """Messages that a cut leaves for the next batch are still on their way."""
    found = run(events, sizes, is_left=False, partitions=3, limits=Limits(limit, 1e9))
    assert found == recomputed(events, is_left=False)
