"""Merges two streams. As data: ``penstock.topology.nodes.streams.pass_through``."""

from __future__ import annotations

from dataclasses import replace

from penstock.dsl.plan.logical import Operator
from penstock.dsl.plan.stream import Stream, check_same_builder
from penstock.topology.nodes import PassThrough


def merge_streams(stream: Stream, other: Stream, name: str | None) -> Stream:
    """Merge two streams. The serdes of the result are not known: those of the two may differ."""
    check_same_builder(stream.graph, other.graph)
    node = Operator(
        stream.graph.names.given_or_new(name, "KSTREAM-MERGE-"), PassThrough, is_merge=True
    )
    stream.graph.add(node, stream.node, other.node)
    return replace(
        stream,
        name=node.name,
        node=node,
        sources=stream.sources | other.sources,
        key_serde=None,
        value_serde=None,
        key_changed=stream.key_changed or other.key_changed,
        join_repartition=None,
    )
