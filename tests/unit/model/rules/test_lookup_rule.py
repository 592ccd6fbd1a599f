"""Which records a join with a table emits."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.model.rules.lookup_rule import LookupRule


@pytest.mark.parametrize(("is_left", "emitted"), [(False, [False, True]), (True, [True, True])])
def test_only_a_left_join_emits_without_a_row(is_left: bool, emitted: list[bool]) -> None:
    """One by one and for whole columns the answer is the same."""
    rule = LookupRule(is_left)
    assert [rule.emits(False), rule.emits(True)] == emitted
    assert rule.emits(np.array([False, True])).tolist() == emitted
