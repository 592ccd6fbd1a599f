"""The changes that a fold forwards: one per record, or the last one of each row.

The timestamps of rows follow ``FoldRule``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.kernel.columns.batch import Batch
from penstock.kernel.columns.batch_column import BatchColumn, Times
from penstock.kernel.columns.folds import ColumnFold, Through, check_known
from penstock.kernel.columns.gathered import Gathered
from penstock.kernel.columns.grouping import Groups
from penstock.model.rules.fold_rule import FoldRule
from penstock.serde.base import Serde
from penstock.serde.columns import known


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
) -> Batch:
    """Return what a cache sends at the commit: each row as it is stored, with its last headers."""
    headers = records.headers
    places = groups.last_places()
    if headers is not None:
        headers = [headers[place] for place in places.tolist()]
    origins = None if records.origins is None else records.origins.at(places)
    # A cache sends what it reads back. In a store of doubles, that makes a float of an int.
    changed = BatchColumn(
        states if known(serde).keeps_values else None, values, serde, is_input=False
    )
    return Batch(keys, changed, newest, headers, origins)


def running_changes(
    fold: ColumnFold,
    rule: FoldRule,
    records: Gathered,
    keys: BatchColumn,
    groups: Groups,
    states: list[Any],
    times: Times,
    through: Through | None,
) -> Batch:
    """Return the change after each record, with the highest timestamp of its row so far."""
    values = fold.running(records.items, groups, states, through)
    check_known(values)
    newest = times.tolist()
    at = []
    for code, timestamp in zip(groups.codes.tolist(), records.timestamps.tolist(), strict=True):
        if rule.is_newer(timestamp, newest[code]):
            newest[code] = timestamp
        at.append(newest[code])
    times_so_far = np.array(at, np.int64)
    return Batch(keys, BatchColumn(values), times_so_far, records.headers, records.origins)
