"""The engines that the contract suites run over. A later engine joins by one line here."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

from penstock.state.bytes_store import BytesStore
from penstock.state.engine.memory import MemoryStore
from penstock.state.engine.pending import PendingStore
from penstock.state.engine.rocks import open_rocks

EngineFactory = Callable[[Path], BytesStore]

ENGINES: dict[str, EngineFactory] = {
    "memory": lambda directory: MemoryStore(),
    "rocks": lambda directory: open_rocks(directory / "store", "store"),
    # Writes of a batch that is not committed yet, over the committed map.
    "pending": lambda directory: PendingStore(MemoryStore()),
}


@contextmanager
def opened(engine: str) -> Iterator[BytesStore]:
    """Opens a fresh store in a directory of its own; both are gone afterwards."""
    directory = Path(mkdtemp(prefix="penstock-state-"))
    store = ENGINES[engine](directory)
    try:
        yield store
    finally:
        store.close()
        shutil.rmtree(directory)
