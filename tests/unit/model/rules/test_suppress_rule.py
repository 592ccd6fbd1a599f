"""When suppressed changes are let through."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.model.rules.suppress_rule import SuppressRule


def test_numbers_and_arrays_have_the_same_times() -> None:
    rule = SuppressRule(10, until_window_closes=False)
    times = [9, 10, 25]
    assert rule.last_due(np.array(times)).tolist() == [*map(rule.last_due, times)] == [-1, 0, 15]


@pytest.mark.parametrize(
    ("limits", "is_too_full"),
    [((None, None), False), ((3, None), False), ((2, None), True), ((None, 99), True),
     ((None, 100), False), ((3, 99), True), ((0, 100), True)],
)  # fmt: skip
def test_buffer_is_too_full_beyond_either_limit(
    limits: tuple[int | None, int | None], is_too_full: bool
) -> None:
    rule = SuppressRule(0, False, *limits)
    assert rule.is_too_full(3, 100) is is_too_full


def test_only_final_results_leave_out_tombstones() -> None:
    for drops in (False, True):
        rule = SuppressRule(0, drops, drops_tombstones=drops)
        assert rule.sends(True)
        assert rule.sends(False) is not drops
