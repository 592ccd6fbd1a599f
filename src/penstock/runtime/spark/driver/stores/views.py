"""Stores and output topics of an application as views of Spark SQL."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from penstock.config import BOOTSTRAP_SERVERS, StreamsConfig
from penstock.dsl.operators.topics.to_spark import serde_type
from penstock.errors import InvalidArgumentError
from penstock.kafka.admin import Admin
from penstock.kernel.serdes import required_serde
from penstock.kernel.settings import TaskSettings
from penstock.model.site import caller_site
from penstock.runtime.settings import task_settings
from penstock.runtime.spark.data_source import register_data_source
from penstock.runtime.spark.driver.stores.cut_view import CutView
from penstock.serde.base import Serde
from penstock.serde.inferred import InferredSerde
from penstock.serde.json import JsonSerde, TypedJsonSerde
from penstock.serde.primitives import (
    BooleanSerde,
    DoubleSerde,
    FloatSerde,
    IntegerSerde,
    LongSerde,
    StringSerde,
)
from penstock.topology.graph import Graph
from penstock.topology.nodes import Sink
from penstock.topology.nodes.topics.to_lake import DriverSink

_NAMES: dict[type[Any], str] = {
    StringSerde: "string",
    LongSerde: "long",
    IntegerSerde: "integer",
    DoubleSerde: "double",
    FloatSerde: "float",
    BooleanSerde: "boolean",
    JsonSerde: "json",
    TypedJsonSerde: "json",
}


def register_views(
    spark: SparkSession, prefix: str, cut: CutView, graph: Graph, config: Mapping[str, Any]
) -> dict[str, str]:
    """Register a view for each store and each output topic, as of the cut.

    Returns:
        the names of the views, each with the store or topic that it shows.
    """
    register_data_source(spark)
    stores = [*graph.stores, *graph.global_stores]
    found = dict(_named(prefix, [*stores, *_topics(graph)]))
    frames = dict(_frames(spark, cut, graph, StreamsConfig(config)))
    for view, name in found.items():
        frames[name].createOrReplaceTempView(view)
    return found


def _named(prefix: str, names: list[str]) -> Iterator[tuple[str, str]]:
    taken: dict[str, str] = {}
    for name in names:
        view = re.sub(r"\W", "_", f"{prefix}_{name}" if prefix else name)
        if taken.setdefault(view.lower(), name) != name:
            raise InvalidArgumentError(
                "same-view",
                f"{taken[view.lower()]!r} and {name!r} would both be the view {view!r}",
                fix="give one of the two another name, or read it with store_dataframe",
                at=caller_site(),
            )
        yield view, name


def _frames(
    spark: SparkSession, cut: CutView, graph: Graph, config: StreamsConfig
) -> Iterator[tuple[str, DataFrame]]:
    brokers = {"bootstrap.servers": config[BOOTSTRAP_SERVERS]}
    admin = Admin(brokers)
    for topic, sink in _topics(graph).items():
        parts = [(topic, number) for number in range(len(admin.topic(topic).partitions))]
        ends = admin.end_offsets(parts, committed=True)
        until = json.dumps({topic: {str(number): end for (_, number), end in ends.items()}})
        options = {**brokers, "topic": topic, "ending.offsets": until}
        options |= _read_as(sink, task_settings(config))
        yield topic, spark.read.format("penstock").options(**options).load()
    for store in (*graph.stores, *graph.global_stores):
        # A store wins over a topic of the same name.
        yield store, cut.dataframe(store, spark)


def _topics(graph: Graph) -> dict[str, Sink]:
    sinks = [node for node in graph.nodes.values() if isinstance(node, Sink)]
    own = [sink for sink in sinks if not isinstance(sink, DriverSink) and sink.topic is not None]
    return {str(sink.topic): sink for sink in own if sink.topic not in graph.internal_topics}


def _read_as(sink: Sink, settings: TaskSettings) -> dict[str, str]:
    """Return the options that read a topic as the sink writes it; other formats are bytes."""
    what = f"sink node {sink.name!r}"
    key = required_serde(sink.key_serde, settings.defaults, "key", what, sink.site)
    value = required_serde(sink.value_serde, settings.defaults, "value", what, sink.site)
    options = {"key.serde": _serde_name(key), "value.serde": _serde_name(value)}
    schema = serde_type(value)
    if schema is not None and schema.startswith("struct<"):
        options["value.schema"] = schema.removeprefix("struct<").removesuffix(">")
    return options


def _serde_name(serde: Serde[Any]) -> str:
    if isinstance(serde, InferredSerde):
        serde = serde.inner or serde
    return _NAMES.get(type(serde), "bytes")
