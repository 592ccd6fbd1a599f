"""How much a batch takes from each partition."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import StreamsError
from penstock.kafka.admin import Admin
from penstock.runtime.spark.driver.batch_planner import BatchPlanner, Inputs, Overhead, cap
from penstock.runtime.spark.exchange.batch_log import BatchPlan

parts = st.tuples(st.sampled_from("ab"), st.integers(0, 3))
offsets = st.dictionaries(parts, st.integers(0, 1_000), min_size=1)


def test_all_is_taken_while_it_fits() -> None:
    """Up to the end of every partition."""
    start, ends = {("t", 0): 5, ("t", 1): 0}, {("t", 0): 7, ("t", 1): 8}
    assert cap(start, ends, 10) == ends


def test_a_large_backlog_is_shared_fairly() -> None:
    """Each partition gives in proportion to what waits there."""
    start, ends = {("t", 0): 0, ("t", 1): 0}, {("t", 0): 900, ("t", 1): 100}
    assert cap(start, ends, 100) == {("t", 0): 90, ("t", 1): 10}


def test_a_topic_that_was_made_anew_does_not_move_backwards() -> None:
    """Its end may be before the position; nothing is there to read."""
    assert cap({("t", 0): 9}, {("t", 0): 2}, 5) == {("t", 0): 9}


@given(offsets, st.integers(1, 50), st.data())
def test_every_batch_moves_on_and_never_past_the_end(
    start: dict[tuple[str, int], int], most: int, data: st.DataObject
) -> None:
    """So that a backlog is worked off, however small batches are."""
    ends = {part: at + data.draw(st.integers(0, 200)) for part, at in start.items()}
    capped = cap(start, ends, most)
    assert all(start[part] <= at <= ends[part] for part, at in capped.items())
    assert (capped == start) == (ends == start)
    assert sum(capped.values()) - sum(start.values()) <= most + len(start)


class FakeAdmin:
    """Topics of one partition, by their ends."""

    def __init__(self, **ends: int) -> None:
        self.ends = {(topic, 0): end for topic, end in ends.items()}

    def end_offsets(
        self, parts: list[tuple[str, int]], *, committed: bool
    ) -> dict[tuple[str, int], int]:
        return {part: self.ends[part] for part in parts}


def planner(
    admin: FakeAdmin,
    *,
    tables: tuple[tuple[str, int], ...] = (),
    wall_clock: bool = False,
    unfinished: BatchPlan | None = None,
) -> BatchPlanner:
    inputs = Inputs(
        global_parts=tables, max_records=10, has_wall_clock=wall_clock,
        read_committed=True,
    )  # fmt: skip
    last = BatchPlan(4, {}, {("in", 0): 3}, 0, dict.fromkeys(tables, 0))
    return BatchPlanner(cast("Admin", admin), inputs, last, unfinished)


def test_each_batch_begins_where_the_last_one_ended() -> None:
    """And holds no more than a batch should."""
    plans = planner(FakeAdmin(**{"in": 15}))
    first, second = plans.next(), plans.next()
    assert first is not None
    assert second is not None
    assert (first.batch, first.start, first.end) == (5, {("in", 0): 3}, {("in", 0): 13})
    assert (second.batch, second.start, second.end) == (6, {("in", 0): 13}, {("in", 0): 15})
    assert plans.next() is None


def test_an_unfinished_batch_comes_first_even_while_paused() -> None:
    """Its ranges are those that it had."""
    unfinished = BatchPlan(5, {("in", 0): 3}, {("in", 0): 9}, 77, {})
    plans = planner(FakeAdmin(**{"in": 15}), unfinished=unfinished)
    plans.is_paused = True
    assert plans.next() is unfinished
    assert plans.next() is None
    plans.is_paused = False
    after = plans.next()
    assert after is not None
    assert (after.batch, after.start) == (6, {("in", 0): 9})
    assert after.clock_ms >= 77


@pytest.mark.parametrize(("ahead_ms", "stays"), [(5_000, True), (7_200_000, False)])
def test_a_clock_that_was_far_ahead_does_not_stay_so(ahead_ms: int, *, stays: bool) -> None:
    """Results of punctuations would be refused as too far in the future, for two hours."""
    plans = planner(FakeAdmin(**{"in": 15}))
    wrong_ms = time.time_ns() // 1_000_000 + ahead_ms
    plans._last = replace(plans._last, clock_ms=wrong_ms)
    plan = plans.next()
    assert plan is not None
    assert (plan.clock_ms == wrong_ms) == stays


def test_without_input_only_the_wall_clock_makes_batches() -> None:
    """Punctuations are due without records, too."""
    for wall_clock in (False, True):
        plans = planner(FakeAdmin(**{"in": 3}), wall_clock=wall_clock)
        plans.next()
        assert (plans.next() is not None) == wall_clock


def test_the_first_batch_needs_no_input() -> None:
    """It makes the tasks: stores can be asked before, or without, a first record."""
    plans = planner(FakeAdmin(**{"in": 3}))
    assert plans.begins_at == {("in", 0): 3}
    first = plans.next()
    assert first is not None
    assert not first.has_input
    assert (first.batch, first.start, first.end) == (5, {("in", 0): 3}, {("in", 0): 3})
    assert plans.next() is None


def test_a_paused_application_begins_when_it_goes_on() -> None:
    """Not even the first batch is planned before."""
    plans = planner(FakeAdmin(**{"in": 3}))
    plans.is_paused = True
    assert plans.next() is None
    plans.is_paused = False
    assert plans.next() is not None


def test_a_global_table_alone_makes_a_batch() -> None:
    """Queries see it as of the newest batch."""
    admin = FakeAdmin(**{"in": 3, "table": 2})
    plans = planner(admin, tables=(("table", 0),))
    first = plans.next()
    assert first is not None
    assert first.global_ends == {("table", 0): 2}
    assert plans.next() is None
    admin.ends["table", 0] = 3
    assert plans.next() is not None


def backlog(max_records: int = 120_000) -> BatchPlanner:
    inputs = Inputs(
        global_parts=(), max_records=max_records, has_wall_clock=False, read_committed=True
    )
    admin = cast("Admin", FakeAdmin(**{"in": 10**9}))
    return BatchPlanner(admin, inputs, BatchPlan(-1, {}, {("in", 0): 0}, 0, {}), None)


def test_batches_of_a_backlog_are_sized_by_the_time_they_take() -> None:
    """About two seconds: at most four times the last one, and never more than is allowed."""
    plans = backlog()
    sizes = []
    for seconds in (0.1, 0.1, 0.1, 4.0, 1.0, 0.0):
        plan = plans.next()
        assert plan is not None
        sizes.append(plan.end["in", 0] - plan.start["in", 0])
        plans.learn(sizes[-1], seconds)
        assert plans.is_behind
    assert sizes == [5_000, 20_000, 80_000, 120_000, 60_000, 120_000]


def test_a_batch_that_was_not_full_says_nothing_about_the_next() -> None:
    """A few records may take long for reasons that are not their number."""
    plans = backlog()
    plans.learn(10, 50.0)
    assert plans.most_records == 5_000


def test_batches_of_a_sparse_topic_take_more_offsets() -> None:
    """Compaction may have left one record in a thousand offsets, then one in each again."""
    plans = backlog()
    sizes = []
    for density in (0.001, 0.001, 0.001, 1.0, 1.0):
        plan = plans.next()
        assert plan is not None
        sizes.append(plan.end["in", 0] - plan.start["in", 0])
        plans.learn(int(sizes[-1] * density), 0.01)
    assert sizes[:4] == [5_000, 20_000, 80_000, 320_000]
    assert sizes[4] <= 20_000


def test_a_batch_begins_behind_the_gap_that_its_reader_has_found() -> None:
    """No batch is planned for offsets that have no record."""
    plans = backlog()
    plans.next()
    plans.advance({("in", 0): 3_000_000})
    after = plans.next()
    assert after is not None
    assert after.start == {("in", 0): 3_000_000}


def test_slow_batches_shrink_but_not_to_nothing() -> None:
    """A record that takes a second each still leaves batches worth their overhead."""
    plans = backlog()
    plans.learn(5_000, 5_000.0)
    assert plans.most_records == 200


def test_what_a_batch_costs_without_records_makes_batches_longer() -> None:
    """The fixed part is to take a tenth of the time."""
    plans = backlog()
    plans.learn(5_000, 2.0, overhead_s=0.3)
    # Ten times the fixed time, of which the records get nine tenths.
    assert plans.most_records == int(2.7 / (1.7 / 5_000))


def test_no_fixed_cost_makes_a_batch_endless() -> None:
    plans = backlog(max_records=10**9)
    for _ in range(20):
        records = plans.most_records
        plans.learn(records, 5.0 + records / 10_000, overhead_s=5.0)
    assert plans.most_records == pytest.approx(40_000, rel=0.01)


def test_overhead_that_grows_with_the_records_is_not_fixed() -> None:
    """Reading and committing take longer for more records; that is no reason for more records."""
    overhead = Overhead()
    fixed = [overhead.note(records, 0.2 + records / 50_000) for records in (5_000, 20_000, 80_000)]
    assert fixed == pytest.approx([0.3, 0.2, 0.2])
    # A row of equal batches does not make it forget what a record costs.
    for _ in range(50):
        fixed.append(overhead.note(80_000, 1.8))
    assert fixed[-1] == pytest.approx(0.2)


def test_the_next_batch_begins_where_a_cut_one_really_ended() -> None:
    """A slot that reached a limit commits what it has; the rest is planned again."""
    plans = planner(FakeAdmin(**{"in": 13}))
    first = plans.next()
    assert first is not None
    assert not plans.is_behind
    plans.advance({("in", 0): 8})
    assert plans.is_behind
    second = plans.next()
    assert second is not None
    assert (second.start, second.end) == ({("in", 0): 8}, {("in", 0): 13})


def test_records_that_wait_in_a_repartition_topic_make_a_batch() -> None:
    """The sources may have nothing more while a later stage was cut."""
    plans = planner(FakeAdmin(**{"in": 3}))
    plans.next()
    assert plans.next() is None
    plans.has_leftover = True
    assert plans.next() is not None


def test_a_lost_slot_makes_one_batch_without_input() -> None:
    """Its state has to be there for whoever asks a store."""
    plans = planner(FakeAdmin(**{"in": 3}))
    plans.next()
    plans.wants_batch = True
    assert plans.next() is not None
    assert plans.next() is None


def test_a_topic_that_ends_before_the_position_is_an_error() -> None:
    """A topic that was made anew must not look like one without new records."""
    plans = planner(FakeAdmin(**{"in": 2}))
    with pytest.raises(StreamsError, match="ends at 2, before the committed offset 3") as raised:
        plans.next()
    assert raised.value.code == "offset-out-of-range"


def test_what_the_first_batch_begins_with_is_known_before_it_is_planned() -> None:
    """Workers get ready for it: where it begins is certain, where it ends is not."""
    plans = planner(FakeAdmin(**{"in": 15, "table": 6}), tables=(("table", 0),))
    first, planned = plans.first(), plans.next()
    assert first is not None
    assert planned is not None
    assert (first.batch, first.start) == (planned.batch, planned.start)
    assert first.global_ends == {("table", 0): 6}


def test_workers_get_ready_for_the_very_batch_that_is_unfinished() -> None:
    """With its clock, and with tables no further than it saw them."""
    unfinished = BatchPlan(5, {("in", 0): 3}, {("in", 0): 9}, 77, {("table", 0): 2})
    plans = planner(FakeAdmin(**{"in": 15, "table": 6}), unfinished=unfinished)
    assert plans.first() is unfinished


def test_where_the_wall_clock_matters_nothing_is_made_before_the_batch() -> None:
    """A processor that schedules something must see the time of its batch."""
    assert planner(FakeAdmin(**{"in": 15}), wall_clock=True).first() is None


def test_each_batch_says_how_far_the_last_one_read_global_topics() -> None:
    """A topic that is shorter now was made anew, and is read from its beginning."""
    admin = FakeAdmin(**{"in": 3, "prices": 3})
    batches = planner(admin, tables=(("prices", 0),))
    seen = []
    for end in (3, 5, 2):
        admin.ends["prices", 0] = end
        plan = batches.next()
        assert plan is not None
        seen.append((plan.global_start["prices", 0], plan.global_ends["prices", 0]))
    assert seen == [(0, 3), (3, 5), (0, 2)]
