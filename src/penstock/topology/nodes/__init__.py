"""One file per operator: what it is, as data. How it runs: ``penstock.kernel``."""

from penstock.topology.nodes.aggregate import Aggregate, Reduce
from penstock.topology.nodes.branch import Branch
from penstock.topology.nodes.filter import Filter
from penstock.topology.nodes.flat_map import FlatMap
from penstock.topology.nodes.flat_map_values import FlatMapValues
from penstock.topology.nodes.foreign_key_join import (
    ForeignKeyLookUp,
    ForeignKeyReceive,
    ForeignKeyResolve,
    ForeignKeySubscribe,
    ForeignKeyUpdate,
)
from penstock.topology.nodes.global_join import GlobalJoin
from penstock.topology.nodes.map import Map
from penstock.topology.nodes.map_values import MapValues
from penstock.topology.nodes.node import Node, TableNode
from penstock.topology.nodes.null_key_filter import NullKeyFilter
from penstock.topology.nodes.pass_through import PassThrough, TablePassThrough
from penstock.topology.nodes.peek import Peek
from penstock.topology.nodes.process import Process
from penstock.topology.nodes.select_key import SelectKey
from penstock.topology.nodes.session_aggregate import SessionAggregate
from penstock.topology.nodes.sink import Sink
from penstock.topology.nodes.sliding_aggregate import SlidingAggregate
from penstock.topology.nodes.source import Source
from penstock.topology.nodes.stream_join import (
    StreamJoin,
    StreamJoinWindow,
    StreamSelfJoin,
)
from penstock.topology.nodes.stream_table_join import StreamTableJoin
from penstock.topology.nodes.suppress import Suppress
from penstock.topology.nodes.table_aggregate import TableAggregate, TableReduce
from penstock.topology.nodes.table_filter import TableFilter
from penstock.topology.nodes.table_group_by import TableGroupBy
from penstock.topology.nodes.table_join import JoinKind, TableJoin, TableJoinMerge
from penstock.topology.nodes.table_map_values import TableMapValues
from penstock.topology.nodes.table_source import TableSource
from penstock.topology.nodes.table_transform_values import TableTransformValues
from penstock.topology.nodes.to_spark import ToSpark
from penstock.topology.nodes.to_stream import ToStream
from penstock.topology.nodes.window_aggregate import WindowAggregate

#: Run objects of the user's, which may ask for calls as time goes by.
MAY_SCHEDULE = (Process, TableTransformValues)

__all__ = [
    "MAY_SCHEDULE",
    "Aggregate",
    "Branch",
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
    "ToSpark",
    "ToStream",
    "WindowAggregate",
]
