"""Turns a table's changes into a stream. As data: ``penstock.topology.nodes.tables.to_stream``."""

from __future__ import annotations

from penstock.dsl.plan.logical import Operator
from penstock.dsl.plan.stream import Stream
from penstock.dsl.plan.table import Table
from penstock.topology.nodes import ToStream


def table_to_stream(table: Table, name: str | None) -> Stream:
    """Add the step from changes to records. Serdes are inherited."""
    graph = table.graph
    node = Operator(graph.names.given_or_new(name, "KTABLE-TOSTREAM-"), ToStream)
    graph.add(node, table.node)
    return Stream(
        name=node.name,
        node=node,
        graph=graph,
        sources=table.sources,
        key_serde=table.key_serde,
        value_serde=table.value_serde,
    )
