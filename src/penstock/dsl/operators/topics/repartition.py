"""Writes a stream to an internal topic and reads it again: one task gets all records of a key.

Nodes: ``NullKeyFilter`` or ``PassThrough``, ``Sink``, ``Source``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from penstock.dsl.options.naming import is_generated
from penstock.dsl.options.stream_options import Repartitioned
from penstock.dsl.plan.logical import LogicalGraph, LogicalNode
from penstock.dsl.plan.stream import Stream
from penstock.errors import InvalidArgumentError
from penstock.model.site import caller_site
from penstock.processor.functions import FailOnInvalidTimestamp, StreamPartitioner
from penstock.serde.base import Serde
from penstock.serde.serdes import resolve_serde
from penstock.topology.nodes import NullKeyFilter, PassThrough, Sink, Source

if TYPE_CHECKING:
    from penstock.dsl.plan.lowering import Lowering

TOPIC_SUFFIX = "-repartition"
_SINK = "KSTREAM-SINK-"
_FILTER = "KSTREAM-FILTER-"
_SOURCE = "KSTREAM-SOURCE-"


class Repartition(LogicalNode):
    """A repartition topic with its sink and source. It has the source's name.

    ``is_mergeable`` means that an operator added it, so that the optimization
    ``merge.repartition.topics`` may merge several of them. The optimizer sets ``keeps_null_keys``
    if a left join further down needs records without a key.
    """

    def __init__(
        self,
        source: str,
        *,
        topic: str,
        sink: str,
        key_filter: str,
        key_serde: Serde[Any] | None,
        value_serde: Serde[Any] | None,
        partitioner: StreamPartitioner | None = None,
        partitions: int | None = None,
        is_mergeable: bool = True,
    ) -> None:
        super().__init__(source)
        self.topic = topic
        self.sink = sink
        self.key_filter = key_filter
        self.key_serde = key_serde
        self.value_serde = value_serde
        self.partitioner = partitioner
        self.partitions = partitions
        self.is_mergeable = is_mergeable
        self.keeps_null_keys = True

    def lower(self, to: Lowering) -> None:
        graph = to.graph
        graph.add_internal_topic(self.topic, self.partitions)
        key_filter = PassThrough if self.keeps_null_keys else NullKeyFilter
        graph.add_node(key_filter(name=self.key_filter, parents=self.parent_names, site=self.site))
        graph.add_node(
            Sink(
                name=self.sink,
                parents=(self.key_filter,),
                topic=self.topic,
                key_serde=self.key_serde,
                value_serde=self.value_serde,
                partitioner=self.partitioner,
                is_internal=True,
                site=self.site,
            )
        )
        graph.add_node(
            Source(
                name=self.name,
                topics=(self.topic,),
                key_serde=self.key_serde,
                value_serde=self.value_serde,
                timestamp_extractor=FailOnInvalidTimestamp(),
                reads_internal=True,
                site=self.site,
            )
        )


def new_repartition(
    graph: LogicalGraph,
    prefix: str,
    key_serde: Serde[Any] | None,
    value_serde: Serde[Any] | None,
    *,
    name_is_given: bool,
    **more: Any,
) -> Repartition:
    """Make a repartition with topic ``<prefix>-repartition``, without adding it.

    As in Java, this takes three numbers even if the result is not used. ``name_is_given`` means
    that the user chose the prefix.
    """
    topic = prefix if prefix.endswith(TOPIC_SUFFIX) else prefix + TOPIC_SUFFIX
    if not name_is_given:
        graph.note_generated(repartition_topic=topic)
    sink = graph.names.new_processor_name(_SINK)
    key_filter = graph.names.new_processor_name(_FILTER)
    source = graph.names.new_processor_name(_SOURCE)
    if not is_generated(prefix):
        sink, key_filter, source = topic + "-sink", topic + "-filter", topic + "-source"
    return Repartition(
        source,
        topic=topic,
        sink=sink,
        key_filter=key_filter,
        key_serde=key_serde,
        value_serde=value_serde,
        **more,
    )


def repartition_for_join(
    stream: Stream,
    name: str | None,
    key_serde: Serde[Any] | None = None,
    value_serde: Serde[Any] | None = None,
) -> Stream:
    """Repartition a stream whose key has changed; return any other stream as it is.

    ``name`` is the user's name for the join (in stream-stream joins with ``-left`` or ``-right``).
    Several unnamed joins of one stream share a repartition topic.
    """
    if not stream.key_changed:
        return stream
    key_serde = key_serde or stream.key_serde
    value_serde = value_serde or stream.value_serde
    prefix = stream.name if name is None else name
    repartition = new_repartition(
        stream.graph, prefix, key_serde, value_serde, name_is_given=name is not None
    )
    if stream.join_repartition is None or prefix != stream.name:
        stream.join_repartition = repartition
        stream.graph.add(repartition, stream.node)
    return replace(
        stream,
        name=repartition.name,
        node=stream.join_repartition,
        sources=frozenset([repartition.name]),
        key_serde=key_serde,
        value_serde=value_serde,
        key_changed=False,
        join_repartition=None,
    )


def repartition(stream: Stream, options: Repartitioned[Any, Any]) -> Stream:
    """Send the stream through a topic of its own, whether its key has changed or not."""
    names = stream.graph.names
    prefix = options.name or names.new_processor_name("KSTREAM-REPARTITION-")
    value_serde = resolve_serde(options.value) or stream.value_serde
    # As in Java, the topic does not inherit the stream's key serde, but later operators do.
    key_serde = resolve_serde(options.key)
    node = new_repartition(
        stream.graph,
        prefix,
        key_serde,
        value_serde,
        name_is_given=options.name is not None,
        partitioner=options.partitioner,
        partitions=_checked_partitions(options.num_partitions),
        is_mergeable=False,
    )
    return stream.then(
        node,
        key_serde=key_serde or stream.key_serde,
        value_serde=value_serde,
        sources=frozenset([node.name]),
        key_changed=False,
    )


def _checked_partitions(partitions: int | None) -> int | None:
    if partitions is not None and partitions < 1:
        raise InvalidArgumentError(
            "bad-partitions",
            f"a topic cannot have {partitions} partitions",
            fix="give 1 or more",
            at=caller_site(),
        )
    return partitions
