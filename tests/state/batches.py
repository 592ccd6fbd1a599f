"""Numbered batches of writes with a known result, and a program that applies them for ever.

``python -m tests.state.batches FOLDER`` goes on behind the checkpoint of the database in the
folder and prints the number of each batch that is applied. Tests kill it.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from pathlib import Path
from random import Random

from penstock.state.bytes_store import KeyRange, Write
from penstock.state.engine.pending import Checkpoint, PendingStore
from penstock.state.engine.rocks import open_rocks

_KEYS = 3_000


def batch_of(number: int) -> tuple[list[KeyRange], list[Write]]:
    """Return the ranges that a batch deletes, and what it writes afterwards."""
    random = Random(number)
    deleted: list[KeyRange] = []
    if number % 3 == 0:
        start = random.randrange(_KEYS)
        deleted.append((b"%05d" % start, b"%05d" % (start + 300)))
    keys = sorted(random.sample(range(_KEYS), 150))
    value = b"%d " % number * 100
    return deleted, [(b"%05d" % key, None if random.random() < 0.1 else value) for key in keys]


@lru_cache(maxsize=1_000)
def rows_after(number: int) -> dict[bytes, bytes]:
    """Return what a store holds when all batches up to this one were applied."""
    if number < 0:
        return {}
    deleted, writes = batch_of(number)
    before = rows_after(number - 1)
    rows = {k: v for k, v in before.items() if not any(a <= k < b for a, b in deleted)}
    for key, value in writes:
        if value is None:
            rows.pop(key, None)
        else:
            rows[key] = value
    return rows


def apply_batch(store: PendingStore, number: int) -> None:
    deleted, writes = batch_of(number)
    store.write(writes, deleted=deleted)
    store.seal(Checkpoint(number, number * 10))
    store.apply()


def check(folder: Path) -> int:
    """Check that data and checkpoint of a database agree; return the batch it holds."""
    store = PendingStore(open_rocks(folder, "store"))
    try:
        batch = store.checkpoint.batch
        assert store.checkpoint.changelog_offset == max(batch, 0) * 10
        assert dict(store.scan(None, None)) == rows_after(batch)
        return batch
    finally:
        store.close()


def main(folder: Path) -> None:
    options = {"rocksdb.config.setter": {"write_buffer_size": 1024 * 1024}}
    store = PendingStore(open_rocks(folder, "store", options))
    while True:
        number = store.checkpoint.batch + 1
        apply_batch(store, number)
        print(number, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
