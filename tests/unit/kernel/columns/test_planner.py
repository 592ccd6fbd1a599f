"""What runs over columns, and the reason where something does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import cloudpickle
import pytest

import penstock as ps
from penstock.config import StreamsConfig
from penstock.kernel.columns.effects import Effects
from penstock.kernel.columns.planner import ColumnPlan, plan_columns
from penstock.kernel.operators.streams.flat_map_values_columns import FlatMapValuesColumns
from penstock.kernel.stores import TaskStores, task_store_specs
from penstock.kernel.task import StreamTask
from penstock.model.record import Headers
from penstock.model.task_id import TaskId
from penstock.runtime.settings import task_settings
from penstock.state.engine.memory import MemoryStore

Build = Callable[[ps.StreamsBuilder], Any]


class OneByOne:
    """A collector for single records."""

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers,
        partition: int | None = None,
    ) -> None: ...

    def partitions(self, topic: str) -> int:
        return 1


class ByColumns(OneByOne):
    """A collector that takes columns as well."""

    def send_columns(
        self,
        topic: str,
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        timestamps: Sequence[int],
        headers: Sequence[Headers] | None,
        partition: int | None = None,
    ) -> None: ...


def planned(build: Build, collector: OneByOne | None = None) -> ColumnPlan:
    builder = ps.StreamsBuilder()
    build(builder)
    # As a worker gets it: functions are known by what they are, also after a journey.
    graph = cloudpickle.loads(cloudpickle.dumps(builder.build().graph))
    settings = task_settings(StreamsConfig({"application.id": "app"}))
    stores = TaskStores(
        task_store_specs(graph, graph.nodes), settings=settings,
        engine=lambda store: MemoryStore(), changelog=lambda store: None,
    )  # fmt: skip
    task = StreamTask(
        TaskId(0, 0), graph, graph.nodes, settings=settings, collector=collector or ByColumns(),
        stores=stores, wall_clock=lambda: 0,
    )  # fmt: skip
    return plan_columns(task, graph.nodes)


def numbers(builder: ps.StreamsBuilder) -> Any:
    return builder.stream("in", key="string", value="json")


def table(builder: ps.StreamsBuilder) -> Any:
    return builder.table("rows", materialized="rows", key="string", value="json")


def windowed(builder: ps.StreamsBuilder) -> Any:
    windows = ps.TimeWindows.of_size_with_no_grace("10s")
    return numbers(builder).group_by_key().windowed_by(windows)


SEEN: list[Any] = []


def noted(*given: Any) -> Any:
    """A function with a side effect: it keeps what it was given."""
    SEEN.append(given)
    return given[-1]


def test_expressions_and_counts_run_over_columns() -> None:
    """Nothing in this chain is a function that could do something else."""

    def build(builder: ps.StreamsBuilder) -> None:
        grouped = numbers(builder).filter(ps.col("n") > 0).group_by_key()
        grouped.count().to_stream().map_values(str)
        grouped.aggregate(ps.sum_(ps.col("n")), value="double")
        grouped.aggregate(n=ps.count(), least=ps.min_(ps.col("n")))
        grouped.reduce(max, value="json")

    plan = planned(build)
    assert plan.is_vectorised
    assert plan.why_not == {}


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        (lambda b: numbers(b).to(lambda k, v, c: "out"), "a function chooses its topic"),
        (
            lambda b: numbers(b).group_by_key().reduce(noted, value="json"),
            "its reducer is a Python function",
        ),
        (lambda b: b.stream("in", key="string", value="pickle"), "value serde PickleSerde"),
        (lambda b: b.stream("in", key="pickle", value="json"), "key serde PickleSerde"),
        (lambda b: numbers(b).to("out", key="pickle"), "key serde PickleSerde"),
        (lambda b: numbers(b).to("out", value="pickle"), "value serde PickleSerde"),
        (
            lambda b: numbers(b).group_by_key().count(
                ps.Materialized(name="s", key="pickle")
            ),
            "key of store 's': serde PickleSerde",
        ),
        (
            lambda b: numbers(b).group_by_key().aggregate(
                ps.sum_(ps.col("n")), materialized="s", value="pickle"
            ),
            "value of store 's': serde PickleSerde",
        ),
        (
            lambda b: numbers(b).to("out", partitioner=lambda t, k, v, n: 0),
            "a function chooses its topic or partition",
        ),
        (
            lambda b: numbers(b).group_by_key().windowed_by(
                ps.TimeWindows.of_size_with_no_grace("1s")
            ).emit_strategy(ps.EmitStrategy.ON_WINDOW_CLOSE).count(),
            "final results are read from a cache",
        ),
        (
            lambda b: numbers(b).group_by_key().windowed_by(ps.UnlimitedWindows.of()).count(),
            "its windows are unlimited",
        ),
        (
            lambda b: windowed(b).reduce(noted, value="json"),
            "its aggregator is a Python function",
        ),
        (
            lambda b: windowed(b).count(ps.Materialized(value="double")),
            "states may change in a store with DoubleSerde",
        ),
        (
            lambda b: b.table("in", materialized=ps.Materialized(
                store=ps.Stores.persistent_versioned_key_value_store("v", "1h")
            )),
            "its store is versioned",
        ),
        (
            lambda b: b.stream("in", ps.Consumed.with_(
                "string", "json", timestamp_extractor=lambda r, t: noted(1)
            )),
            "its timestamp extractor is a Python function",
        ),
        (
            lambda b: numbers(b).join(table(b), lambda one, other: noted(one)),
            "its joiner is a Python function",
        ),
    ],
)  # fmt: skip
def test_reason_names_what_has_to_see_records_one_by_one(build: Build, reason: str) -> None:
    """One such node makes the whole task run record at a time."""
    plan = planned(build)
    assert not plan.is_vectorised
    assert any(reason in why for why in plan.why_not.values()), plan.why_not


def test_functions_without_side_effects_run_over_columns() -> None:
    """Nobody can tell in which order they are called, and how often."""

    def build(builder: ps.StreamsBuilder) -> None:
        stream = numbers(builder).filter(lambda key, value: value["n"] > 1)
        stream.map(lambda key, value: (key, {**value, "m": 1})).to("one", value="json")
        words = stream.flat_map_values(lambda value: value["s"].split(" "))
        words.to("other", value="string")
        grouped = stream.group_by_key()
        total = grouped.aggregate(
            lambda: 0.0, lambda key, value, sum_: sum_ + value["n"], value="double"
        )
        total.to_stream(lambda key, value: f"{key}!").to("totals", value="double")
        windowed(builder).reduce(lambda one, other: one, value="json")

    assert planned(build).why_not == {}


def test_paths_that_meet_again_in_a_topic_keep_their_order() -> None:
    """Record by record the topic has a, A, b, B; over columns it would have a, b, A, B."""

    def build(builder: ps.StreamsBuilder) -> None:
        words = builder.stream("in", key="string", value="string")
        words.to("out", value="string")
        words.map_values(ps.value.upper()).to("out", value="string")

    assert "its paths meet again in topic 'out'" in planned(build).why_not.values()


def test_table_and_its_join_take_turns() -> None:
    """A record sees the table as it is at its turn."""

    def build(builder: ps.StreamsBuilder) -> None:
        rows = builder.table("rows", materialized="rows", key="string", value="json")
        numbers(builder).join(rows, ps.left.with_fields(r=ps.right)).to("out", value="json")

    plan = planned(build)
    assert plan.is_vectorised
    assert plan.is_tied


def test_a_table_that_is_joined_and_read_keeps_both_from_columns() -> None:
    """Its cache sends rows at the end of the batch; in turns it would do so several times."""

    def build(builder: ps.StreamsBuilder) -> None:
        rows = table(builder)
        rows.to_stream().to("copy", value="json")
        numbers(builder).join(rows, ps.left.with_fields(r=ps.right)).to("out", value="json")

    reason = "inputs share store 'rows', and a node with a cache runs once per batch"
    assert [*planned(build).why_not.values()] == [reason]


def test_output_that_takes_single_records_gets_them() -> None:
    """The test driver looks at every record as it is sent."""
    assert planned(lambda b: numbers(b).to("out"), OneByOne()).why_not == {
        "": "the output takes records one by one"
    }


def counted(builder: ps.StreamsBuilder) -> Any:
    return numbers(builder).group_by_key().count("counts").to_stream()


@pytest.mark.parametrize(
    "build",
    [
        lambda b: counted(b).map_values(lambda n: noted(n) + 1).to("out", value="long"),
        lambda b: counted(b).peek(print),
    ],
)
def test_anything_behind_a_cached_fold_is_left_to_its_cache(build: Build) -> None:
    """It sees the results when the cache is flushed, after the batch."""
    plan = planned(build)
    assert plan.is_vectorised
    assert plan.is_handed_off


def test_expressions_behind_a_cached_fold_stay_columns() -> None:
    """The cache is only asked where it has to be."""
    plan = planned(lambda b: counted(b).map_values(str).to("out", value="string"))
    assert plan.is_vectorised
    assert not plan.is_handed_off


def test_paths_that_meet_behind_a_cached_fold_keep_their_order() -> None:
    """What is left to a cache still uses its topics and stores."""

    def build(builder: ps.StreamsBuilder) -> None:
        stream = numbers(builder)
        stream.map_values(str).to("out", value="string")
        stream.group_by_key().count("counts").to_stream().peek(print).to("out", value="long")

    assert "its paths meet again in topic 'out'" in planned(build).why_not.values()


def test_calls_that_come_between_records_keep_a_fold_from_columns() -> None:
    """A processor may schedule some by stream time."""

    class Quiet(ps.Processor[Any, Any, Any, Any]):
        def process(self, record: ps.Record[Any, Any]) -> None: ...

    class Scheduling(Quiet):
        def init(self, context: Any) -> None:
            context.schedule("1s", ps.PunctuationType.STREAM_TIME, print)

    plan = planned(lambda b: counted(b).process(Scheduling))
    assert [*plan.why_not.values()] == [
        "its processor is also called by stream time, between two records"
    ]
    assert planned(lambda b: counted(b).process(Quiet)).islands


def test_records_past_a_fold_keep_it_from_columns() -> None:
    """They would reach a node before the commit, as columns, and the fold's at the commit."""

    def build(builder: ps.StreamsBuilder) -> None:
        stream = numbers(builder)
        results = stream.group_by_key().count("counts").to_stream().peek(print)
        stream.merge(results).to("out", value="json")

    assert not planned(build).is_vectorised


