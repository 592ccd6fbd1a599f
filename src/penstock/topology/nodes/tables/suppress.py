"""Delays changes of a table, as data.

How it runs: ``penstock.kernel.operators.tables.suppress``.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.topology.nodes.node import TableNode


@dataclass(frozen=True, slots=True, kw_only=True)
class Suppress(TableNode):
    """Buffers changes and forwards the last one per key: when its window closes, or after a time.

    ``buffer`` names the buffer's store. With ``until_window_closes`` the key is windowed and
    ``wait_ms`` is the grace period; else ``wait_ms`` counts from the record.
    """

    buffer: str
    wait_ms: int
    until_window_closes: bool
    max_records: int | None = None
    max_bytes: int | None = None
    emits_early: bool = False
    safe_to_drop_tombstones: bool = False
