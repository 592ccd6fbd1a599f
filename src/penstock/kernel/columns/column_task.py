"""Runs the batches of a task over columns. The loop of the task is ``kernel.task``."""

from __future__ import annotations

import logging
import traceback
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from penstock.errors import StoreError
from penstock.kernel.columns.batch import NotProvenError
from penstock.kernel.columns.batch_column import Places
from penstock.kernel.columns.column_executor import ColumnExecutor
from penstock.kernel.columns.effects import Effects
from penstock.kernel.columns.form_choice import FormChoice
from penstock.kernel.columns.merge_order import Run, merge_order, runs_among
from penstock.kernel.columns.planner import ColumnPlan, plan_columns
from penstock.kernel.observing.node_meter import NodeMeter
from penstock.kernel.operators.topics.source_columns import SourceColumns
from penstock.kernel.raw_columns import RawColumns, listed
from penstock.model.columns.dictionary_bytes import joined_columns
from penstock.model.user_code import UserCodeError

if TYPE_CHECKING:
    from penstock.kernel.record_queue import RawRecord, RecordQueue, Stop
    from penstock.kernel.task import StreamTask

log = logging.getLogger(__name__)

#: If runs of one input are shorter than this on average, columns are slower than records.
_SHORT_RUN = 32

#: What makes a batch run record at a time: the result of columns is not proven, or code or data of
#: the user fails. By record, the error is reported with its record.
_FALLS_BACK = (NotProvenError, UserCodeError, StoreError)

Input = tuple["RecordQueue", RawColumns]
#: The record that is processed last, with the timestamp of its extractor, and its queue.
Last = tuple["RecordQueue", "RawRecord"]


class ColumnRun(NamedTuple):
    """A batch that ran over columns. Nothing has happened until its effects are applied.

    ``inputs`` are the records that it consumes, with the timestamps of their extractors. If a
    truncated queue has cut the batch, ``order`` names the queues in the order in which the next
    batch has to fill them.
    """

    effects: Effects
    inputs: list[Input]
    order: list[str]


def column_task(task: StreamTask, nodes: Iterable[str]) -> ColumnTask | None:
    """Plan a task over columns; return ``None`` if the settings switch columns off."""
    settings = task.settings
    if settings.vectorize_from is None:
        return None
    return ColumnTask(
        plan_columns(task, nodes),
        choice=FormChoice(settings.vectorize_from, settings.form_clock),
        is_strict=settings.raises_column_errors,
        names_drops=settings.processing_log is not None,
    )


