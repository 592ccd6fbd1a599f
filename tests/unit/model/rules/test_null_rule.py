"""Which records without a key or a value an operator takes."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.model.rules.fold_rule import FOLD, WINDOW_FOLD
from penstock.model.rules.lookup_rule import LookupRule
from penstock.model.rules.null_rule import NullRule
from penstock.model.rules.table_rule import REPARTITION_NULLS, TABLE_NULLS
from penstock.model.windows.session_rule import SESSION_NULLS
from penstock.model.windows.sliding_rule import SLIDING_NULLS

#: Without both, without the key, without the value, and with both.
RECORDS = [(False, False), (False, True), (True, False), (True, True)]


@pytest.mark.parametrize(
    ("rule", "taken", "reason"),
    [
        (FOLD.nulls, [False, False, False, True], "null-key-or-value"),
        (SLIDING_NULLS, [False, False, False, True], "null-key-or-value"),
        (WINDOW_FOLD.nulls, [False, False, True, True], "null-key"),
        (SESSION_NULLS, [False, False, True, True], "null-key"),
        (TABLE_NULLS, [False, False, True, True], "null-key"),
        (REPARTITION_NULLS, [False, False, True, True], "null-key"),
        (LookupRule(is_left=False).nulls, [False, False, False, True], "null-join-key-or-value"),
        (LookupRule(is_left=True).nulls, [False, True, False, True], "null-join-key-or-value"),
    ],
)
def test_each_operator_takes_what_kafka_streams_takes(
    rule: NullRule, taken: list[bool], reason: str
) -> None:
    """One by one and for whole columns the answer is the same."""
    assert [rule.takes(*record) for record in RECORDS] == taken
    has_key, has_value = np.array(RECORDS).T
    assert rule.takes(has_key, has_value).tolist() == taken
    assert rule.drop_reason == reason
