"""Joins two streams over columns. Record executor: ``stream_join.py``.

Records of both sides come in turns, often one by one. So both sides are only gathered while the
batch runs. When the last of them ends, each record finds its partners among the records that were
stored before the batch and those that are before it in the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from heapq import merge
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

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
from penstock.kernel.operators.joins.stream_join_waiting import Closed, Results, Row, Waiting
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
from penstock.state.buffer.outer_join import BulkWaiting
from penstock.state.layers.bulk import BulkDuplicates
from penstock.topology.nodes import StreamJoin, StreamJoinWindow

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices

#: The number of results that go on together.
_PIECE = 5_000
#: More waiting records than this are not read for every batch.
_MOST_WAITING = 200_000


@vectorises(StreamJoin)
class StreamJoinColumns(ColumnExecutor[StreamJoin]):
    """One arm of a join. Its ``StreamJoinWindowColumns`` gets the records and has them joined."""

    keeps_order = True
    expands = True

    def __init__(self, node: StreamJoin, task: TaskServices) -> None:
        super().__init__(node, task)
        self.sends_with = node.clock
        self.rule = StreamJoinRule.of(node.windows, is_left=node.is_left, is_outer=node.outer)
        self.join = joiner_of(node.joiner, with_key=node.with_key)

    def resources(self) -> set[str]:
        stores = (self.node.other_store, self.node.outer_store)
        return {f"store {store!r}" for store in stores if store is not None}


@vectorises(StreamJoinWindow)
class StreamJoinWindowColumns(ColumnExecutor[StreamJoinWindow]):
    """Gathers the records of one arm. The planner connects it with those of the other arm."""

    keeps_order = True
    keeps_values = True
    joined: JoinedStreams
    #: Its number among all arms of the join, in the order in which a record comes to them.
    turn = 0

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
        if self.joined.finish(self.arm, effects):
            super().finish(effects)

    def reset(self) -> None:
        self.joined.reset()

    def resources(self) -> set[str]:
        return {f"store {self.node.store!r}"}


class _Side:
    """The records of one side so far, as far as they have keys."""

    def __init__(self) -> None:
        self.keys: list[bytes | None] = []
        self.data: list[bytes | None] = []
        self._times: list[Times] = []
        self._orders: list[Places] = []
        self._headers: list[Sequence[Headers] | None] = []
        self._key_columns: list[BatchColumn] = []
        self._value_columns: list[BatchColumn] = []

    def __len__(self) -> int:
        return len(self.keys)

    def add(self, batch: Batch, keys: Iterable[Any], data: Iterable[bytes | None]) -> None:
        assert batch.order is not None
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
        keys: list[bytes | None],
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
        self.has_key = np.array([key is not None for key in keys], bool)
        #: Whether it has a key and a value, so that it can have partners.
        self.is_joined = np.array([None not in pair for pair in zip(keys, data, strict=True)], bool)
        #: Stream time when the record is joined.
        self.stream_times = times
        self.codes = np.empty(0, np.int64)


class JoinedStreams:
    """Both arms of one join, which end a batch together.

    If a record may come to several arms, they are in the order in which it does.
    """

    def __init__(
        self, arms: Sequence[StreamJoinWindowColumns], task: TaskServices, *, are_apart: bool = True
    ) -> None:
        left = [each for each in arms if each.arm.node.is_left]
        right = [each for each in arms if not each.arm.node.is_left]
        if not left or not right:
            raise NotVectorisableError("the task has only one side of the join")
        self._arms = {True: left[0], False: right[0]}
        self._rules = {is_left: each.arm.rule for is_left, each in self._arms.items()}
        if not same_bytes(left[0].rows.keys.serde, right[0].rows.keys.serde):
            raise NotVectorisableError("the keys of both sides have different serdes")
        self._count = len(arms)
        #: How many places there are for each record, one for each arm that it may come to.
        self._places = 1 if are_apart else len(arms)
        for turn, arm in enumerate(arms if not are_apart else ()):
            arm.turn = turn
        self._task = task
        self._clock = task.join_clock(left[0].arm.node.clock)
        self._waiting_rows = self._outer_store(task, left[0].arm.node.outer_store)
        self._ended = 0
        self.reset()

    def _outer_store(self, task: TaskServices, name: str | None) -> BulkWaiting | None:
        if name is None:
            return None
        rows: BulkWaiting | None = task.store(name).bulk
        if rows is None:
            raise NotVectorisableError(f"store {name!r} has no column form")
        left, right = self._arms[True].rows, self._arms[False].rows
        pairs = (rows.keys, left.keys), (rows.left, left.values), (rows.right, right.values)
        if not all(same_bytes(one.serde, other.serde) for one, other in pairs):
            raise NotVectorisableError(f"store {name!r} has other serdes than the join")
        return rows

    def reset(self) -> None:
        self._ended = 0
        self._moments: list[tuple[Places, Times]] = []
        self._sides = {True: _Side(), False: _Side()}

    def gather(self, arm: StreamJoinWindowColumns, batch: Batch, effects: Effects) -> None:
        node, rule = arm.arm.node, arm.arm.rule
        if batch.order is None:
            raise NotProvenError("the order of its records is not known")
        orders = batch.order * self._places + arm.turn
        batch = replace(batch, order=orders)
        self._moments.append((orders, batch.timestamps))
        if batch.keys.has_nulls() or batch.values.has_nulls():
            have_keys = np.array(batch.keys.are_known())
            is_taken = rule.nulls.takes(have_keys, np.array(batch.values.are_known()))
            effects.drop(node.name, rule.nulls.drop_reason, len(batch) - int(is_taken.sum()))
            # A record without a value is not joined, but its store counts it.
            batch = batch.keep((have_keys | is_taken).tolist())
        if len(batch):
            keys = stored_keys(batch.keys, arm.rows.keys.serde)
            data = batch.values.encoded(arm.rows.values.serde)
            missing = sum(each is None for each in data)
            if missing != batch.values.are_known().count(False):
                raise NotProvenError("a value has no bytes")
            self._sides[node.is_left].add(batch, keys, data)

    def finish(self, arm: StreamJoinColumns, effects: Effects) -> bool:
        """Join the batch if this was the last arm that the batch has reached; tell whether."""
        self._ended += 1
        if self._ended < self._count:
            return False
        sides, moments = self._sides, self._moments
        self.reset()
        if moments:
            self._finish(arm, sides, moments, effects)
        return True

    def _finish(
        self,
        arm: StreamJoinColumns,
        sides: dict[bool, _Side],
        moments: list[tuple[Places, Times]],
        effects: Effects,
    ) -> None:
        orders, times = (_joined([each[part] for each in moments]) for part in (0, 1))
        in_turn = np.argsort(orders, kind="stable")
        orders, times = orders[in_turn], times[in_turn]
        newest = int(times.max())
        effects.add(lambda: self._advance(newest))
        if any(map(len, sides.values())):
            records = {is_left: side.records() for is_left, side in sides.items()}
            for each in records.values():
                start = self._clock.stream_time
                each.stream_times = times_before(orders, times, each.orders + 1, start)
            self._join(arm, records, effects)

    def _advance(self, newest: int) -> None:
        self._clock.stream_time = max(self._clock.stream_time, newest)

    def _join(
        self, arm: StreamJoinColumns, records: dict[bool, _Records], effects: Effects
    ) -> None:
        _number(records[True], records[False])
        ways = {
            is_left: _OneWay(
                each, records[is_left], self._arms[not is_left].rows, records[not is_left]
            )
            for is_left, each in self._arms.items()
        }
        if self._waiting_rows is None and not any(rule.is_outer for rule in self._rules.values()):
            batches = _results(ways, arm.join)
        else:
            batches = self._unmatched_too(ways, arm.join, effects)
        for batch in batches:
            if batch.order is not None:
                batch.order //= self._places
            arm.forward(batch, effects)
        for is_left, side in records.items():
            effects.add(_writing(self._arms[is_left].rows, side))

    def _unmatched_too(
        self, ways: dict[bool, _OneWay], join: Any, effects: Effects
    ) -> Iterator[Batch]:
        """Return the results of a left or outer join, with those of records without a partner."""
        task, rows = self._task, self._waiting_rows
        waiting = Waiting(self._rules, self._clock, task.system_time(), task.emit_interval_ms)
        if rows is not None:
            if len(rows) > _MOST_WAITING:
                raise NotProvenError("too many records wait for a partner")
            waiting.load(rows)
        times = {is_left: way.pair_times() for is_left, way in ways.items()}
        for row in merge(*(way.rows() for way in ways.values()), key=itemgetter(0)):
            each = row[1]
            waiting.take(each, times[each.is_left][each.first_pair : each.after_pairs])
        waiting.finish(effects)
        return self._assembled(ways, waiting.results, join)

    def _assembled(self, ways: dict[bool, _OneWay], results: Results, join: Any) -> Iterator[Batch]:
        parts: list[Part] = []
        numbers: list[int] = []
        for is_left, way in ways.items():
            for found, make in ((results.pairs, way.part), (results.alone, way.alone)):
                if found[is_left]:
                    places, items = zip(*found[is_left], strict=True)
                    numbers += places
                    parts.append(make(np.array(items, np.int64)))
        if results.closed:
            places, closed = zip(*results.closed, strict=True)
            numbers += places
            parts.append(self._closed_part(ways, closed))
        if parts:
            yield assembled(parts, np.array(numbers), join)

    def _closed_part(self, ways: dict[bool, _OneWay], closed: Sequence[Closed]) -> Part:
        rows = self._waiting_rows
        assert rows is not None
        keys = decode_all(rows.keys.serde, [each.key for each in closed])
        sides = {}
        for is_left, codec in ((True, rows.left), (False, rows.right)):
            data = [each.data if each.is_left is is_left else None for each in closed]
            sides[is_left] = BatchColumn(decode_all(codec.serde, data))
        by = [(ways[each.by.is_left].records, each.by.place) for each in closed]
        headers: list[Headers] | None = None
        if any(records.headers is not None for records, _ in by):
            headers = [() if each.headers is None else each.headers[at] for each, at in by]
        return Part(
            BatchColumn(keys), sides[True], sides[False],
            np.array([each.timestamp for each in closed], np.int64), headers,
            np.array([records.orders[place] for records, place in by], np.int64),
        )  # fmt: skip


def _writing(rows: BulkDuplicates, side: _Records) -> Callable[[], None]:
    """Return what stores the records of one side that have a key."""

    def write() -> None:
        kept = [place for place, key in enumerate(side.keys) if key is not None]
        if kept:
            times = side.times.tolist()
            rows.write(
                [side.keys[place] for place in kept],  # type: ignore[misc]
                [side.data[place] for place in kept],
                [times[place] for place in kept],
            )

    return write


def _number(left: _Records, right: _Records) -> None:
    """Give each different key of both sides a number."""
    codes = pa.array([*left.keys, *right.keys], pa.binary()).dictionary_encode().indices
    # A record without a key has no number. It does not look for partners.
    numbers = pc.fill_null(codes, -1).to_numpy().astype(np.int64)
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
        seeking = np.flatnonzero(records.is_joined)
        first, last = self.rule.partners(records.times[seeking])
        stored = self._stored(records, seeking, rows, first, last)
        held = np.flatnonzero(others.is_joined)
        moves = np.flatnonzero(others.has_key) if rows.none_advances else held
        oldest = times_before(
            others.orders[moves], others.times[moves], records.orders[seeking], rows.stream_time
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
        wanted = {key for key in (records.keys[n] for n in seeking.tolist()) if key is not None}
        return rows.read(wanted, int(first.min()), int(last.max()))

    def pair_times(self) -> list[int]:
        """Return the time of the other record of each pair."""
        times: list[int] = self.other_times[self.pairs.found].tolist()
        return times

    def rows(self) -> Iterator[tuple[int, Row]]:
        """Return the records that may have results, each after its place among all records."""
        records = self.records
        _, last = self.rule.partners(records.times)
        ends = [
            np.searchsorted(self.pairs.seekers, np.arange(len(records.times)), side).tolist()
            for side in ("left", "right")
        ]
        columns = (records.times, last, records.stream_times)
        fields = zip(*(each.tolist() for each in columns), strict=True)
        numbers = records.orders.tolist()
        rows = zip(fields, records.keys, records.data, *ends, strict=True)
        for place, ((time, last_time, moment), key, data, first, after) in enumerate(rows):
            if data is not None:
                row = Row(self.is_left, place, time, last_time, moment, key, data, first, after)
                yield numbers[place], row

    def part(self, places: Places) -> Part:
        """Return some of the pairs."""
        records, (seekers, found) = self.records, self.pairs
        who, what = seekers[places], found[places]
        times = self.rule.result_time(records.times[who], self.other_times[what])
        return self._part(who, BatchColumn(self.values(what)), times)

    def alone(self, places: Places) -> Part:
        """Return records that have no partner."""
        nothing = BatchColumn([None] * len(places))
        return self._part(places, nothing, self.records.times[places])

    def _part(self, who: Places, other: BatchColumn, times: Times) -> Part:
        records, wanted = self.records, who.tolist()
        own = records.value_column.take(wanted)
        headers = None
        if records.headers is not None:
            headers = [records.headers[place] for place in wanted]
        left, right = (own, other) if self.is_left else (other, own)
        return Part(
            records.key_column.take(wanted), left, right, times, headers, records.orders[who]
        )

    def values(self, places: Places) -> Sequence[Any]:
        """Return what the store returns for these records of the other side."""
        different, where = np.unique(places, return_inverse=True)
        values = decode_all(self._serde, [self._data[place] for place in different.tolist()])
        return [values[place] for place in where.tolist()]


def _results(ways: dict[bool, _OneWay], join: Any) -> Iterator[Batch]:
    """Return the results in the order of the records that have found a partner."""
    first, second = ways.values()
    orders = _joined([way.records.orders[way.pairs.seekers] for way in (first, second)])
    in_turn = np.argsort(orders, kind="stable")
    border = len(first.pairs.seekers)
    for start in range(0, len(in_turn), _PIECE):
        piece = in_turn[start : start + _PIECE]
        is_first = piece < border
        parts = [first.part(piece[is_first]), second.part(piece[~is_first] - border)]
        yield assembled(parts, np.argsort(~is_first, kind="stable"), join)


class Part(NamedTuple):
    """Some of the results: what the joiner gets, and what the results have besides."""

    keys: BatchColumn
    left: BatchColumn
    right: BatchColumn
    times: Times
    headers: list[Headers] | None
    orders: Places


def assembled(parts: Sequence[Part], numbers: Places, join: Any) -> Batch:
    """Join the values of all parts; ``numbers`` has the place of each result among all."""
    headers: list[Headers] | None = None
    if any(part.headers is not None for part in parts):
        headers = [
            one
            for part in parts
            for one in ([()] * len(part.times) if part.headers is None else part.headers)
        ]
    batch = Batch(
        concatenated([part.keys for part in parts]), concatenated([part.left for part in parts]),
        _joined([part.times for part in parts]), headers,
        order=_joined([part.orders for part in parts]),
    )  # fmt: skip
    back = np.argsort(numbers)
    batch = batch.take(back)
    right = concatenated([part.right for part in parts]).take(back.tolist())
    return batch.with_columns(batch.keys, BatchColumn(join(batch.keys, batch.values, right)))


def _joined(arrays: Sequence[Places]) -> Places:
    return np.concatenate(arrays) if arrays else np.empty(0, np.int64)
