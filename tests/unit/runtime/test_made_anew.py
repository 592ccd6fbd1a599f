"""Source topics that were deleted and created again under a running application."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import pytest

from penstock.errors import TopologyError
from penstock.model.task_id import TaskId
from penstock.runtime.spark.driver.changes.made_anew import MadeAnew, find_made_anew
from penstock.runtime.spark.exchange.stage_request import Report

OLD = {"notes": "id-1", "words": "id-2", "app-counts-changelog": "id-3", "app-gone": "id-4"}
SIZES = {"notes": 2, "words": 1}
OWN = {"app-counts-changelog"}


class Log:
    def __init__(self) -> None:
        self.ids: dict[str, str] = {}

    def note_topics(self, ids: Mapping[str, str]) -> None:
        self.ids = dict(ids)


def found(log: Log, **changes: str) -> MadeAnew:
    now = {name: each for name, each in OLD.items() if name != "app-gone"} | changes
    return find_made_anew(OLD, now, SIZES, OWN, log, "app-")


def report(partition: int, at: int, *, is_repeated: bool) -> Report:
    return Report(
        task=TaskId(0, partition), stage=0, slot=0, positions={("notes", partition): at},
        is_repeated=is_repeated,
    )  # fmt: skip


def test_ids_are_noted_when_nothing_was_made_anew() -> None:
    """Topics of its own that are gone are forgotten, and those of others are kept."""
    log = Log()
    assert found(log).parts == frozenset()
    assert log.ids == {name: each for name, each in OLD.items() if name != "app-gone"}


def test_the_new_id_is_noted_only_when_a_position_in_the_new_topic_is_committed() -> None:
    """A run that ends before would leave offsets of the old topic as if they were of this one."""
    log = Log()
    anew = found(log, notes="id-9")
    assert anew.parts == {("notes", 0), ("notes", 1)}
    assert log.ids["notes"] == "id-1"
    anew.committed(anew.reached([report(0, 5, is_repeated=False)]), log)
    assert log.ids["notes"] == "id-1"
    both = [report(0, 9, is_repeated=False), report(1, 0, is_repeated=False)]
    anew.committed(anew.reached(both), log)
    assert log.ids["notes"] == "id-9"
    assert anew.parts == frozenset()


def test_a_marker_of_the_old_topic_says_nothing_about_the_new_one() -> None:
    """A task may have committed the batch that was under way before its topic was deleted."""
    anew = MadeAnew([("notes", 0)])
    reports = [report(0, 1431, is_repeated=True), report(1, 7, is_repeated=True)]
    assert anew.reached(reports) == {("notes", 1): 7}


def test_a_topic_of_its_own_that_was_made_anew_is_refused() -> None:
    """Its records are nowhere else."""
    with pytest.raises(TopologyError, match="internal-topic-lost"):
        found(Log(), **cast("Any", {"app-counts-changelog": "id-9"}))