def uncached(builder: ps.StreamsBuilder) -> Any:
    counts = ps.Materialized(name="counts", caching=False)
    return numbers(builder).group_by_key().count(counts).to_stream()


def summed(builder: ps.StreamsBuilder) -> Any:
    total = ps.sum_(ps.col("n"))
    return numbers(builder).group_by_key().aggregate(total, value="double").to_stream()


@pytest.mark.parametrize(
    ("build", "hides_order", "runs_once", "is_handed_off"),
    [
        (lambda b: counted(b).to("out", value="long"), True, True, False),
        (lambda b: counted(b).peek(print), False, True, True),
        (lambda b: uncached(b).to("out", value="long"), False, False, False),
        (lambda b: summed(b).to("out", value="double"), False, True, False),
        (lambda b: windowed(b).count("counts"), False, True, False),
        (lambda b: table(b), False, False, False),
        (lambda b: table(b).to_stream().to("out", value="json"), False, True, False),
    ],
    ids=["count", "handed off", "uncached", "sum", "windows", "table", "table with readers"],
)
def test_what_a_node_with_a_store_says_of_itself(
    build: Build, hides_order: bool, runs_once: bool, is_handed_off: bool
) -> None:
    """Only a cached count, whose results leave as columns, is the same in any order.

    What sends at the end of a batch runs once. The context of a record is noted for a cache alone.
    """
    (source,) = planned(build).sources.values()
    _, first, *_ = source.below()
    assert (first.hides_order, first.runs_once) == (hides_order, runs_once)
    assert first.is_handed_off == source.tells_origins == is_handed_off


