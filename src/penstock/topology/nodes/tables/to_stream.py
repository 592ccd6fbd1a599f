"""Turns a table's changes into a stream, as data.

How it runs: ``penstock.kernel.operators.tables.to_stream``.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.topology.nodes.node import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class ToStream(Node):
    """Forwards the new value of every change, tombstones included."""
