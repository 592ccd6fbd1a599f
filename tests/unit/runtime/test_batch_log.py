"""The batch log says what a batch is, how much of it is done, and where clocks stood."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from penstock.model.task_id import TaskId
from penstock.runtime.spark.exchange.batch_log import BatchPlan, LogState

parts = st.tuples(st.text("ab-é", min_size=1), st.integers(0, 9))
offsets = st.dictionaries(parts, st.integers(0, 2**62))


def marker(batch: int, before: Any, after: Any) -> bytes:
    return json.dumps({"batch": batch, "before": before, "clocks": after}).encode()


@given(st.integers(0, 2**40), offsets, offsets, st.integers(0, 2**45), offsets)
def test_a_plan_survives_the_log(batch: int, start: Any, end: Any, clock: int, ends: Any) -> None:
    """A replay has the same ranges, clock and global tables, or it is none."""
    plan = BatchPlan(batch, start, end, clock, ends)
    assert BatchPlan.from_json(plan.to_json()) == plan


def test_markers_tell_what_is_done_by_stage() -> None:
    """A task may have committed one stage of a batch and not the next."""
    state = LogState()
    state.apply("task/0_1/0", marker(4, None, {}))
    state.apply("task/0_1/2", marker(3, None, {}))
    state.apply("task/1_0/1", marker(4, None, {}))
    assert state.done(4, 0) == {TaskId(0, 1)}
    assert state.done(4, 1) == {TaskId(1, 0)}
    assert state.done(4, 2) == frozenset()


def test_a_replay_starts_from_the_clocks_before_its_batch() -> None:
    """Else a task that had committed would drop as late what it had taken the first time."""
    state = LogState()
    state.apply("task/0_0/0", marker(3, "before 3", "after 3"))
    state.apply("task/0_1/0", marker(4, "before 4", "after 4"))
    assert state.clocks_at(4) == {TaskId(0, 0): "after 3", TaskId(0, 1): "before 4"}
    assert state.clocks_at(5) == {TaskId(0, 0): "after 3", TaskId(0, 1): "after 4"}


def test_a_task_that_is_new_in_the_batch_has_no_clocks_before_it() -> None:
    """Its first run made them."""
    state = LogState()
    state.apply("task/0_0/0", marker(0, None, "after 0"))
    assert state.clocks_at(0) == {}


def test_an_unfinished_batch_is_one_planned_after_the_last_complete() -> None:
    """It is what the next leader runs again."""
    state = LogState()
    assert not state.has_unfinished
    state.apply("plan", BatchPlan(2, {}, {}, 0, {}).to_json())
    state.apply("complete", b"1")
    assert state.has_unfinished
    state.apply("complete", b"2")
    assert not state.has_unfinished


def test_a_tombstone_and_an_unknown_key_change_nothing() -> None:
    """A later version may write what this one does not know."""
    state = LogState()
    state.apply("plan", None)
    state.apply("something-new", b"{}")
    state.apply("topology", b"abc")
    assert (state.plan, state.fingerprint) == (None, "abc")
