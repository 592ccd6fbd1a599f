"""Joins a stream with a table, as data.

How it runs: ``penstock.kernel.operators.joins.stream_table_join``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.topology.nodes.node import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamTableJoin(Node):
    """Joins each record with the current row of the table node ``table``.

    With ``grace_ms``, records wait in ``buffer`` and are joined with the row that the table had at
    their timestamp.
    """

    table: str
    joiner: Callable[..., Any]
    with_key: bool = False
    is_left: bool = False
    grace_ms: int | None = None
    buffer: str | None = None
