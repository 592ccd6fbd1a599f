"""Writes a stream to a topic. As data: ``penstock.topology.nodes.topics.sink``."""

from __future__ import annotations

from functools import partial
from typing import Any

from penstock.dsl.operators.arity import check_arity
from penstock.dsl.operators.topics.source import stream_from
from penstock.dsl.options.stream_options import Consumed, Produced, not_none
from penstock.dsl.plan.logical import Operator
from penstock.dsl.plan.stream import Stream
from penstock.processor.functions import FailOnInvalidTimestamp, TopicNameExtractor
from penstock.serde.inferred import UNDECLARED
from penstock.serde.serdes import resolve_serde
from penstock.topology.nodes import Sink


def write_stream(
    stream: Stream, topic: str | TopicNameExtractor, options: Produced[Any, Any]
) -> None:
    """Add a sink. Serdes that are not given are those of the stream, if they are known."""
    not_none(topic, "the topic")
    extractor = None if isinstance(topic, str) else topic
    if extractor is not None:
        check_arity("to", "topic extractor", extractor, "key", "value", "context")
    make = partial(
        Sink,
        topic=topic if isinstance(topic, str) else None,
        topic_extractor=extractor,
        key_serde=resolve_serde(options.key) or stream.key_serde or UNDECLARED,
        value_serde=resolve_serde(options.value) or stream.value_serde or UNDECLARED,
        partitioner=options.partitioner,
    )
    stream.then(Operator(stream.graph.names.given_or_new(options.name, "KSTREAM-SINK-"), make))


def write_and_read_stream(stream: Stream, topic: str, options: Produced[Any, Any]) -> Stream:
    """Write to a topic, and read it again: ``through``."""
    write_stream(stream, topic, options)
    consumed: Consumed[Any, Any] = Consumed(
        key=options.key or stream.key_serde,
        value=options.value or stream.value_serde,
        timestamp_extractor=FailOnInvalidTimestamp(),
    )
    return stream_from(stream.graph, topic, consumed)
