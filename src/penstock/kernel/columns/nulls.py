"""Records without a key or a value, which several nodes drop and count."""

from __future__ import annotations

from penstock.kernel.columns.batch import Batch
from penstock.kernel.columns.effects import Effects
from penstock.model.windows.rule import NULL_KEY


def with_keys(batch: Batch, effects: Effects, node: str) -> Batch:
    """Leaves out records without a key, and counts them as the node's."""
    if not batch.keys.has_nulls():
        return batch
    mask = batch.keys.are_known()
    effects.drop(node, NULL_KEY, mask.count(False))
    return batch.keep(mask)