def test_a_repartition_topic_is_internal() -> None:
    """The order of records of different upstream tasks is not determined there."""

    def build(builder: ps.StreamsBuilder) -> None:
        moved = numbers(builder).select_key(ps.col("s")).group_by_key(
            ps.Grouped(key="string", value="json")
        )  # fmt: skip
        moved.count("counts")

    internal = {s.node.topics: s.is_internal for s in planned(build).sources.values()}
    assert sorted(internal.values()) == [False, True]
    assert internal["in",] is False


def test_a_table_that_is_joined_with_its_own_changes_takes_records_one_by_one() -> None:
    """A change would find the rows of later changes."""

    def build(builder: ps.StreamsBuilder) -> None:
        rows = table(builder)
        rows.to_stream().join(rows, ps.left).to("out", value="json")

    assert "a later node uses store 'rows' again" in planned(build).why_not.values()


def test_texts_of_a_batch_are_forgotten_at_its_end() -> None:
    """Else a task would keep every word that it has ever seen."""
    plan = planned(lambda b: numbers(b).flat_map_values(ps.col("s").split()))
    (source,) = plan.sources.values()
    (words,) = (each for each in source.below() if isinstance(each, FlatMapValuesColumns))
    for forget in (lambda: words.finish(Effects()), words.reset):
        assert len(words._vocabulary.column(["a"] * 64)) == 64
        assert words._vocabulary._texts == ["a"]
        forget()
        assert words._vocabulary._texts == []
