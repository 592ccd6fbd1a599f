"""Decodes columns of an input topic. Record executor: ``source.py``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from penstock.kernel.columns.batch import Batch, NotProvenError, Origins
from penstock.kernel.columns.batch_column import BatchColumn, Places, Times, input_column
from penstock.kernel.columns.change_columns import require_known_values, split_changes
from penstock.kernel.columns.column_executor import ColumnExecutor, require_known
from penstock.kernel.columns.effects import Effects
from penstock.kernel.columns.subscriptions import MESSAGE_SERDES, messages
from penstock.kernel.raw_columns import RawColumns
from penstock.kernel.record_queue import RawRecord
from penstock.kernel.serdes import required_serde
from penstock.model.columns.dictionary_bytes import DictionaryBytes
from penstock.model.user_code import UserCodeError
from penstock.processor.handlers import (
    LogAndContinueExceptionHandler,
    LogAndFailExceptionHandler,
)
from penstock.serde.change import ChangeSerde
from penstock.topology.nodes import Source

if TYPE_CHECKING:
    from penstock.kernel.columns.event_times import Timed
    from penstock.kernel.services import TaskServices


#: The number of records that are decoded together. Their values fit into a CPU's cache, and the
#: memory is used again for the next piece.
_PIECE = 5_000
#: The same for dictionary-encoded records. They are only small numbers, but each piece decodes the
#: whole dictionary.
_CODED_PIECE = 100_000
#: With a time limit: the most records between two calls of ``stop``, and the number of records
#: before the first call.
_HURRIED_PIECE = 50_000
_FIRST_PIECE = 500
#: The same if functions of the user are called, which may be slow. Each piece is then twice as
#: large as the one before, so a batch takes at most twice its time limit.
_FIRST_CALLS = 16


class SourceColumns(ColumnExecutor[Source]):
    """Decodes the columns of a source. The handler is asked about unreadable records."""

    def __init__(self, node: Source, task: TaskServices) -> None:
        super().__init__(node, task)
        #: Gives records the timestamps of an extractor; ``None`` if they keep their own.
        self.timed: Timed | None = None
        #: Whether an executor below needs topic, partition and offset of its records.
        self.tells_origins = False
        #: Whether a processor of the task sees stream time as it is at each record.
        self.tells_stream_time = False
        #: Whether an executor below calls functions of the user.
        self.calls_functions = False
        #: Whether some of these functions may do anything: their order shows, and they may be slow.
        self.has_island = False
        #: Whether all its topics are repartition topics. The order of records of different
        #: upstream tasks is not determined there, so the order of their results is not either.
        self.is_internal = bool(node.topics) and all(
            task.topic_name(topic) != topic for topic in node.topics
        )
        what = f"source node {node.name!r}"
        self._key = required_serde(node.key_serde, task.defaults, "key", what, node.site)
        self._value = required_serde(node.value_serde, task.defaults, "value", what, node.site)
        require_known(self._key, "key")
        require_known_values(self._value)
        #: Whether its records are messages of a foreign-key join.
        self.reads_messages = isinstance(self._value, MESSAGE_SERDES)
        self._handler = task.failures.on_deserialization

    def run(
        self,
        raw: RawColumns,
        effects: Effects,
        *,
        may_skip: bool = False,
        stop: Callable[[], bool] | None = None,
    ) -> int:
        """Run records through all executors, a piece at a time; return how many records were taken.

        ``may_skip`` says that a record may be left out: its offset is that of its topic, and no
        other input has to be merged with this one. ``stop`` is asked between pieces. The pieces
        before it returns true are a batch of their own, so folds still send once.
        """
        taken = 0
        first = None
        if stop is not None:
            first = _FIRST_CALLS if self.calls_functions else _FIRST_PIECE
            if self.has_island:
                first = 1
        for after in _ends(raw, first):
            piece, taken = raw.cut(taken, after), after
            if self.task.meter is not None:
                self.task.meter.enter(self.node.name, 0)
            try:
                batch = self._decoded(piece)
            except UserCodeError:
                if not may_skip or isinstance(self._handler, LogAndFailExceptionHandler):
                    raise
                batch = self._decoded(self._readable(piece, effects))
            if self.tells_stream_time:
                self._tell_stream_time(batch, effects)
            self.process(batch, effects)
            if stop is not None and taken < len(raw) and stop():
                break
        self.finish(effects)
        return taken

    @property
    def asks_users_handler(self) -> bool:
        """Whether a handler of the user, which may note things, decides about unreadable records.

        A handler of this package only fails the task, or goes on.
        """
        return not isinstance(
            self._handler, LogAndContinueExceptionHandler | LogAndFailExceptionHandler
        )

    def check(self, raw: RawColumns) -> None:
        """Raise ``UserCodeError`` if a record cannot be decoded."""
        taken = 0
        for after in _ends(raw, None):
            self._decoded(raw.cut(taken, after))
            taken = after

    def feed(self, raw: RawColumns, effects: Effects, order: Places) -> None:
        """Run records through all executors, but do not end the batch: other inputs follow.

        ``order`` has the place of each record among those of all inputs.
        """
        taken = 0
        for after in _ends(raw, None):
            if self.task.meter is not None:
                self.task.meter.enter(self.node.name, 0)
            batch = self._decoded(raw.cut(taken, after))
            batch.order = order[taken:after]
            self.process(batch, effects)
            taken = after

    def _decoded(self, raw: RawColumns) -> Batch:
        """Return the decoded batch; raise ``UserCodeError`` if a record cannot be decoded."""
        timestamps = np.asarray(raw.timestamps, np.int64)
        if len(timestamps) and timestamps.min() < 0:
            raise NotProvenError("a record has a negative timestamp")
        keys = input_column(raw.keys, self._key)
        if isinstance(self._value, ChangeSerde):
            return self._changes(raw, keys, timestamps, self._value)
        if isinstance(self._value, MESSAGE_SERDES):
            keys.check()
            values = messages(raw.values, self._value)
            return Batch(keys, values, timestamps, raw.headers, self._origins(raw))
        values = keys
        if raw.values is not raw.keys or self._value != self._key:
            values = input_column(raw.values, self._value)
        keys.check()
        values.check()
        return Batch(keys, values, timestamps, raw.headers, self._origins(raw))

    def _changes(
        self, raw: RawColumns, keys: BatchColumn, timestamps: Times, serde: ChangeSerde
    ) -> Batch:
        """Return changes of a table, which have new and old values."""
        assert serde.inner is not None
        new, old = (input_column(each, serde.inner) for each in split_changes(raw.values))
        for column in (keys, new, old):
            column.check()
        return Batch(keys, new, timestamps, raw.headers, self._origins(raw), old=old)

    def _origins(self, raw: RawColumns) -> Origins | None:
        if not self.tells_origins:
            return None
        return Origins(raw.topic, raw.partition, np.asarray(raw.offsets, np.int64))

    def _tell_stream_time(self, batch: Batch, effects: Effects) -> None:
        """Tell each record the highest timestamp so far, also of records that go no further."""
        if not len(batch):
            return
        before = max(effects.stream_time, self.task.stream_time())
        times = np.maximum.accumulate(np.maximum(batch.timestamps, before))
        effects.stream_time = int(times[-1])
        if batch.origins is not None:
            batch.origins = replace(batch.origins, stream_times=times)

    def _readable(self, raw: RawColumns, effects: Effects) -> RawColumns:
        """Return the records that can be decoded; the handler is asked about the others."""
        kept = []
        for place, record in enumerate(raw):
            error = self.unreadable(record)
            if error is None:
                kept.append(place)
            else:
                effects.skip(RawRecord(*record), self._ask(RawRecord(*record), error))
        return raw.take(kept)

    def unreadable(self, record: RawRecord) -> Exception | None:
        """Return why a record cannot be decoded; None if it can."""
        try:
            self._key.deserialize(record[0], record[4])
            self._value.deserialize(record[0], record[5])
        except Exception as error:  # noqa: BLE001 - any serde; the handler decides
            return error
        return None

    def _ask(self, record: RawRecord, error: Exception) -> Callable[[], None]:
        return lambda: self.task.failures.deserialization(
            self.node, record, error, self._unreadable_part(record)
        )

    def _unreadable_part(self, record: RawRecord) -> str:
        try:
            self._key.deserialize(record.topic, record.key)
        except Exception:  # noqa: BLE001 - any serde
            return "key"
        return "value"

    def process(self, batch: Batch, effects: Effects) -> None:
        self.forward(batch, effects)


def _ends(raw: RawColumns, first: int | None) -> Iterator[int]:
    """Return where the pieces of a batch end.

    With a time limit, ``first`` is the size of the first piece; the next ones are larger, but none
    is very large. A small piece costs 0.2 ms, or decodes the dictionary once more.
    """
    size = _CODED_PIECE if _is_coded(raw) else _PIECE
    end = 0
    if first is not None:
        size = min(size, _HURRIED_PIECE)
        if first <= _FIRST_CALLS:
            while first < size and end + first < len(raw):
                end += first
                first *= 2
                yield end
        elif len(raw) > (size if _is_coded(raw) else first):
            end = first
            yield end
    while end < len(raw):
        end = min(end + size, len(raw))
        yield end


def _is_coded(raw: RawColumns) -> bool:
    return isinstance(raw.keys, DictionaryBytes) and isinstance(raw.values, DictionaryBytes)