class ColumnTask:
    """Runs batches over columns: a whole batch, or nothing of it.

    ``reasons`` counts why batches ran record at a time. ``errors`` counts the batches that did so
    because of a fault in this code, by kind and place. A strict task raises the fault.
    """

    def __init__(
        self,
        plan: ColumnPlan,
        *,
        choice: FormChoice,
        is_strict: bool = False,
        names_drops: bool = False,
    ) -> None:
        self.plan = plan
        self._islands = plan.islands
        self._names_drops = names_drops
        self.batches = 0
        self.reasons: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self._gave_up: str | None = None
        self.choice = choice
        #: Whether the last batch began over columns, even if it was given up.
        self.has_tried = False
        self._is_strict = is_strict
        #: Faults that have been written to the log.
        self._warned: set[str] = set()
        #: Whether the last batch was given up so late that no time was left for its records.
        self._was_late = False

    def run(
        self,
        inputs: Sequence[Input],
        *,
        truncated: Set[str] = frozenset(),
        stop: Stop | None = None,
        runs: Sequence[Run] | None = None,
        meter: NodeMeter | None = None,
    ) -> ColumnRun | None:
        """Run a batch; return ``None`` if it has to run record at a time.

        A truncated queue that runs empty ends the batch, as it does record at a time. ``stop`` is
        asked only if there is a single input. Several inputs always run as a whole. Their records
        are taken in the order of ``runs`` or, without it, by time.
        """
        self._gave_up = None
        count = sum(len(records) for _, records in inputs)
        self.has_tried = not self._was_late and self.choice.takes_columns(count)
        self._was_late = False
        if not self.has_tried:
            return None
        effects, order = Effects(meter, names_drops=self._names_drops), list[str]()
        for table in self.plan.turns:
            if not table.waits:
                table.keep()
        try:
            inputs = [self._timed(each) for each in inputs]
            for island in self._islands:
                island.processors.check_schedules()
            if self._islands:
                self._check_readable(inputs)
            if len(inputs) == 1 and not self.plan.is_joined:
                inputs = self._run_one(inputs[0], effects, stop)
            else:
                inputs, order = self._before_cut(inputs, truncated)
                self._run(inputs, effects, runs)
                if order and effects.has_skipped:
                    raise NotProvenError("a record is skipped while an input has more to come")
            self._take_turns(effects, meter)
        except _FALLS_BACK as reason:
            self._give_up(str(reason), stop)
            return None
        except Exception as error:
            if self._is_strict:
                raise
            # Nothing has been written or sent yet, so the batch can run record at a time.
            self._give_up(self._note(error), stop)
            return None
        self.batches += 1
        return ColumnRun(effects, [*inputs], order)

    def last_record(
        self, inputs: Sequence[Input], effects: Effects, runs: Sequence[Run] | None = None
    ) -> Last | None:
        """Return the record of a batch that would be processed last, record at a time."""
        number, _, after = (runs or _by_time([records for _, records in inputs]))[-1]
        queue, records = inputs[number]
        backwards = (records.record(place) for place in range(after - 1, -1, -1))
        taken = (record for record in backwards if not effects.is_skipped(record))
        return next(((queue, record) for record in taken), None)

    @property
    def is_replaying(self) -> bool:
        """Whether functions were called for records that still have to run record at a time."""
        return any(island.has_called for island in self._islands)

    def end_replay(self) -> None:
        """Forget what was called for records that the batch has not taken."""
        for island in self._islands:
            island.forget()

    def take_errors(self) -> dict[str, int]:
        """Return the faults since the last call."""
        taken = dict(self.errors)
        self.errors.clear()
        return taken

    def _note(self, error: Exception) -> str:
        """Count a fault, and write it to the log the first time; return its kind and place."""
        last = traceback.extract_tb(error.__traceback__)[-1]
        fault = f"{type(error).__name__} at {PurePath(last.filename).name}:{last.lineno}"
        self.errors[fault] += 1
        if fault not in self._warned:
            self._warned.add(fault)
            log.warning(
                "a fault in the column path makes batches of %s run record at a time, with the"
                " same results but slower; please report it: %s",
                ", ".join(map(repr, self.plan.sources)), fault, exc_info=error,
            )  # fmt: skip
        return fault

    @property
    def why_not(self) -> str:
        """Why the last batch ran record at a time."""
        if self.plan.is_vectorised:
            return self._gave_up or (
                "records cost less for batches of its size, or the batch before it took too long"
            )
        return "; ".join(f"{node}: {reason}" for node, reason in self.plan.why_not.items())

    def _give_up(self, reason: str, stop: Stop | None) -> None:
        self._gave_up = reason
        self.reasons[reason] += 1
        # Record at a time, the batch stops after its first record then. The next batch would be
        # given up in the same way, so it is not tried over columns.
        self._was_late = stop is not None and stop()
        for source in self.plan.sources.values():
            for executor in source.below():
                executor.let_go()
                executor.reset()

    def _take_turns(self, effects: Effects, meter: NodeMeter | None) -> None:
        """Let tables send whose changes were kept back, in the order of a commit."""
        for table in self.plan.turns:
            before = None if meter is None else meter.enter(table.node.name, 0)
            table.take_turn(effects)
            if meter is not None:
                meter.leave(before)

    def _before_cut(
        self, inputs: Sequence[Input], truncated: Set[str]
    ) -> tuple[list[Input], list[str]]:
        """Cut the inputs after the record that empties a truncated queue.

        Return them with the order in which the next batch has to fill the queues.
        """
        if not truncated or len(inputs) == 1:
            return [*inputs], []
        if len(inputs) > 2:
            # Among equal timestamps, the queue that was filled first comes first. Which of three
            # queues that is depends on which of them have records left.
            raise NotProvenError("there are more than two inputs, and one of them has more records")
        runs = _by_time([records for _, records in inputs])
        # The last run is the rest of one input after the other one is empty.
        empty, (rest, end, _) = runs[-2][0], runs[-1]
        queue, records = inputs[rest]
        if inputs[empty][0].name not in truncated:
            return [*inputs], []
        if self.plan.sources[queue.source].unreadable(records.record(end)) is not None:
            # If that record is skipped, the timestamp of the record after it decides on the order.
            raise NotProvenError("a record is skipped while an input has more to come")
        cut = [*inputs]
        cut[rest] = queue, records.cut(0, end)
        return [each for each in cut if len(each[1])], [queue.name, inputs[empty][0].name]

    def _timed(self, given: Input) -> Input:
        """Return the records with the timestamps that the extractor of their source gives them."""
        queue, records = given
        timed = self.plan.sources[queue.source].timed
        return given if timed is None else (queue, timed(records, queue.partition_time))

    def _check_readable(self, inputs: Sequence[Input]) -> None:
        """Raise if the user's handler has to be asked about a record.

        Record at a time, it is asked before functions see the record in front of that one.
        """
        for queue, records in inputs:
            source = self.plan.sources[queue.source]
            if source.asks_users_handler:
                source.check(records)

    def _run_one(self, only: Input, effects: Effects, stop: Stop | None) -> list[Input]:
        queue, records = only
        source = self.plan.sources[queue.source]
        taken = source.run(records, effects, may_skip=True, stop=stop)
        return [(queue, records.cut(0, taken))]

    def _run(self, inputs: Sequence[Input], effects: Effects, runs: Sequence[Run] | None) -> None:
        if self.plan.is_joined:
            self._run_joined(inputs, effects, runs)
            return
        sources = {queue.source for queue, _ in inputs}
        if len(sources) > 1 and not self.plan.alone.isdisjoint(sources):
            raise NotProvenError("messages of a foreign-key join come together with other records")
        if len(sources) > 1 and not self.plan.last.isdisjoint(sources):
            self._run_joined(inputs, effects, runs)
            return
        if self.plan.is_tied and len(sources) > 1:
            self._run_merged(inputs, effects, runs)
            return
        by_source: dict[str, list[int]] = {}
        for number, (queue, _) in enumerate(inputs):
            by_source.setdefault(queue.source, []).append(number)
        for name, numbers in by_source.items():
            source = self.plan.sources[name]
            parts = [inputs[number][1] for number in numbers]
            among = None if runs is None else runs_among(runs, numbers)
            # Inputs of tables that have turns come one after the other; handlers must not notice.
            may_skip = len(parts) == 1 and (not self.plan.turns or len(by_source) == 1)
            source.run(_together(source, parts, among), effects, may_skip=may_skip)

    def _run_joined(
        self, inputs: Sequence[Input], effects: Effects, runs: Sequence[Run] | None
    ) -> None:
        """Run the inputs one after another; the join at which they meet puts them in order.

        Each record knows its place among all.
        """
        orders = _places([records for _, records in inputs], runs)
        by_source: dict[str, list[tuple[RawColumns, Places]]] = {}
        for (queue, records), order in zip(inputs, orders, strict=True):
            by_source.setdefault(queue.source, []).append((records, order))
        for name in sorted(by_source, key=self.plan.last.__contains__):
            records, order = _in_order(self.plan.sources[name], by_source[name])
            self.plan.sources[name].feed(records, effects, order)
        for source in self.plan.sources.values():
            source.finish(effects)

    def _run_merged(
        self, inputs: Sequence[Input], effects: Effects, runs: Sequence[Run] | None
    ) -> None:
        runs = runs or _by_time([records for _, records in inputs])
        total = sum(len(records) for _, records in inputs)
        if len(runs) > len(inputs) and total < len(runs) * _SHORT_RUN:
            raise NotProvenError("records of its inputs alternate too often")
        for number, first, after in runs:
            queue, records = inputs[number]
            self.plan.sources[queue.source].run(records.cut(first, after), effects)


