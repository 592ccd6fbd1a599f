"""Which serdes a test should use for a topic: those of the node that reads or writes it."""

from __future__ import annotations

from typing import Any

from penstock.errors import InvalidArgumentError
from penstock.kernel.settings import TaskSettings
from penstock.serde.base import Serde
from penstock.serde.serdes import Serdes
from penstock.topology.graph import Graph
from penstock.topology.nodes import Sink, Source

Pair = tuple[Serde[Any], Serde[Any]]


class TopicSerdes:
    """Looks serdes up in the graph, and falls back to the configuration's defaults."""

    def __init__(self, graph: Graph, settings: TaskSettings) -> None:
        self._graph = graph
        self._defaults = settings.defaults

    def of_input(self, topic: str, *, strict: bool = True) -> Pair:
        for node in self._graph.nodes.values():
            if isinstance(node, Source) and (
                topic in node.topics or (node.pattern and node.pattern.fullmatch(topic))
            ):
                return self._pair(node, topic, strict=strict)
        return self._pair(None, topic, strict=strict)

    def of_output(self, topic: str, *, strict: bool = True) -> Pair:
        sinks = [node for node in self._graph.nodes.values() if isinstance(node, Sink)]
        named = [sink for sink in sinks if sink.topic == topic]
        dynamic = [sink for sink in sinks if sink.topic is None]
        for sink in (*named, *dynamic):
            return self._pair(sink, topic, strict=strict)
        return self._pair(None, topic, strict=strict)

    def _pair(self, node: Source | Sink | None, topic: str, *, strict: bool) -> Pair:
        own = (None, None) if node is None else (node.key_serde, node.value_serde)
        key = self._serde(own[0], self._defaults.key, topic, strict)
        return key, self._serde(own[1], self._defaults.value, topic, strict)

    def _serde(
        self, given: Serde[Any] | None, default: Serde[Any] | None, topic: str, strict: bool
    ) -> Serde[Any]:
        if given is not None:
            return given.with_defaults(self._defaults)
        if default is not None:
            return default
        if strict:
            raise InvalidArgumentError(
                "missing-serde",
                f"the topology names no serde for topic {topic!r}",
                fix="use create_input_topic or create_output_topic with serdes",
            )
        return Serdes.bytes()
