"""The row of the checkpoint stands beside every key that a store can have."""

from __future__ import annotations

from itertools import pairwise

from penstock.state.engine.checkpoint_row import CHECKPOINT_KEY, scan_rows, stored_key, stored_range
from penstock.state.engine.memory import MemoryStore

KEYS = [
    b"",
    b"ann",
    b"\xff" * 24,
    b"\xff" * 24 + b"checkpoin",
    CHECKPOINT_KEY,
    CHECKPOINT_KEY + b"\0",
    CHECKPOINT_KEY + b"\xff",
    b"\xff" * 24 + b"checkpoiu",
    b"\xff" * 40,
]


def test_stored_keys_have_the_order_of_the_keys_and_leave_the_checkpoint_alone() -> None:
    """A range of keys is a range of the map."""
    stored = [*map(stored_key, KEYS)]
    assert all(low < high for low, high in pairwise(stored))
    assert CHECKPOINT_KEY not in stored
    assert stored_range((KEYS[0], KEYS[4])) == (stored[0], stored[4])


def test_a_scan_has_every_key_and_never_the_checkpoint() -> None:
    """Whatever the bounds are, and in both directions."""
    store = MemoryStore()
    store.write([(stored_key(key), b"v") for key in KEYS] + [(CHECKPOINT_KEY, b"own")])
    for low, high in [(None, None), *((a, b) for a in KEYS for b in KEYS)]:
        want = [k for k in KEYS if (low is None or low <= k) and (high is None or k < high)]
        for is_reverse in (False, True):
            found = [key for key, _ in scan_rows(store, low, high, reverse=is_reverse)]
            assert found == (want[::-1] if is_reverse else want)
