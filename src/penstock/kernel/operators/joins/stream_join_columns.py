"""Joins two streams over columns. Record executor: ``stream_join.py``.

Records of both sides come in turns, often one by one. So both sides are only gathered while the
batch runs. When the last of them ends, each record finds its partners among the records that were
stored before the batch and those that are before it in the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from penstock.kernel.columns.batch import Batch, NotProvenError
from penstock.kernel.columns.batch_column import BatchColumn, Places, Times, concatenated
from penstock.kernel.columns.column_executor import (
    ColumnExecutor,
    NotVectorisableError,
    require_known,
    vectorises,
)
from penstock.kernel.columns.effects import Effects
from penstock.kernel.columns.functions import joiner_of
from penstock.kernel.columns.store_rows import stored_keys
from penstock.kernel.operators.joins.stream_matches import (
    STORED,
    Found,
    Pairs,
    Seekers,
    matches,
    times_before,
)
from penstock.model.record import Headers
from penstock.model.rules.stream_join_rule import StreamJoinRule
from penstock.serde.columns import decode_all, same_bytes
from penstock.state.layers.bulk import BulkDuplicates
from penstock.topology.nodes import StreamJoin, StreamJoinWindow

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices

#: The number of results that go on together.
_PIECE = 5_000


@vectorises(StreamJoin)
class StreamJoinColumns(ColumnExecutor[StreamJoin]):
    """One arm of a join. Its ``StreamJoinWindowColumns`` gets the records and has them joined."""

    def __init__(self, node: StreamJoin, task: TaskServices) -> None:
        super().__init__(node, task)
        if node.outer or node.outer_store is not None:
            raise NotVectorisableError("a left or outer join of streams has no column form")
        self.rule = StreamJoinRule.of(node.windows, is_left=node.is_left, is_outer=node.outer)
        self.join = joiner_of(node.joiner, with_key=node.with_key)

    def resources(self) -> set[str]:
        return {f"store {self.node.other_store!r}"}


@vectorises(StreamJoinWindow)
class StreamJoinWindowColumns(ColumnExecutor[StreamJoinWindow]):
    """Gathers the records of one arm. The planner connects it with those of the other arm."""

    joined: JoinedStreams

    def __init__(self, node: StreamJoinWindow, task: TaskServices) -> None:
        super().__init__(node, task)
        rows = getattr(task.store(node.store), "bulk", None)
        if not isinstance(rows, BulkDuplicates):
            raise NotVectorisableError(f"store {node.store!r} has no column form")
        require_known(rows.keys.serde, f"key of store {node.store!r}:")
        require_known(rows.values.serde, f"value of store {node.store!r}:")
        below = [task.node(name) for name in task.children(node.name)]
        if len(below) != 1 or not isinstance(below[0], StreamJoin):
            raise NotVectorisableError("several nodes read its records")
        self.rows = rows

    @property
    def arm(self) -> StreamJoinColumns:
        (arm,) = self.children
        assert isinstance(arm, StreamJoinColumns)
        return arm

    def process(self, batch: Batch, effects: Effects) -> None:
        self.joined.gather(self, batch, effects)

    def finish(self, effects: Effects) -> None:
        self.joined.finish(self.arm, effects)
        super().finish(effects)

    def reset(self) -> None:
        self.joined.reset()

    def resources(self) -> set[str]:
        return {f"store {self.node.store!r}"}


class _Side:
    """The records of one side so far, as far as they have keys."""

    def __init__(self) -> None:
        self.keys: list[bytes] = []
        self.data: list[bytes | None] = []
        self._times: list[Times] = []
        self._orders: list[Places] = []
        self._headers: list[Sequence[Headers] | None] = []
        self._key_columns: list[BatchColumn] = []
        self._value_columns: list[BatchColumn] = []

    def __len__(self) -> int:
        return len(self.keys)

    def add(self, batch: Batch, keys: Iterable[Any], data: Iterable[bytes | None]) -> None:
        if batch.order is None:
            raise NotProvenError("the order of its records is not known")
        self.keys += keys
        self.data += data
        self._times.append(batch.timestamps)
        self._orders.append(batch.order)
        self._headers.append(batch.headers)
        self._key_columns.append(batch.keys)
        self._value_columns.append(batch.values)

    def records(self) -> _Records:
        """Return the records in the order of both sides."""
        orders = _joined(self._orders)
        in_turn = np.argsort(orders, kind="stable")
        headers: list[Headers] | None = None
        if any(each is not None for each in self._headers):
            headers = [
                one
                for times, each in zip(self._times, self._headers, strict=True)
                for one in ([()] * len(times) if each is None else each)
            ]
        places = in_turn.tolist()
        return _Records(
            keys=[self.keys[place] for place in places],
            data=[self.data[place] for place in places],
            times=_joined(self._times)[in_turn],
            orders=orders[in_turn],
            headers=None if headers is None else [headers[place] for place in places],
            key_column=concatenated(self._key_columns).take(places),
            value_column=concatenated(self._value_columns).take(places),
        )


class _Records:
    """The records of one side in order, and those in its store that the other side may find."""

    def __init__(
        self,
        *,
        keys: list[bytes],
        data: list[bytes | None],
        times: Times,
        orders: Places,
        headers: list[Headers] | None,
        key_column: BatchColumn,
        value_column: BatchColumn,
    ) -> None:
        self.keys = keys
        self.data = data
        self.times = times
        self.orders = orders
        self.headers = headers
        self.key_column = key_column
        self.value_column = value_column
        self.has_value = np.array([each is not None for each in data], bool)
        self.codes = np.empty(0, np.int64)


class JoinedStreams:
    """Both arms of one join, which end a batch together."""

    def __init__(self, arms: Sequence[StreamJoinWindowColumns], task: TaskServices) -> None:
        left = [each for each in arms if each.arm.node.is_left]
        right = [each for each in arms if not each.arm.node.is_left]
        if not left or not right:
            raise NotVectorisableError("the task has only one side of the join")
        self._left, self._right = left[0], right[0]
        if not same_bytes(self._left.rows.keys.serde, self._right.rows.keys.serde):
            raise NotVectorisableError("the keys of both sides have different serdes")
        self._count = len(arms)
        self._clock = task.join_clock(left[0].arm.node.clock)
        self._ended = 0
        self.reset()

    def reset(self) -> None:
        self._ended, self._newest = 0, -1
        self._sides = {True: _Side(), False: _Side()}

    def gather(self, arm: StreamJoinWindowColumns, batch: Batch, effects: Effects) -> None:
        node, rule = arm.arm.node, arm.arm.rule
        self._newest = max(self._newest, int(batch.timestamps.max()))
        if batch.keys.has_nulls() or batch.values.has_nulls():
            have_keys = np.array(batch.keys.are_known())
            have_values = np.array(batch.values.are_known())
            is_taken = have_keys & have_values
            effects.drop(node.name, rule.nulls.drop_reason, len(batch) - int(is_taken.sum()))
            # A record without a value is not joined, but its store counts it.
            batch = batch.keep(have_keys.tolist())
        if len(batch):
            keys = stored_keys(batch.keys, arm.rows.keys.serde)
            data = batch.values.encoded(arm.rows.values.serde)
            missing = sum(each is None for each in data)
            if missing != batch.values.are_known().count(False):
                raise NotProvenError("a value has no bytes")
            self._sides[node.is_left].add(batch, keys, data)

    def finish(self, arm: StreamJoinColumns, effects: Effects) -> None:
        """Join the batch if this was the last arm that the batch has reached."""
        self._ended += 1
        if self._ended < self._count:
            return
        left, right, newest = self._sides[True], self._sides[False], self._newest
        self.reset()
        if newest < 0:
            return
        effects.add(lambda: self._advance(newest))
        if len(left) or len(right):
            self._join(arm, left.records(), right.records(), effects)

    def _advance(self, newest: int) -> None:
        self._clock.stream_time = max(self._clock.stream_time, newest)

    def _join(
        self, arm: StreamJoinColumns, left: _Records, right: _Records, effects: Effects
    ) -> None:
        _number(left, right)
        found = [
            _OneWay(self._left, left, self._right.rows, right),
            _OneWay(self._right, right, self._left.rows, left),
        ]
        for batch in _results(found, arm.join):
            arm.forward(batch, effects)
        for rows, side in ((self._left.rows, left), (self._right.rows, right)):
            if side.keys:
                effects.add(_writing(rows, side))


def _writing(rows: BulkDuplicates, side: _Records) -> Callable[[], None]:
    return lambda: rows.write(side.keys, side.data, side.times.tolist())


def _number(left: _Records, right: _Records) -> None:
    """Give each different key of both sides a number."""
    codes = pa.array(left.keys + right.keys, pa.binary()).dictionary_encode().indices
    numbers = codes.to_numpy(zero_copy_only=False).astype(np.int64)
    left.codes, right.codes = numbers[: len(left.keys)], numbers[len(left.keys) :]


class _OneWay:
    """The records of one side with the records of the other side that they find."""

    def __init__(
        self,
        own: StreamJoinWindowColumns,
        records: _Records,
        rows: BulkDuplicates,
        others: _Records,
    ) -> None:
        self.is_left = own.arm.node.is_left
        self.records = records
        self.rule = own.arm.rule
        self._serde = rows.values.serde
        seeking = np.flatnonzero(records.has_value)
        first, last = self.rule.partners(records.times[seeking])
        stored = self._stored(records, seeking, rows, first, last)
        held = np.flatnonzero(others.has_value)
        oldest = times_before(
            others.orders[held], others.times[held], records.orders[seeking], rows.stream_time
        )
        numbers = dict(zip(records.keys, records.codes.tolist(), strict=True))
        stored_codes = np.array([numbers[key] for key, _, _ in stored], np.int64)
        stored_times = np.array([time for _, time, _ in stored], np.int64)
        self._data: list[Any] = [data for _, _, data in stored]
        self._data += [others.data[place] for place in held.tolist()]
        self.other_times = np.concatenate([stored_times, others.times[held]])
        pairs = matches(
            Seekers(
                records.codes[seeking], first, last, records.orders[seeking],
                rows.oldest_readable(oldest),
            ),
            Found(
                np.concatenate([stored_codes, others.codes[held]]),
                self.other_times,
                np.concatenate([np.full(len(stored), STORED), others.orders[held]]),
            ),
        )  # fmt: skip
        self.pairs = Pairs(seeking[pairs.seekers], pairs.found)

    @staticmethod
    def _stored(
        records: _Records, seeking: Places, rows: BulkDuplicates, first: Times, last: Times
    ) -> list[tuple[bytes, int, bytes]]:
        if not len(seeking) or rows.stream_time < 0:
            return []
        wanted = {records.keys[place] for place in seeking.tolist()}
        return rows.read(wanted, int(first.min()), int(last.max()))

    def values(self, places: Places) -> Sequence[Any]:
        """Return what the store returns for these records of the other side."""
        different, where = np.unique(places, return_inverse=True)
        values = decode_all(self._serde, [self._data[place] for place in different.tolist()])
        return [values[place] for place in where.tolist()]


def _results(ways: Sequence[_OneWay], join: Any) -> Iterator[Batch]:
    """Return the results in the order of the records that have found a partner."""
    orders = _joined([way.records.orders[way.pairs.seekers] for way in ways])
    in_turn = np.argsort(orders, kind="stable")
    border = len(ways[0].pairs.seekers)
    for start in range(0, len(in_turn), _PIECE):
        piece = in_turn[start : start + _PIECE]
        is_first = piece < border
        one, other = _part(ways[0], piece[is_first]), _part(ways[1], piece[~is_first] - border)
        # Those of the first way come first here, and are put in order again.
        back = np.argsort(np.argsort(~is_first, kind="stable"), kind="stable")
        whole = Batch(
            concatenated([one.keys, other.keys]), concatenated([one.left, other.left]),
            np.concatenate([one.times, other.times]), _all_headers([one, other]),
            order=orders[in_turn][start : start + _PIECE],
        )  # fmt: skip
        right = concatenated([one.right, other.right]).take(back.tolist())
        batch = whole.take(back)
        batch.order = whole.order
        yield batch.with_columns(batch.keys, BatchColumn(join(batch.keys, batch.values, right)))


class _Part(NamedTuple):
    """Pairs that the records of one side have found."""

    keys: BatchColumn
    left: BatchColumn
    right: BatchColumn
    times: Times
    headers: list[Headers] | None


def _part(way: _OneWay, places: Places) -> _Part:
    records, (seekers, found) = way.records, way.pairs
    who, what = seekers[places], found[places]
    wanted = who.tolist()
    own, other = records.value_column.take(wanted), BatchColumn(way.values(what))
    return _Part(
        records.key_column.take(wanted),
        own if way.is_left else other,
        other if way.is_left else own,
        way.rule.result_time(records.times[who], way.other_times[what]),
        None if records.headers is None else [records.headers[place] for place in wanted],
    )


def _all_headers(parts: Sequence[_Part]) -> list[Headers] | None:
    if all(part.headers is None for part in parts):
        return None
    return [
        one
        for part in parts
        for one in ([()] * len(part.times) if part.headers is None else part.headers)
    ]


def _joined(arrays: Sequence[Places]) -> Places:
    return np.concatenate(arrays) if arrays else np.empty(0, np.int64)
