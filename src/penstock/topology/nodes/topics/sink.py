"""Writes records to a topic, as data. How it runs: ``penstock.kernel.operators.topics.sink``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.processor.functions import StreamPartitioner, TopicNameExtractor
from penstock.serde.base import Serde
from penstock.topology.nodes.node import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink(Node):
    """Encodes records and sends them to ``topic``, or to the topic that ``topic_extractor`` names.

    ``is_internal`` marks the writing end of a repartition topic.
    """

    topic: str | None = None
    topic_extractor: TopicNameExtractor | None = None
    key_serde: Serde[Any] | None = None
    value_serde: Serde[Any] | None = None
    partitioner: StreamPartitioner | None = None
    is_internal: bool = False
