"""Reads topics into streams. As data: ``penstock.topology.nodes.topics.source``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from penstock.dsl.options.stream_options import Consumed, not_none
from penstock.dsl.plan.logical import LogicalGraph, LogicalNode
from penstock.dsl.plan.stream import Stream
from penstock.errors import TopologyError
from penstock.model.site import caller_site
from penstock.serde.serdes import resolve_serde
from penstock.topology.nodes import Source

if TYPE_CHECKING:
    from penstock.dsl.plan.lowering import Lowering

#: What a stream can be read from.
Topics = str | Iterable[str] | re.Pattern[str]


class StreamSource(LogicalNode):
    """Topics, or a pattern, that a stream is read from. Equal sources become one."""

    def __init__(
        self,
        name: str,
        topics: tuple[str, ...],
        pattern: re.Pattern[str] | None,
        consumed: Consumed[Any, Any],
    ) -> None:
        super().__init__(name)
        self.topics = topics
        self.pattern = pattern
        self.consumed = consumed

    def lower(self, to: Lowering) -> None:
        to.graph.add_node(
            source_node(self.name, self.topics, self.consumed, self.site, self.pattern)
        )

    def absorb(self, other: StreamSource) -> None:
        """Take over the children of an equal source."""
        if self.consumed.offset_reset != other.consumed.offset_reset:
            what = self.topics if self.pattern is None else self.pattern.pattern
            raise TopologyError(
                "different-offset-resets",
                f"{what!r} is read with the offset reset policies {self.consumed.offset_reset!r}"
                f" (at {self.site}) and {other.consumed.offset_reset!r}",
                fix="give both streams the same policy, or use one stream twice",
                at=other.site,
            )
        for child in list(other.children):
            other.remove_child(child)
            self.add_child(child)


def source_node(
    name: str,
    topics: tuple[str, ...],
    consumed: Consumed[Any, Any],
    site: str | None,
    pattern: re.Pattern[str] | None = None,
) -> Source:
    """Return the node that reads topics with the options."""
    return Source(
        name=name,
        topics=topics,
        pattern=pattern,
        key_serde=resolve_serde(consumed.key),
        value_serde=resolve_serde(consumed.value),
        timestamp_extractor=consumed.timestamp_extractor,
        offset_reset=consumed.offset_reset,
        site=site,
    )


def stream_from(graph: LogicalGraph, topics: Topics, consumed: Consumed[Any, Any]) -> Stream:
    """Add a source, and return its stream."""
    names, pattern = _topics(topics)
    name = graph.names.given_or_new(consumed.name, "KSTREAM-SOURCE-")
    node = StreamSource(name, names, pattern, consumed)
    graph.add(node)
    return Stream(
        name=name,
        node=node,
        graph=graph,
        sources=frozenset([name]),
        key_serde=resolve_serde(consumed.key),
        value_serde=resolve_serde(consumed.value),
    )


def _topics(topics: Topics) -> tuple[tuple[str, ...], re.Pattern[str] | None]:
    not_none(topics, "the topic")
    if isinstance(topics, re.Pattern):
        return (), topics
    if isinstance(topics, str):
        return (topics,), None
    names = tuple(dict.fromkeys(not_none(topic, "a topic") for topic in topics))
    if not names:
        raise TopologyError(
            "no-topics", "the list of topics is empty", "name at least one topic", caller_site()
        )
    return names, None