def _by_time(parts: Sequence[RawColumns]) -> list[Run]:
    return merge_order([listed(part.timestamps) for part in parts])


def _places(parts: Sequence[RawColumns], runs: Sequence[Run] | None = None) -> list[Places]:
    """Return for each input the places of its records among those of all."""
    order = np.array(runs or _by_time(parts), np.int64)
    # The records of each input stay in their order, so the inputs' numbers say everything.
    numbers = np.repeat(order[:, 0], order[:, 2] - order[:, 1])
    return [np.flatnonzero(numbers == number) for number in range(len(parts))]


def _in_order(
    source: SourceColumns, parts: list[tuple[RawColumns, Places]]
) -> tuple[RawColumns, Places]:
    """Put the records of several queues of one source together, in the order of their places."""
    if len(parts) == 1:
        return parts[0]
    places = np.concatenate([order for _, order in parts])
    order = np.argsort(places)
    whole = _appended(source, [records for records, _ in parts])
    return whole.take(order.tolist()), places[order]


def _together(
    source: SourceColumns, parts: list[RawColumns], runs: Sequence[Run] | None = None
) -> RawColumns:
    """Put the records of several queues of one source together, in order if that matters."""
    if len(parts) == 1:
        return parts[0]
    whole = _appended(source, parts)
    may_mix = source.is_internal and whole.headers is None
    if may_mix and all(_hides_order(child) for child in source.children):
        return whole
    return whole.take(np.argsort(np.concatenate(_places(parts, runs))).tolist())


def _appended(source: SourceColumns, parts: list[RawColumns]) -> RawColumns:
    """Return the records of all parts, one part after the other."""
    keys = values = joined_columns([part.keys for part in parts])
    if any(part.values is not part.keys for part in parts):
        values = joined_columns([part.values for part in parts])
    return RawColumns(
        parts[0].topic, parts[0].partition, _offsets(source, parts),
        np.concatenate([np.asarray(part.timestamps, np.int64) for part in parts]),
        keys,
        values,
        _headers(parts),
    )  # fmt: skip


def _offsets(source: SourceColumns, parts: list[RawColumns]) -> Sequence[int]:
    if not source.tells_origins:
        # The offsets are of several queues, and no node asks for them.
        return range(sum(len(part) for part in parts))
    if len({part.topic for part in parts}) > 1:
        raise NotProvenError("its records come from several topics")
    return [offset for part in parts for offset in part.offsets]


def _hides_order(executor: ColumnExecutor[Any]) -> bool:
    """Tell whether every path ends in a node that hides the order, without state before it."""
    if executor.hides_order:
        return True
    if executor.resources() or not executor.children:
        return False
    return all(_hides_order(child) for child in executor.children)


def _headers(parts: list[RawColumns]) -> list[tuple[tuple[str, bytes | None], ...]] | None:
    if all(part.headers is None for part in parts):
        return None
    return [
        headers
        for part in parts
        for headers in ([()] * len(part) if part.headers is None else part.headers)
    ]
