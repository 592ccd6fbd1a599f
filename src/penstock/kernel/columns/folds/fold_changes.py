"""The changes that a fold forwards: one per record, or the last one of each row.

The timestamps of rows follow ``FoldRule``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.kernel.columns.batch import Batch
from penstock.kernel.columns.batch_column import BatchColumn, Times
from penstock.kernel.columns.folds.column_folds import ColumnFold, Through, check_known
from penstock.kernel.columns.folds.function_fold import StoreRead
from penstock.kernel.columns.gathered import Gathered
from penstock.kernel.columns.grouping import Groups
from penstock.kernel.columns.store_rows import NEVER, bare
from penstock.model.rules.fold_rule import FoldRule
from penstock.model.user_code import user_code
from penstock.serde.base import Serde
from penstock.serde.columns import known
from penstock.topology.nodes.node import TableNode


def first_state(node: TableNode) -> Callable[[], Any] | None:
    """Return what makes the old value of a row's first change; ``None`` if nothing needs it.

    As in Kafka Streams, it is the initial state. A reduction has none.
    """
    if not node.sends_old:
        return None
    initializer: Callable[[], Any] = getattr(node, "initializer", _nothing)

    def first() -> Any:
        with user_code("an initializer"):
            return initializer()

    return first


def _nothing() -> None:
    return None


def result_times(rule: FoldRule, newest: Times, row_times: Times) -> Times:
    """Return the timestamps of rows after all records of a batch, given the newest of each row."""
    return np.where(rule.is_newer(newest, row_times), newest, row_times)


def last_changes(
    records: Gathered,
    groups: Groups,
    keys: BatchColumn,
    states: Sequence[Any],
    values: Sequence[bytes],
    serde: Serde[Any],
    newest: Times,
    before: Sequence[bytes | None] | None = None,
) -> Batch:
    """Return what a cache sends at the commit: each row as it is stored, with its last headers.

    ``before`` are the rows before the batch, if a later node needs the old values.
    """
    headers = records.headers
    places = groups.last_places()
    if headers is not None:
        headers = [headers[place] for place in places.tolist()]
    origins = None if records.origins is None else records.origins.at(places)
    # A cache sends what it reads back. In a store of doubles, that makes a float of an int.
    changed = BatchColumn(
        states if known(serde).keeps_values else None, values, serde, is_input=False
    )
    old = None if before is None else BatchColumn(encoded=bare(before), serde=serde)
    return Batch(keys, changed, newest, headers, origins, old=old)


def running_changes(
    fold: ColumnFold,
    rule: FoldRule,
    records: Gathered,
    keys: BatchColumn,
    groups: Groups,
    states: list[Any],
    times: Times,
    through: Through | None,
    first: Callable[[], Any] | None = None,
) -> Batch:
    """Return the change after each record, with the highest timestamp of its row so far.

    If a later node needs old values, ``first`` makes the old value of a row's first change.
    """
    initial = [*states]
    values = fold.running(records.items, groups, states, through)
    check_known(values)
    old = None
    if first is not None:
        is_new = (times == NEVER).tolist()
        initial = [first() if new else s for new, s in zip(is_new, initial, strict=True)]
        old = BatchColumn(_replaced(groups, initial, values, through))
    newest = times.tolist()
    at = []
    for code, timestamp in zip(groups.codes.tolist(), records.timestamps.tolist(), strict=True):
        if rule.is_newer(timestamp, newest[code]):
            newest[code] = timestamp
        at.append(newest[code])
    times_so_far = np.array(at, np.int64)
    changed = BatchColumn(values)
    return Batch(keys, changed, times_so_far, records.headers, records.origins, old=old)


def _replaced(
    groups: Groups, before: Sequence[Any], values: Sequence[Any], through: Through | None
) -> list[Any]:
    """Return the state before each record, as the store returns it."""
    if isinstance(through, StoreRead) and through.keeps_all(values):
        through = None
    now, old = [*before], []
    for code, value in zip(groups.codes.tolist(), values, strict=True):
        old.append(now[code])
        now[code] = value if through is None else through(value)
    return old
