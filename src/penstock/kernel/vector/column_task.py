"""A task's batch over columns: plans once, then tries every batch. Its loop: ``kernel.task``."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.kernel.raw_columns import RawColumns, listed
from penstock.kernel.vector.batch import NotProvenError
from penstock.kernel.vector.effects import Effects
from penstock.kernel.vector.planner import ColumnPlan, plan_columns
from penstock.kernel.vector.source import SourceColumns
from penstock.kernel.vector.step import Step
from penstock.kernel.vector.turns import turns
from penstock.model.coded_bytes import joined_columns

if TYPE_CHECKING:
    from penstock.kernel.record_queue import RawRecord, RecordQueue
    from penstock.kernel.task import StreamTask

log = logging.getLogger(__name__)

#: Turns shorter than this on average are no columns any more.
_SHORT_TURN = 32

Input = tuple["RecordQueue", RawColumns]


def column_task(task: StreamTask, nodes: Iterable[str]) -> ColumnTask | None:
    """Plans a task over columns; None if the settings want none."""
    at_least = task.settings.vectorize_from
    return None if at_least is None else ColumnTask(plan_columns(task, nodes), at_least=at_least)


class ColumnTask:
    """Runs batches over columns, all of a batch or nothing of it.

    ``reasons`` counts why batches went back to record at a time.
    """

    def __init__(self, plan: ColumnPlan, *, at_least: int) -> None:
        self.plan = plan
        self.batches = 0
        self.reasons: Counter[str] = Counter()
        self._at_least = at_least

    def run(self, inputs: Sequence[Input]) -> Effects | None:
        """What the batch does; None if it has to run record at a time. Nothing has happened yet."""
        if sum(len(records) for _, records in inputs) < self._at_least:
            return None
        effects = Effects()
        try:
            self._run(inputs, effects)
        except NotProvenError as reason:
            self._give_up(str(reason))
            return None
        except Exception as error:  # noqa: BLE001 - the records' own way says what is wrong where
            log.debug("a batch runs record at a time: %r", error)
            self._give_up(type(error).__name__)
            return None
        self.batches += 1
        return effects

    def last_record(self, inputs: Sequence[Input], effects: Effects) -> RawRecord | None:
        """The record of a batch whose turn would have been the last."""
        number, _, after = turns([listed(records.timestamps) for _, records in inputs])[-1]
        records = inputs[number][1]
        backwards = (records.record(place) for place in range(after - 1, -1, -1))
        return next((record for record in backwards if not effects.is_skipped(record)), None)

    def _give_up(self, reason: str) -> None:
        self.reasons[reason] += 1
        for source in self.plan.sources.values():
            for step in source.below():
                step.reset()

    def _run(self, inputs: Sequence[Input], effects: Effects) -> None:
        if self.plan.is_tied:
            self._run_in_turns(inputs, effects)
            return
        by_source: dict[str, list[RawColumns]] = {}
        for queue, records in inputs:
            by_source.setdefault(queue.source, []).append(records)
        for name, parts in by_source.items():
            source = self.plan.sources[name]
            source.run(_together(source, parts), effects, may_skip=len(parts) == 1)

    def _run_in_turns(self, inputs: Sequence[Input], effects: Effects) -> None:
        runs = turns([listed(records.timestamps) for _, records in inputs])
        total = sum(len(records) for _, records in inputs)
        if len(runs) > len(inputs) and total < len(runs) * _SHORT_TURN:
            raise NotProvenError("inputs take turns too often")
        for number, first, after in runs:
            queue, records = inputs[number]
            self.plan.sources[queue.source].run(records.cut(first, after), effects)


def _together(source: SourceColumns, parts: list[RawColumns]) -> RawColumns:
    """The records of several queues of one source as one, in order of time where that matters."""
    if len(parts) == 1:
        return parts[0]
    keys = values = joined_columns([part.keys for part in parts])
    if any(part.values is not part.keys for part in parts):
        values = joined_columns([part.values for part in parts])
    whole = RawColumns(
        parts[0].topic, parts[0].partition, _offsets(source, parts),
        np.concatenate([np.asarray(part.timestamps, np.int64) for part in parts]),
        keys,
        values,
        _headers(parts),
    )  # fmt: skip
    if whole.headers is None and all(_hides_order(child) for child in source.children):
        return whole
    begins = np.cumsum([0, *(len(part) for part in parts)])
    order = [
        int(begins[number]) + place
        for number, first, after in turns([listed(part.timestamps) for part in parts])
        for place in range(first, after)
    ]
    return whole.take(order)


def _offsets(source: SourceColumns, parts: list[RawColumns]) -> Sequence[int]:
    if not source.tells_origins:
        # They are of several queues, and nobody asks.
        return range(sum(len(part) for part in parts))
    if len({part.topic for part in parts}) > 1:
        raise NotProvenError("its records are of several topics")
    return [offset for part in parts for offset in part.offsets]


def _hides_order(step: Step[Any]) -> bool:
    """Whether every path from here leads to a node that hides the order, past none with a state."""
    if step.hides_order:
        return True
    if step.resources() or not step.children:
        return False
    return all(_hides_order(child) for child in step.children)


def _headers(parts: list[RawColumns]) -> list[tuple[tuple[str, bytes | None], ...]] | None:
    if all(part.headers is None for part in parts):
        return None
    return [
        headers
        for part in parts
        for headers in ([()] * len(part) if part.headers is None else part.headers)
    ]
