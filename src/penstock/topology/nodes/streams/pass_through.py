"""Forwards records unchanged, as data: for merged streams and branches.

How it runs: ``penstock.kernel.operators.streams.pass_through``.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.topology.nodes.node import Node, TableNode


@dataclass(frozen=True, slots=True, kw_only=True)
class PassThrough(Node):
    """Forwards every record as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePassThrough(TableNode):
    """Forwards every change of the table that the aggregations of a cogroup share."""
