"""What the reports of all lanes add up to: ``lanes.accounts``, and ``lanes.shared`` numbers."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import replace
from typing import Any, cast

import penstock as ps
from penstock.kernel.clocks import Clocks
from penstock.model.task_id import TaskId
from penstock.runtime.spark.driver.changes.made_anew import MadeAnew
from penstock.runtime.spark.driver.lanes.shared import Numbers
from penstock.runtime.spark.driver.observing.restore_watch import RestoreWatch
from penstock.runtime.spark.exchange.batch_log import Cut, LogState, Marker
from penstock.runtime.spark.exchange.stage_request import Report, Restore
from tests.unit.runtime.lanes.lane_world import World, two_stages, with_table
from tests.unit.runtime.restore_calls import Heard

ZERO, ONE = ("in", 0), ("in", 1)
WORDS = ("words-repartition", 0)


def report(number: int = 0, **given: Any) -> Report:
    return Report(task=TaskId(0, number), stage=0, slot=number, clocks=Clocks(), **given)


def test_lanes_add_up_to_the_progress_of_the_application() -> None:
    world = World(partitions=2, slots=2)
    accounts = world.accounts
    accounts.began()
    one = report(0, positions={ZERO: 4}, records=4, sent=2, logged=1)
    other = report(
        1, positions={ONE: 6}, records=6, sent=3, dropped={("node", "late"): 1},
        column_errors={"IndexError": 1},
    )  # fmt: skip
    for number, each in enumerate([one, other]):
        accounts.note_stage([each])
        accounts.note_batch(number, [each], 0.5)
    progress = accounts.progress
    assert (progress.batches, progress.records, progress.sent, progress.logged) == (2, 10, 5, 1)
    assert progress.dropped == Counter({("node", "late"): 1})
    assert progress.column_errors == Counter({"IndexError": 1})
    assert (progress.last_batch_records, progress.last_batch_seconds) == (6, 0.5)
    assert world.positions == progress.position == {ZERO: 4, ONE: 6}
    assert progress.began_ms is not None


def test_records_of_repartition_topics_are_not_counted_twice() -> None:
    """They were records of a source before."""
    world = World(two_stages)
    later = replace(report(positions={WORDS: 4}, records=4), stage=1)
    reports = [report(positions={ZERO: 4}, records=4, written={WORDS: 4}), later]
    world.accounts.note_stage(reports)
    world.accounts.note_batch(0, reports, 0.5)
    assert world.accounts.progress.records == 4
    assert not world.internal.has_leftover()


def test_time_outside_all_tasks_is_what_a_batch_costs_without_records() -> None:
    world = World(two_stages)
    reports = [report(seconds=0.5), report(seconds=0.25), replace(report(seconds=0.25), stage=1)]
    assert world.accounts.note_batch(0, reports, 1.5) == 0.5
    assert world.accounts.note_batch(0, reports, 0.5) == 0.0


def test_a_cut_has_everything_as_of_the_last_commits() -> None:
    """Copies of stores apply changelogs up to it; queries say which input it contains."""
    world = World(partitions=2, slots=2)
    world.accounts.note_stage([report(0, positions={ZERO: 4}, changelog_ends={("counts", 0): 9})])
    world.accounts.note_stage([report(1, positions={ONE: 6}, changelog_ends={("counts", 1): 2})])
    cut = world.accounts.cut(8)
    assert (cut.generation, cut.batch) == (3, 8)
    assert cut.ends == {("counts", 0): 9, ("counts", 1): 2}
    assert cut.positions == {ZERO: 4, ONE: 6}
    world.accounts.note_stage([report(0, positions={ZERO: 5})])
    assert cut.positions == {ZERO: 4, ONE: 6}


def test_a_source_topic_that_is_a_changelog_ends_where_it_is_processed() -> None:
    """A copy must not read what the application has not processed yet."""

    def table(builder: ps.StreamsBuilder) -> None:
        builder.table("in", materialized="rows")

    world = World(table)
    world.send(in_0=90)
    world.accounts.note_stage([report(positions={ZERO: 4})])
    assert world.accounts.cut(1).ends == {ZERO: 4}


def test_a_run_goes_on_from_the_cut_and_the_clocks_of_the_last_one() -> None:
    clocks = cast("Clocks", {"stream_time": 5})
    state = LogState(
        markers={(TaskId(0, 0), 0): Marker(4, clocks)}, cut=Cut(2, 7, {("counts", 0): 3})
    )
    world = World(state=state)
    assert world.accounts.clocks == {TaskId(0, 0): clocks}
    assert world.accounts.cut(8).ends == {("counts", 0): 3}


def test_a_global_table_is_as_far_as_the_slowest_copy() -> None:
    world = World(with_table, slots=2)
    accounts = world.accounts
    accounts.note_tables(0, {("prices", 0): 9})
    accounts.note_tables(1, {("prices", 0): 5})
    assert accounts.progress.position["prices", 0] == 5
    assert accounts.cut(1).global_ends == {("prices", 0): 5}


def test_a_store_that_is_restored_is_told_once_it_is_complete() -> None:
    """In the order of Kafka Streams: where it starts and ends, how far it is, how much it was."""
    accounts = World().accounts
    accounts.restores = RestoreWatch(list)
    accounts.restores.listener = heard = Heard()
    restore = Restore("counts", "app-counts-changelog", 0, start=3, end=9, position=9, records=5)
    waiting = report(is_waiting=True, restores=(restore,))
    accounts.note_restores([waiting])
    assert heard.calls == []
    whole = report(restores=(restore,))
    accounts.note_stage([whole])
    accounts.note_restores([whole])
    part = ("app-counts-changelog", 0)
    assert heard.calls == [
        ("start", part, "counts", 3, 9),
        ("batch", part, "counts", 9, 5),
        ("end", part, "counts", 5),
    ]
    assert accounts.progress.restored == 5


def test_new_positions_of_a_topic_made_anew_are_kept_for_the_log() -> None:
    """The marker of an old batch may mean the old topic."""
    world = World(partitions=2)
    world.accounts.anew = MadeAnew([ZERO], {})
    world.accounts.note_stage([report(positions={ZERO: 90, ONE: 3}, is_repeated=True)])
    assert (world.positions, world.accounts.reached_anew) == ({ZERO: 0, ONE: 3}, {})
    world.accounts.note_stage([report(positions={ZERO: 2, ONE: 5})])
    assert (world.positions, world.accounts.reached_anew) == ({ZERO: 2, ONE: 5}, {ZERO: 2})


def test_every_batch_of_all_lanes_has_a_number_of_its_own() -> None:
    """A later one of the same task has a larger one, also after a restart."""
    numbers, found = Numbers(6), list[int]()

    def take() -> None:
        found.extend(numbers.next() for _ in range(500))

    lanes = [threading.Thread(target=take) for _ in range(4)]
    for lane in lanes:
        lane.start()
    for lane in lanes:
        lane.join(30)
    assert sorted(found) == list(range(7, 2_007))
