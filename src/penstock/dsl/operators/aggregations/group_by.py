"""Groups a stream: what aggregations start from. What users hold: ``dsl.faces.kgrouped_stream``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.dsl.operators.streams.select_key import key_selection
from penstock.dsl.operators.topics.repartition import Repartition, new_repartition
from penstock.dsl.options.stream_options import Grouped, given_options
from penstock.dsl.plan.logical import LogicalGraph, LogicalNode
from penstock.dsl.plan.stream import Stream
from penstock.serde.base import Serde
from penstock.serde.serdes import resolve_serde


@dataclass(slots=True, eq=False)
class Grouping:
    """A stream whose records are put together by key.

    ``topic_name`` is what the user called the repartition topic. ``repartition`` is the one that
    aggregations of this grouping share, which they do if the topic has such a name.
    """

    name: str
    node: LogicalNode
    graph: LogicalGraph
    sources: frozenset[str]
    key_serde: Serde[Any] | None
    value_serde: Serde[Any] | None
    key_changed: bool
    topic_name: str | None
    repartition: Repartition | None = None


def grouping_options(
    stream: Stream, given: Grouped[Any, Any] | str | None, *, keeps_key: bool, **keywords: Any
) -> Grouped[Any, Any] | None:
    """Gives the options of a grouping, or None when nothing at all was given.

    An option object stands as it is, as in Kafka Streams: a serde it leaves out is the configured
    default. Of keyword arguments, what is left out is the stream's.
    """
    if not isinstance(given, Grouped) and any(keywords.values()):
        keywords["value_serde"] = keywords["value_serde"] or stream.value_serde
        if keeps_key:
            keywords["key_serde"] = keywords["key_serde"] or stream.key_serde
    return given_options(Grouped, given, **keywords)


def group_stream_by_key(stream: Stream, options: Grouped[Any, Any] | None) -> Grouping:
    """Groups by the key as it is; serdes are the stream's unless options are given."""
    if options is None:
        options = Grouped(key_serde=stream.key_serde, value_serde=stream.value_serde)
    return _grouping(stream, options)


def group_stream_by(
    stream: Stream, fn: Callable[[Any, Any], Any], options: Grouped[Any, Any] | None
) -> Grouping:
    """Groups by a new key, which always takes a repartition topic."""
    if options is None:
        options = Grouped(value_serde=stream.value_serde)
    node = key_selection(stream, "group_by", fn, options.name)
    return _grouping(stream.then(node, key_changed=True), options)


def _grouping(stream: Stream, options: Grouped[Any, Any]) -> Grouping:
    return Grouping(
        name=stream.name,
        node=stream.node,
        graph=stream.graph,
        sources=stream.sources,
        key_serde=resolve_serde(options.key_serde),
        value_serde=resolve_serde(options.value_serde),
        key_changed=stream.key_changed,
        topic_name=options.name,
    )


def regrouped(
    grouping: Grouping, store_name: str, *, store_is_named: bool
) -> tuple[LogicalNode, frozenset[str]]:
    """Repartitions if the key has changed; gives the node to aggregate from and its sources.

    The topic is called after the grouping or, if that has no name, after the store.
    """
    if not grouping.key_changed:
        return grouping.node, grouping.sources
    made = repartition_of(grouping, store_name, store_is_named=store_is_named)
    # Without a name of its own each aggregation gets a topic named after its own store.
    if grouping.repartition is None or grouping.topic_name is None:
        grouping.repartition = made
    grouping.graph.add(grouping.repartition, grouping.node)
    return grouping.repartition, frozenset([made.name])


def repartition_of(grouping: Grouping, store_name: str, *, store_is_named: bool) -> Repartition:
    """Makes the repartition of a grouping; does not add it."""
    return new_repartition(
        grouping.graph,
        grouping.topic_name or store_name,
        grouping.key_serde,
        grouping.value_serde,
        name_is_given=grouping.topic_name is not None or store_is_named,
    )
