"""One file per operator: what it is, as data. How it runs: ``penstock.kernel``."""

from penstock.topology.nodes.aggregations.aggregate import Aggregate, Reduce
from penstock.topology.nodes.aggregations.session_aggregate import SessionAggregate
from penstock.topology.nodes.aggregations.sliding_aggregate import SlidingAggregate
from penstock.topology.nodes.aggregations.table_aggregate import TableAggregate, TableReduce
from penstock.topology.nodes.aggregations.table_group_by import TableGroupBy
from penstock.topology.nodes.aggregations.window_aggregate import WindowAggregate
from penstock.topology.nodes.joins.foreign_key_join import (
    ForeignKeyLookUp,
    ForeignKeyReceive,
    ForeignKeyResolve,
    ForeignKeySubscribe,
    ForeignKeyUpdate,
)
from penstock.topology.nodes.joins.global_join import GlobalJoin
from penstock.topology.nodes.joins.stream_join import (
    StreamJoin,
    StreamJoinWindow,
    StreamSelfJoin,
)
from penstock.topology.nodes.joins.stream_table_join import StreamTableJoin
from penstock.topology.nodes.joins.table_join import JoinKind, TableJoin, TableJoinMerge
from penstock.topology.nodes.node import Node, TableNode
from penstock.topology.nodes.processors.process import Process
from penstock.topology.nodes.streams.branch import Branch
from penstock.topology.nodes.streams.deduplicate import Deduplicate
from penstock.topology.nodes.streams.filter import Filter
from penstock.topology.nodes.streams.flat_map import FlatMap
from penstock.topology.nodes.streams.flat_map_values import FlatMapValues
from penstock.topology.nodes.streams.map import Map
from penstock.topology.nodes.streams.map_values import MapValues
from penstock.topology.nodes.streams.map_values_async import MapValuesAsync
from penstock.topology.nodes.streams.pass_through import PassThrough, TablePassThrough
from penstock.topology.nodes.streams.peek import Peek
from penstock.topology.nodes.streams.select_key import SelectKey
from penstock.topology.nodes.tables.suppress import Suppress
from penstock.topology.nodes.tables.table_filter import TableFilter
from penstock.topology.nodes.tables.table_map_values import TableMapValues
from penstock.topology.nodes.tables.table_transform_values import TableTransformValues
from penstock.topology.nodes.tables.to_stream import ToStream
from penstock.topology.nodes.topics.null_key_filter import NullKeyFilter
from penstock.topology.nodes.topics.sink import Sink
from penstock.topology.nodes.topics.source import Source
from penstock.topology.nodes.topics.table_source import TableSource
from penstock.topology.nodes.topics.to_lake import ToLake
from penstock.topology.nodes.topics.to_spark import ToSpark

#: Nodes that run the user's processors, which may schedule punctuations.
_MAY_SCHEDULE = (Process, TableTransformValues)


def may_schedule(node: Node) -> bool:
    """Tell whether a node may schedule punctuations: user code, or windows that a clock closes."""
    return isinstance(node, _MAY_SCHEDULE) or getattr(node, "idle_ms", None) is not None


__all__ = [
    "may_schedule",
    "Aggregate",
    "Branch",
    "Deduplicate",
    "Filter",
    "FlatMap",
    "FlatMapValues",
    "ForeignKeyLookUp",
    "ForeignKeyReceive",
    "ForeignKeyResolve",
    "ForeignKeySubscribe",
    "ForeignKeyUpdate",
    "GlobalJoin",
    "JoinKind",
    "Map",
    "MapValues",
    "MapValuesAsync",
    "Node",
    "NullKeyFilter",
    "PassThrough",
    "Peek",
    "Process",
    "Reduce",
    "SelectKey",
    "SessionAggregate",
    "Sink",
    "SlidingAggregate",
    "Source",
    "StreamJoin",
    "StreamJoinWindow",
    "StreamSelfJoin",
    "StreamTableJoin",
    "Suppress",
    "TableAggregate",
    "TableFilter",
    "TableGroupBy",
    "TableJoin",
    "TableJoinMerge",
    "TableMapValues",
    "TableNode",
    "TablePassThrough",
    "TableReduce",
    "TableSource",
    "TableTransformValues",
    "ToLake",
    "ToSpark",
    "ToStream",
    "WindowAggregate",
]
