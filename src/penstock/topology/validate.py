"""Checks of nodes while a graph is built. The runtime checks what needs a cluster."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping

from penstock.errors import InvalidArgumentError, NullArgumentError, TopologyError
from penstock.topology.nodes import Node, Sink, Source, ToLake


def nearest(name: str, known: Iterable[str]) -> str:
    """Return ``; did you mean 'x'?`` for the nearest known name, or an empty text."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def check_new_name(node: Node, nodes: Mapping[str, Node]) -> None:
    """Refuse a name that is missing or that another node has."""
    if node.name is None:
        raise NullArgumentError("missing-name", "a node needs a name", at=node.site)
    if not isinstance(node.name, str):
        raise InvalidArgumentError(
            "bad-name", f"the name of a node must be text, not {node.name!r}", at=node.site
        )
    other = nodes.get(node.name)
    if other is not None:
        where = f" (at {other.site})" if other.site else ""
        raise TopologyError(
            "duplicate-name",
            f"a node named {node.name!r} is already added{where}",
            fix="give each node a name of its own",
            at=node.site,
        )


def check_parents(node: Node, nodes: Mapping[str, Node]) -> None:
    """Refuse missing or unknown parents, and sinks as parents. So there is never a cycle."""
    if not node.parents:
        raise TopologyError(
            "no-parents",
            f"node {node.name!r} has no parent",
            fix="name at least one source or processor that it reads from",
            at=node.site,
        )
    for parent in node.parents:
        if parent == node.name:
            raise TopologyError(
                "cycle",
                f"node {node.name!r} is its own parent: a topology has no cycles",
                fix="write to a topic and read it again if records must go round",
                at=node.site,
            )
        if parent not in nodes:
            raise TopologyError(
                "unknown-parent",
                f"parent {parent!r} of node {node.name!r} is unknown{nearest(parent, nodes)}",
                fix="add parents before their children (a topology has no cycles)",
                at=node.site,
            )
        if isinstance(nodes[parent], Sink):
            raise TopologyError(
                "sink-as-parent",
                f"sink {parent!r} cannot be the parent of node {node.name!r}",
                fix="read the sink's topic with a source of its own",
                at=node.site,
            )


def check_table_is_free(node: ToLake, nodes: Mapping[str, Node]) -> None:
    """Refuse a table that another node writes: each of the two would count its own versions."""
    for other in nodes.values():
        if isinstance(other, ToLake) and other.topic == node.topic:
            where = f" (at {other.site})" if other.site else ""
            raise TopologyError(
                "duplicate-topic",
                f"table {node.topic!r} is already written by node {other.name!r}{where}",
                fix="merge the streams before: first.merge(second).to_lake(…)",
                at=node.site,
            )


def check_topic_is_free(topic: str, source: Source, nodes: Mapping[str, Node]) -> None:
    """Refuse a topic that another source reads: its records would be read twice."""
    if topic is None:
        raise NullArgumentError("missing-topic", "a topic name is None", at=source.site)
    for other in nodes.values():
        if not isinstance(other, Source):
            continue
        if topic in other.topics:
            raise _topic_taken(f"topic {topic!r} has already been registered", source, other)
        if other.pattern is not None and other.pattern.fullmatch(topic):
            raise _topic_taken(
                f"topic {topic!r} matches the pattern {other.pattern.pattern!r} already registered",
                source,
                other,
            )


def check_pattern_is_free(source: Source, nodes: Mapping[str, Node]) -> None:
    """Refuse a pattern that matches a topic that another source reads by name."""
    pattern = source.pattern
    assert isinstance(pattern, re.Pattern)
    for other in nodes.values():
        if isinstance(other, Source) and any(pattern.fullmatch(topic) for topic in other.topics):
            raise _topic_taken(
                f"pattern {pattern.pattern!r} matches a topic already registered", source, other
            )


def _topic_taken(what: str, source: Source, other: Source) -> TopologyError:
    where = f" (at {other.site})" if other.site else ""
    return TopologyError(
        "duplicate-topic",
        f"{what} by source {other.name!r}{where}",
        fix="read a topic once and use the resulting stream or table in several places",
        at=source.site,
    )
