"""Records that an operator drops because of a null are counted and left out."""

from __future__ import annotations

from collections import Counter

import numpy as np

from penstock.kernel.columns.batch import Batch
from penstock.kernel.columns.batch_column import BatchColumn
from penstock.kernel.columns.effects import Effects
from penstock.kernel.columns.nulls import taken_by
from penstock.model.rules.fold_rule import FOLD, WINDOW_FOLD
from penstock.model.rules.null_rule import NullRule

BATCH = Batch(BatchColumn(["a", None, "b", None]), BatchColumn([1, 2, None, None]), np.arange(4))


def taken(rule: NullRule, batch: Batch) -> tuple[list[int], dict[tuple[str, str], int]]:
    effects, dropped = Effects(), Counter[tuple[str, str]]()
    kept = taken_by(rule, batch, effects, "node")
    effects.apply(dropped)
    return kept.timestamps.tolist(), dict(dropped)


def test_rule_decides_which_records_stay() -> None:
    """The others are counted under its reason."""
    assert taken(FOLD.nulls, BATCH) == ([0], {("node", "null-key-or-value"): 3})
    assert taken(WINDOW_FOLD.nulls, BATCH) == ([0, 2], {("node", "null-key"): 2})


def test_batch_without_nulls_is_not_copied() -> None:
    """Most batches have none."""
    whole = BATCH.keep([True, False, False, False])
    assert taken_by(FOLD.nulls, whole, Effects(), "node") is whole
