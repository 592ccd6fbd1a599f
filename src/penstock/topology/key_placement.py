"""Whether the application itself has chosen the partition of each key of a store.

Records of a repartition topic are placed by the application: with murmur2 of the key, as Kafka's
producer does it. Records of other topics may come from any program. librdkafka, for one, places
keys by CRC32 unless it is told otherwise.
"""

from __future__ import annotations

from penstock.serde.windowed import SessionWindowedSerde, TimeWindowedSerde
from penstock.topology.graph import Graph
from penstock.topology.nodes import (
    Aggregate,
    Branch,
    Filter,
    FlatMapValues,
    MapValues,
    Node,
    NullKeyFilter,
    PassThrough,
    Peek,
    Process,
    Reduce,
    SessionAggregate,
    Sink,
    SlidingAggregate,
    Source,
    TableAggregate,
    TableReduce,
    TableSource,
    TableTransformValues,
    WindowAggregate,
)

#: Nodes whose store has the keys of the records that they receive.
_STORE_OWNERS = (
    Aggregate, Reduce, SessionAggregate, SlidingAggregate, TableAggregate, TableReduce, TableSource,
    WindowAggregate,
)  # fmt: skip
#: Nodes that forward a record under the key that it came with.
_SAME_KEY = (Branch, Filter, FlatMapValues, MapValues, NullKeyFilter, PassThrough, Peek)
#: Nodes that run code of the user, which may write any key.
_OF_USERS = (Process, TableTransformValues)
_WINDOWED = (TimeWindowedSerde, SessionWindowedSerde)


def is_placed(graph: Graph, store: str) -> bool:
    """Return whether murmur2 of a key of the store decides its partition, for every key.

    True only if it can be proven: all keys come unchanged from repartition topics that are written
    without a partitioner and with the key serde of the store.
    """
    users = [node for node in graph.nodes.values() if store in node.stores]
    owners = [node for node in users if isinstance(node, _STORE_OWNERS)]
    # A processor of the user may write any key to its store. Joins only read a table's store.
    if not owners or any(isinstance(node, _OF_USERS) for node in users):
        return False
    key_serde = graph.stores[store].key_serde
    if isinstance(key_serde, _WINDOWED):
        return False
    return all(_is_placed_before(graph, node, key_serde) for node in owners)


def _is_placed_before(graph: Graph, node: Node, key_serde: object) -> bool:
    for name in node.parents:
        parent = graph.nodes[name]
        if isinstance(parent, Source):
            if not _is_placed_topic(graph, parent, key_serde):
                return False
        elif not isinstance(parent, _SAME_KEY) or not _is_placed_before(graph, parent, key_serde):
            return False
    return True


def _is_placed_topic(graph: Graph, source: Source, key_serde: object) -> bool:
    if not source.reads_internal:
        return False
    sinks = [
        node
        for node in graph.nodes.values()
        if isinstance(node, Sink) and node.topic in source.topics
    ]
    return all(sink.partitioner is None and sink.key_serde == key_serde for sink in sinks)
