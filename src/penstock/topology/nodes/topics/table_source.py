"""Turns a topic or a stream into a table, as data.

How it runs: ``penstock.kernel.operators.topics.table_source``.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.topology.nodes.node import TableNode


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSource(TableNode):
    """Keeps the latest value per key in its store, if it has one, and forwards each change.

    Without a store it only turns records into changes. Also used for ``to_table``, for global
    tables and for the result of a foreign-key join.
    """
