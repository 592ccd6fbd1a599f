"""Joins two tables on a foreign key over columns. Record executor: ``foreign_key_join.py``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.kernel.columns.batch import Batch, NotProvenError
from penstock.kernel.columns.batch_column import BatchColumn
from penstock.kernel.columns.column_executor import ColumnExecutor, NotVectorisableError, vectorises
from penstock.kernel.columns.effects import Effects
from penstock.kernel.columns.functions import joiner_of, mapper_of
from penstock.kernel.columns.store_rows import changed_rows, stored_keys
from penstock.kernel.columns.subscriptions import (
    ResponseColumn,
    SubscriptionColumn,
    asked,
    key_bytes,
    messages,
)
from penstock.kernel.operators.tables.read_rows import Mask, spread, table_rows
from penstock.kernel.serdes import required_serde
from penstock.model.columns.value_hashes import murmur3_128_each
from penstock.model.rules.drop_reasons import NULL_FOREIGN_KEY, NULL_KEY, STALE_RESPONSE
from penstock.model.rules.foreign_key_rule import (
    ANSWER_ALWAYS,
    Request,
    ends,
    has_foreign_value,
    inner_join_requests,
    is_answered,
    is_joined,
    left_join_requests,
    may_miss_deletion,
    takes_null_key,
)
from penstock.model.rules.table_rule import LastRows
from penstock.serde.base import Serde
from penstock.serde.columns import column_serde_of
from penstock.serde.combined_key import combined_key, combined_key_prefix, split_combined_key
from penstock.state.key_value.key_value_store import after_prefix
from penstock.state.layers.bulk import BulkRows
from penstock.topology.nodes.joins.foreign_key_join import (
    ForeignKeyLookUp,
    ForeignKeyReceive,
    ForeignKeyResolve,
    ForeignKeySubscribe,
    ForeignKeyUpdate,
)

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices

_TIME_BYTES = 8


@vectorises(ForeignKeySubscribe)
class ForeignKeySubscribeColumns(ColumnExecutor[ForeignKeySubscribe]):
    """Asks for the right rows of changed left rows: for each of these once, twice or not."""

    reads_origins = True

    def __init__(self, node: ForeignKeySubscribe, task: TaskServices) -> None:
        super().__init__(node, task)
        if node.versioned:
            raise NotVectorisableError("its table is versioned")
        self._keys = _serde(self, node.foreign_key_serde, "key")
        self._primary = _serde(self, node.primary_key_serde, "key")
        self._values = _serde(self, node.value_serde, "value")
        self._extract = mapper_of(node.foreign_key, "its foreign key", with_key=node.with_key)

    def process(self, batch: Batch, effects: Effects) -> None:
        if batch.origins is None:
            raise NotProvenError("the partition of its records is not known")
        new = self._foreign_keys(batch, batch.values)
        old = None if batch.old is None else self._foreign_keys(batch, batch.old)
        places, requests = self._requests(batch, new, old, effects)
        if not requests:
            return
        keys, instructions = zip(*requests, strict=True)
        digests = _digests(batch.values, self._values)
        rows = np.array(places, np.int64)
        # In a task of several sub-topologies, inputs may have partitions of different numbers.
        partitions = [partition for _, partition in batch.origins.at(rows).each_source()]
        messages = asked(
            [digests[place] for place in places], instructions, batch.keys.take(places), partitions
        )
        self.forward(batch.repeated(BatchColumn(keys), messages, rows), effects)

    def _foreign_keys(self, batch: Batch, values: BatchColumn) -> Sequence[Any]:
        """Return the foreign key of each value; ``None`` of a value that is not there."""
        rows = batch.with_columns(batch.keys, values)
        if not values.has_nulls():
            return self._extract(rows)
        known = np.array(values.are_known(), bool)
        return spread(known, self._extract(rows.keep(known.tolist())))

    def _requests(
        self, batch: Batch, new: Sequence[Any], old: Sequence[Any] | None, effects: Effects
    ) -> tuple[list[int], list[Request]]:
        """Return what is sent, and for each message the place of its change."""
        moved = effects.notes(self.task.unsettled(self.node.name))
        has_moved, is_left_join = bool(moved), self.node.is_left_join
        primary = self._primary_keys(batch)
        are_moved = self._are_moved(old, new)
        has_value = batch.values.are_known()
        had_value = [False] * len(batch) if batch.old is None else batch.old.are_known()
        places: list[int] = []
        found: list[Request] = []
        dropped = 0
        changes = zip(has_value, had_value, old or repeat(None), new, are_moved, strict=False)
        for place, (has_new, had_old, before, after, is_moved) in enumerate(changes):
            if not has_new and not had_old:
                continue
            if is_left_join:
                requests = left_join_requests(before, after, is_moved=is_moved)
            else:
                may_have_result = has_moved and primary[place] in moved
                if is_moved:
                    moved[primary[place]] = None
                    has_moved = True
                elif after is None:
                    dropped += 1
                requests = inner_join_requests(
                    before, after, is_moved=is_moved, may_have_result=may_have_result
                )
            for request in requests:
                places.append(place)
                found.append(request)
        effects.drop(self.node.name, NULL_FOREIGN_KEY, dropped)
        return places, found

    def _primary_keys(self, batch: Batch) -> Sequence[bytes]:
        if batch.keys.has_nulls():
            raise NotProvenError("a row has no key")
        return key_bytes(batch.keys, self._primary)

    def _are_moved(self, old: Sequence[Any] | None, new: Sequence[Any]) -> Sequence[bool]:
        """Tell of each row whether it had a foreign key, and has another one or none now."""
        if old is None:
            return [False] * len(new)
        # Two keys are one key for Kafka if their bytes are equal, not if the objects are.
        bytes_of = [stored_keys(BatchColumn(keys), self._keys) for keys in (old, new)]
        pairs = zip(*bytes_of, strict=True)
        return [before is not None and before != after for before, after in pairs]


@vectorises(ForeignKeyReceive)
class ForeignKeyReceiveColumns(ColumnExecutor[ForeignKeyReceive]):
    """Keeps or ends subscriptions, and forwards them to be answered."""

    def __init__(self, node: ForeignKeyReceive, task: TaskServices) -> None:
        super().__init__(node, task)
        self._keys = _serde(self, node.foreign_key_serde, "key")
        self._primary = _serde(self, node.primary_key_serde, "key")
        self._rows = _subscription_rows(task, node.store)

    def process(self, batch: Batch, effects: Effects) -> None:
        asks = _subscriptions(batch)
        if batch.keys.has_nulls():
            batch, asks = self._keyed(batch, asks, effects)
        told = effects.notes(self.task.unsettled(self.node.store))
        was_told, instructions = bool(told), [*asks.parts.instructions]
        columns = zip(
            stored_keys(batch.keys, self._keys), key_bytes(asks.parts.keys, self._primary),
            asks.parts.instructions, asks.parts.digests,
            changed_rows(batch.timestamps, asks.encoded(self._rows.values.serde)),
            batch.timestamps.tolist(), strict=True,
        )  # fmt: skip
        writes: LastRows[bytes, tuple[bytes | None, int]] = LastRows()
        for place, (key, primary, instruction, digest, row, time) in enumerate(columns):
            if key is None:
                continue
            subscribed = combined_key(key, primary)
            if ends(instruction):
                writes.put(subscribed, (None, time))
                continue
            writes.put(subscribed, (row, time))
            if was_told and may_miss_deletion(told, subscribed, digest):
                told[subscribed] = digest
                instructions[place] = ANSWER_ALWAYS
        if writes:
            rows, times = zip(*writes.values(), strict=True)
            effects.write(self.node.store, self._rows, [*writes], rows, times)
        if was_told and instructions != [*asks.parts.instructions]:
            asks = asks.instructed(instructions)
        self.forward(batch.with_columns(batch.keys, asks), effects)

    def _keyed(
        self, batch: Batch, asks: SubscriptionColumn, effects: Effects
    ) -> tuple[Batch, SubscriptionColumn]:
        """Leave out the messages without a foreign key that are not answered."""
        pairs = zip(batch.keys.are_known(), asks.parts.instructions, strict=True)
        mask = [is_known or takes_null_key(instruction) for is_known, instruction in pairs]
        effects.drop(self.node.name, NULL_FOREIGN_KEY, mask.count(False))
        batch = batch.keep(mask)
        return batch, _subscriptions(batch)

    def resources(self) -> set[str]:
        return {f"store {self.node.store!r}"}


@vectorises(ForeignKeyLookUp)
class ForeignKeyLookUpColumns(ColumnExecutor[ForeignKeyLookUp]):
    """Answers subscriptions with the right rows."""

    reads_in_order = True

    def __init__(self, node: ForeignKeyLookUp, task: TaskServices) -> None:
        super().__init__(node, task)
        self._rows = table_rows(task, node.table)

    def process(self, batch: Batch, effects: Effects) -> None:
        mask = [
            is_answered(each, has_row=True) for each in _subscriptions(batch).parts.instructions
        ]
        if not all(mask):
            batch = batch.keep(mask)
        if not len(batch):
            return
        has_key = np.array(batch.keys.are_known(), bool)
        keys, order = batch.keys, batch.order
        if not has_key.all():
            keys = keys.keep(has_key.tolist())
            order = None if order is None else order[has_key]
        rows = self._rows.read(keys, effects, order).at(has_key)
        has_row = rows.are_known
        if not has_row.all():
            pairs = zip(_subscriptions(batch).parts.instructions, has_row.tolist(), strict=True)
            mask = [is_answered(instruction, has_row=there) for instruction, there in pairs]
            batch, rows = batch.keep(mask), rows.keep(np.array(mask, bool))
        if not len(batch):
            return
        asks = _subscriptions(batch)
        values, parts = rows.values, asks.parts
        if not all(map(has_foreign_value, parts.instructions)):
            items = zip(values.values(), parts.instructions, strict=True)
            values = BatchColumn([item if has_foreign_value(how) else None for item, how in items])
        answers = ResponseColumn(parts.digests, values, parts.partitions)
        times = np.maximum(batch.timestamps, rows.times)
        self.forward(Batch(parts.keys, answers, times, batch.headers, batch.origins), effects)

    def resources(self) -> set[str]:
        return {f"store {name!r}" for name in self._rows.stores}


@vectorises(ForeignKeyUpdate)
class ForeignKeyUpdateColumns(ColumnExecutor[ForeignKeyUpdate]):
    """Answers all subscriptions to changed rows."""

    def __init__(self, node: ForeignKeyUpdate, task: TaskServices) -> None:
        super().__init__(node, task)
        if node.versioned:
            raise NotVectorisableError("its table is versioned")
        self._keys = _serde(self, node.foreign_key_serde, "key")
        self._rows = _subscription_rows(task, node.store)

    def process(self, batch: Batch, effects: Effects) -> None:
        if batch.keys.has_nulls():
            mask = batch.keys.are_known()
            effects.drop(self.node.name, NULL_KEY, mask.count(False))
            batch = batch.keep(mask)
        pending = self._pending(effects)
        places: list[int] = []
        subscribed: list[bytes] = []
        found: list[bytes] = []
        for place, key in enumerate(stored_keys(batch.keys, self._keys)):
            prefix = combined_key_prefix(key)  # type: ignore[arg-type]
            entries: Iterable[tuple[bytes, bytes | None]]
            entries = self._rows.scan(prefix, after_prefix(prefix))
            if prefix in pending:
                entries = sorted({**dict(entries), **pending[prefix]}.items())
            for name, row in entries:
                if row is not None:
                    places.append(place)
                    subscribed.append(name)
                    found.append(row[_TIME_BYTES:])
        if not places:
            return
        asks = messages(found, self._rows.values.serde)
        assert isinstance(asks, SubscriptionColumn)
        parts = asks.parts
        values = batch.values.take(places)
        if values.has_nulls():
            told = effects.notes(self.task.unsettled(self.node.store))
            notes = zip(subscribed, parts.digests, values.are_known(), strict=True)
            told.update({name: digest for name, digest, is_known in notes if not is_known})
        answers = ResponseColumn(parts.digests, values, parts.partitions)
        self.forward(batch.repeated(parts.keys, answers, np.array(places, np.int64)), effects)

    def _pending(self, effects: Effects) -> dict[bytes, dict[bytes, bytes | None]]:
        """Return the subscriptions that this batch has changed so far, by foreign key."""
        found: dict[bytes, dict[bytes, bytes | None]] = {}
        for subscribed, row in effects.written(self.node.store).items():
            foreign_key, _ = split_combined_key(subscribed)
            found.setdefault(combined_key_prefix(foreign_key), {})[subscribed] = row
        return found

    def resources(self) -> set[str]:
        return {f"store {self.node.store!r}"}


@vectorises(ForeignKeyResolve)
class ForeignKeyResolveColumns(ColumnExecutor[ForeignKeyResolve]):
    """Joins answers with the left rows that asked; drops those of rows that have changed since."""

    reads_in_order = True

    def __init__(self, node: ForeignKeyResolve, task: TaskServices) -> None:
        super().__init__(node, task)
        self._rows = table_rows(task, node.table)
        self._values = _serde(self, node.value_serde, "value")
        self._join = joiner_of(node.joiner, with_key=node.with_key)

    def process(self, batch: Batch, effects: Effects) -> None:
        answers = batch.values
        assert isinstance(answers, ResponseColumn)
        if batch.keys.has_nulls():
            raise NotProvenError("an answer has no key")
        rows = self._rows.read(batch.keys, effects, batch.order)
        now = _digests(rows.values, self._values)
        mask = [one == other for one, other in zip(now, answers.digests, strict=True)]
        if not all(mask):
            effects.drop(self.node.name, STALE_RESPONSE, mask.count(False))
            batch, rows = batch.keep(mask), rows.keep(np.array(mask, bool))
        if len(batch):
            foreign = batch.values.foreign  # type: ignore[attr-defined]
            results = BatchColumn(self._joined(batch.keys, rows.values, foreign, rows.are_known))
            self.forward(batch.with_columns(batch.keys, results), effects)

    def _joined(
        self, keys: BatchColumn, left: BatchColumn, foreign: BatchColumn, has_row: Mask
    ) -> Sequence[Any]:
        has_foreign = np.array([value is not None for value in foreign.values()], bool)
        mask = is_joined(has_foreign, has_row, is_left_join=self.node.is_left_join)
        if mask.all():
            return self._join(keys, left, foreign)
        kept = mask.tolist()
        if not any(kept):
            return [None] * len(kept)
        return spread(mask, self._join(keys.keep(kept), left.keep(kept), foreign.keep(kept)))

    def resources(self) -> set[str]:
        return {f"store {name!r}" for name in self._rows.stores}


def _serde(executor: ColumnExecutor[Any], serde: Serde[Any] | None, part: str) -> Serde[Any]:
    node = executor.node
    found = required_serde(serde, executor.task.defaults, part, f"node {node.name!r}", node.site)
    if column_serde_of(found) is None:
        raise NotVectorisableError(f"{part} serde {type(found).__name__} has no column form")
    return found


def _subscription_rows(task: TaskServices, name: str) -> BulkRows:
    rows: BulkRows | None = getattr(task.store(name), "bulk", None)
    if rows is None or rows.is_cached:
        raise NotVectorisableError(f"store {name!r} has no column form")
    return rows


def _subscriptions(batch: Batch) -> SubscriptionColumn:
    assert isinstance(batch.values, SubscriptionColumn)
    return batch.values


def _digests(values: BatchColumn, serde: Serde[Any]) -> list[bytes | None]:
    """Return the hashes of values; ``None`` stays ``None``."""
    known = values.are_known()
    found = values.encoded(serde)
    data = [each for each in found if each is not None]
    if len(data) != sum(known):
        raise NotProvenError("a value has no bytes")
    hashes = iter(murmur3_128_each(data))
    return [next(hashes) if is_known else None for is_known in known]
