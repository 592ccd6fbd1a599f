"""Groups a stream for aggregations. The class for users: ``dsl.faces.kgrouped_stream``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from penstock.dsl.operators.result_types import serde_of_result
from penstock.dsl.operators.streams.select_key import key_selection
from penstock.dsl.operators.topics.repartition import Repartition, new_repartition
from penstock.dsl.options.stream_options import Grouped, given_options
from penstock.dsl.plan.logical import LogicalGraph, LogicalNode
from penstock.dsl.plan.stream import Stream
from penstock.serde.base import Serde
from penstock.serde.serdes import resolve_serde


@dataclass(slots=True, eq=False)
class Grouping:
    """A stream that is grouped by key.

    ``topic_name`` is the user's name for the repartition topic. If it is given, all aggregations
    of this grouping share one ``repartition``.
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
    """Return the options of a grouping; None if nothing is given.

    As in Kafka Streams, a serde that an option object leaves out is the configured default. With
    keyword arguments, it is the serde of the stream.
    """
    if not isinstance(given, Grouped) and any(keywords.values()):
        keywords["value"] = keywords["value"] or stream.value_serde
        if keeps_key:
            keywords["key"] = keywords["key"] or stream.key_serde
    return given_options(Grouped, given, **keywords)


def group_stream_by_key(stream: Stream, options: Grouped[Any, Any] | None) -> Grouping:
    """Group by the key of the stream, with the stream's serdes unless options are given."""
    if options is None:
        options = Grouped(key=stream.key_serde, value=stream.value_serde)
    return _grouping(stream, options)


def group_stream_by(
    stream: Stream, fn: Callable[[Any, Any], Any], options: Grouped[Any, Any] | None
) -> Grouping:
    """Group by a new key. This always needs a repartition topic."""
    if options is None:
        options = Grouped(value=stream.value_serde)
    if options.key is None:
        options = replace(options, key=serde_of_result(fn))
    node = key_selection(stream, "group_by", fn, options.name)
    return _grouping(stream.then(node, key_changed=True), options)


def _grouping(stream: Stream, options: Grouped[Any, Any]) -> Grouping:
    return Grouping(
        name=stream.name,
        node=stream.node,
        graph=stream.graph,
        sources=stream.sources,
        key_serde=resolve_serde(options.key),
        value_serde=resolve_serde(options.value),
        key_changed=stream.key_changed,
        topic_name=options.name,
    )


def regrouped(
    grouping: Grouping, store_name: str, *, store_is_named: bool
) -> tuple[LogicalNode, frozenset[str]]:
    """Repartition if the key has changed; return the node to aggregate from and its sources.

    The topic has the name of the grouping or, without one, of the store.
    """
    if not grouping.key_changed:
        return grouping.node, grouping.sources
    made = repartition_of(grouping, store_name, store_is_named=store_is_named)
    # Without a name, each aggregation has its own topic, named after its store.
    if grouping.repartition is None or grouping.topic_name is None:
        grouping.repartition = made
    grouping.graph.add(grouping.repartition, grouping.node)
    return grouping.repartition, frozenset([made.name])


def repartition_of(grouping: Grouping, store_name: str, *, store_is_named: bool) -> Repartition:
    """Make the repartition of a grouping without adding it."""
    return new_repartition(
        grouping.graph,
        grouping.topic_name or store_name,
        grouping.key_serde,
        grouping.value_serde,
        name_is_given=grouping.topic_name is not None or store_is_named,
    )
