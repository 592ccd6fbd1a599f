"""Leaves out the records that an operator drops because their key or value is null."""

from __future__ import annotations

import numpy as np

from penstock.kernel.columns.batch import Batch
from penstock.kernel.columns.effects import Effects
from penstock.model.rules.null_rule import NullRule


def taken_by(rule: NullRule, batch: Batch, effects: Effects, node: str) -> Batch:
    """Return the records that the operator takes; count the others as dropped by the node."""
    if not batch.keys.has_nulls() and not batch.values.has_nulls():
        return batch
    mask = rule.takes(np.array(batch.keys.are_known()), np.array(batch.values.are_known()))
    effects.drop(node, rule.drop_reason, len(mask) - int(mask.sum()))
    return batch if mask.all() else batch.keep(mask.tolist())
