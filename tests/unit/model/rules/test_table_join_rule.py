"""Which rows of two joined tables have a result, and which changes are forwarded."""

from itertools import product

import numpy as np
import pytest

from penstock.model.rules.table_join_rule import TableJoinRule

INNER = TableJoinRule(needs_other=True, joins_missing=False)
LEFT = TableJoinRule(needs_other=False, joins_missing=False)
#: The right side of a left join.
LEFT_FROM_RIGHT = TableJoinRule(needs_other=True, joins_missing=True)
OUTER = TableJoinRule(needs_other=False, joins_missing=True)
RULES = [INNER, LEFT, LEFT_FROM_RIGHT, OUTER]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (INNER, [False, False, False, True]),
        (LEFT, [False, False, True, True]),
        (LEFT_FROM_RIGHT, [False, True, False, True]),
        (OUTER, [False, True, True, True]),
    ],
)
def test_result_needs_the_sides_that_the_kind_of_join_needs(
    rule: TableJoinRule, expected: list[bool]
) -> None:
    """Neither side, only the other one, only this one, both."""
    sides = [*product([False, True], repeat=2)]
    assert [rule.has_result(*pair) for pair in sides] == expected
    assert rule.has_result(*np.array(sides).T).tolist() == expected


@pytest.mark.parametrize("rule", RULES)
def test_change_is_forwarded_if_there_may_have_been_a_result(rule: TableJoinRule) -> None:
    """Also a deletion of what was never there, if the other side has a row."""
    cases = [*product([False, True], repeat=3)]
    found = [rule.forwards(*case) for case in cases]
    assert rule.forwards(*np.array(cases).T).tolist() == found
    for (has_new, has_old, has_other), is_forwarded in zip(cases, found, strict=True):
        assert is_forwarded == (has_other or (not rule.needs_other and (has_new or has_old)))
