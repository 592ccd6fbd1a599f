"""Slots run their batches by themselves, in any order, and the results are those of one batch.

Commits fail, slots and drivers are killed, and the number of slots changes, at any moment.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.runtime.spark.exchange.stage_request import NO_LIMITS, Limits
from tests.properties.lane_runs import (
    Event,
    LaneRun,
    committed_offsets,
    one_batch,
    outputs_of,
    stores_of,
)
from tests.properties.runs import SOME, for_each
from tests.properties.topologies import Build

#: What happens between steps; mostly, a lane goes on.
Action = Callable[[LaneRun], None]


def counts() -> ps.Topology:
    """Two stages: records of all partitions meet in the second one."""
    builder = ps.StreamsBuilder()
    stream = builder.stream("in", key=str, value=int)
    counted = stream.group_by(lambda key, value: f"v{value % 5}", key=str).count("counts")
    counted.to_stream().to("out", key=str, value=int)
    return builder.build()


def sums_of_sums() -> ps.Topology:
    """Three stages, of which the last one is told old values, too."""
    builder = ps.StreamsBuilder()
    stream = builder.stream("in", key=str, value=int)
    sums = stream.group_by(lambda key, value: f"v{value % 5}", key=str).reduce(
        lambda one, other: one + other, "sums"
    )
    totals = sums.group_by(lambda key, value: ("all", value), key=str, value=int).aggregate(
        lambda: 0,
        lambda key, value, total: total + value,
        lambda key, value, total: total - value,
        "totals",
        value=int,
    )
    totals.to_stream().to("totals", key=str, value=int)
    return builder.build()


def rows() -> ps.Topology:
    """One stage: the last value of each key counts, and the order within its partition."""
    builder = ps.StreamsBuilder()
    table = builder.table("in", materialized="rows", key=str, value=int)
    table.map_values(lambda value: value * 2).to_stream().to("out", key=str, value=int)
    return builder.build()


EVENTS = st.lists(
    st.tuples(
        st.sampled_from([b"a", b"b", b"c", b"d", b"e", b"f"]),
        st.integers(0, 9).map(lambda value: value.to_bytes(8, "big")),
        st.integers(0, 100),
    ),
    max_size=40,
)
_SLOTS = st.integers(1, 4)
_WHEN = st.sampled_from(["before", "after"])


def _steps(number: int, count: int) -> Action:
    def act(run: LaneRun) -> None:
        for _ in range(count):
            run.step(number)

    return act


STEPS = st.builds(_steps, st.integers(0, 3), st.integers(1, 6))
FEED = st.integers(1, 8).map(lambda count: lambda run: run.feed(count))
DISTURB = st.one_of(
    _WHEN.map(lambda when: lambda run: run.fail(when)),
    st.tuples(st.integers(0, 3), st.booleans()).map(
        lambda given: lambda run: run.kill_slot(given[0], lose_state=given[1])
    ),
    _SLOTS.map(lambda slots: lambda run: run.kill_driver(slots)),
    _SLOTS.map(lambda slots: lambda run: run.change_slots(slots)),
)
CALM = st.lists(st.one_of(STEPS, STEPS, STEPS, FEED), max_size=30)
WILD = st.lists(st.one_of(STEPS, STEPS, STEPS, FEED, DISTURB), max_size=40)
LIMITS = st.sampled_from([NO_LIMITS, NO_LIMITS, Limits(30, 1e9), Limits(1 << 40, 0.0)])


def check(
    build: Build, events: list[Event], actions: list[Action], slots: int, limits: Limits
) -> None:
    """Let lanes run as the actions say; compare with one batch of one slot."""
    expected = one_batch(build, events)
    run = LaneRun(build, events, slots=slots, limits=limits)
    try:
        for act in actions:
            act(run)
        run.finish()
        assert stores_of(run.application) == stores_of(expected)
        assert outputs_of(run.kafka) == outputs_of(expected.kafka)
        ends = run.kafka.ends({"in": 3})
        assert run.positions == ends
        assert committed_offsets(run.kafka) == ends
    finally:
        run.close()
        expected.close()


@for_each([counts, sums_of_sums, rows])
@SOME
@given(events=EVENTS, actions=CALM, slots=_SLOTS, limits=LIMITS)
def test_any_order_of_lanes_gives_the_results_of_one_batch(
    build: Build, events: list[Event], actions: list[Action], slots: int, limits: Limits
) -> None:
    """A lane may be behind, or ahead, in any stage."""
    check(build, events, actions, slots, limits)


@for_each([counts, sums_of_sums, rows])
@SOME
@given(events=EVENTS, actions=WILD, slots=_SLOTS, limits=LIMITS)
def test_nothing_is_lost_or_doubled_whatever_ends_at_any_moment(
    build: Build, events: list[Event], actions: list[Action], slots: int, limits: Limits
) -> None:
    """Answers are lost, commits fail before or after their effect, drivers follow each other."""
    check(build, events, actions, slots, limits)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("steps", range(1, 8))
def test_a_driver_that_ends_in_any_step_leaves_everything_to_the_next(
    steps: int, when: str
) -> None:
    """Between a request and its answer, or after a commit that has failed."""
    events: list[Event] = [(b"abcdef"[n % 6 :][:1], n.to_bytes(8, "big"), n) for n in range(12)]
    actions: list[Action] = [
        lambda run: run.feed(9), lambda run: run.fail(when), _steps(0, steps), _steps(1, steps),
        lambda run: run.kill_driver(3),
    ]  # fmt: skip
    check(counts, events, actions, 2, NO_LIMITS)
