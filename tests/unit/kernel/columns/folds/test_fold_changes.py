"""Which timestamps rows have after a batch, and after each record of it."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock.expr.aggregates import SingleAggregate
from penstock.kernel.columns.batch import NotProvenError
from penstock.kernel.columns.batch_column import BatchColumn
from penstock.kernel.columns.folds.column_folds import CountFold, ExpressionFold
from penstock.kernel.columns.folds.fold_changes import last_changes, result_times, running_changes
from penstock.kernel.columns.gathered import Gathered
from penstock.kernel.columns.grouping import grouped
from penstock.kernel.columns.store_rows import NEVER
from penstock.model.rules.fold_rule import FOLD
from penstock.serde.primitives import DoubleSerde

KEYS = [b"a", b"b", b"a", b"a"]
TIMES = np.array([5, 1, 3, 9])


def records() -> Gathered:
    found = Gathered()
    headers = [(("n", bytes([n])),) for n in range(4)]
    found.add(KEYS, [], TIMES, headers, key_values=["a", "b", "a", "a"])
    return found


def test_row_has_the_highest_timestamp_of_store_and_batch() -> None:
    """A row that does not exist has a timestamp before all others."""
    newest = grouped(KEYS).newest(TIMES)
    assert result_times(FOLD, newest, np.array([12, NEVER])).tolist() == [12, 1]


def test_each_change_has_the_highest_timestamp_so_far() -> None:
    """A late record does not take the timestamp of its row back."""
    keys = BatchColumn(["a", "b", "a", "a"])
    changes = running_changes(
        CountFold(), FOLD, records(), keys, grouped(KEYS), [0, 4], np.array([4, 2]), None
    )
    assert [*changes.values.values()] == [1, 5, 2, 3]
    assert changes.timestamps.tolist() == [5, 2, 5, 9]


def test_last_change_is_what_the_store_returns() -> None:
    """With the headers of each key's last record; a store of doubles returns floats."""
    serde = DoubleSerde()
    groups = grouped(KEYS)
    values = [serde.encode(3), serde.encode(1)]
    keys = BatchColumn(["a", "b"])
    found = last_changes(records(), groups, keys, [3, 1], values, serde, np.array([9, 1]))
    assert repr([*found.values.values()]) == "[3.0, 1.0]"
    assert found.headers == [(("n", b"\x03"),), (("n", b"\x01"),)]


def test_a_change_to_none_is_left_to_records() -> None:
    """It deletes the row, and the next record begins a new one."""
    fold = ExpressionFold(SingleAggregate(ps.min_(ps.value)))
    found = Gathered()
    found.add([b"a", b"a"], [[None, 1]], np.array([1, 2]), None)
    keys, groups = BatchColumn(["a", "a"]), grouped([b"a", b"a"])
    with pytest.raises(NotProvenError, match="an aggregate is None"):
        running_changes(fold, FOLD, found, keys, groups, [None], np.array([NEVER]), None)
