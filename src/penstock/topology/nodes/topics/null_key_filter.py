"""Drops records before a repartition topic, as data.

How it runs: ``penstock.kernel.operators.topics.null_key_filter``.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.topology.nodes.node import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class NullKeyFilter(Node):
    """Drops records without a key: they have no partition."""
