"""Which groups a change of a row changes, and what becomes of their states."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.model.rules.regroup_rule import aggregate_step, belongs, reduce_step, regrouped


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        (None, None, ()),
        (None, ("a", 1), (("a", 1, None),)),
        (("a", 1), None, (("a", None, 1),)),
        (("a", 1), ("a", 2), (("a", 2, 1),)),
        (("a", 1), ("b", 2), (("a", None, 1), ("b", 2, None))),
    ],
)
def test_old_group_comes_first(old: Any, new: Any, changes: Any) -> None:
    """In one group, it is one change."""
    assert regrouped(old, new) == changes


@pytest.mark.parametrize(
    ("pair", "does"), [(None, False), ((None, 1), False), (("a", None), False), (("a", 0), True)]
)
def test_row_belongs_to_a_group_with_key_and_value(pair: Any, *, does: bool) -> None:
    """Zero is a value."""
    assert belongs(pair) is does


def test_aggregate_subtracts_before_it_adds() -> None:
    """It starts from the initializer where there is no state, or none is left."""
    step = aggregate_step(
        lambda: "0", lambda key, n, text: f"{text}+{n}", lambda key, n, text: n and f"{text}-{n}"
    )
    assert step("k", 1, None, None) == "0+1"
    assert step("k", 2, 1, "x") == "x-1+2"
    assert step("k", None, 1, "x") == "x-1"
    assert step("k", None, 0, "x") == 0
    assert step("k", 2, None, "x") == "x+2"
    # Without a state, there is nothing that the old row could be subtracted from.
    assert step("k", None, 1, None) is None


def test_reduction_keeps_the_new_row_if_nothing_is_left() -> None:
    """The adder never gets None."""
    step = reduce_step(lambda one, n: one + n, lambda one, n: None if one == n else one - n)
    assert step("k", 5, None, None) == 5
    assert step("k", 5, 2, 2) == 5
    assert step("k", 5, 2, 3) == 6
    assert step("k", None, 2, 3) == 1
    assert step("k", None, 2, None) is None
