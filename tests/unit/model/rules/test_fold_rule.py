"""Which timestamp a row has after a record was folded into it."""

from __future__ import annotations

import numpy as np

from penstock.model.rules.fold_rule import FOLD


def test_row_has_its_highest_timestamp() -> None:
    """A record that is late leaves the row's timestamp as it is."""
    assert FOLD.result_time(5, 3) == 5
    assert FOLD.result_time(3, 5) == 5
    assert FOLD.result_time(5, 5) == 5


def test_columns_are_compared_like_single_records() -> None:
    """The same line compares numbers and arrays."""
    times, row_times = [3, 5, 6], [5, 5, 5]
    found = FOLD.is_newer(np.array(times), np.array(row_times)).tolist()
    assert found == [*map(FOLD.is_newer, times, row_times)] == [False, False, True]
