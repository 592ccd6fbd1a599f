"""Finds the serdes of a topic for a test: those of the node that reads or writes it."""

from __future__ import annotations

from typing import Any

from penstock.errors import DeserializationError, InvalidArgumentError, SerializationError
from penstock.kernel.settings import TaskSettings
from penstock.model.record import Headers
from penstock.model.site import caller_site
from penstock.serde.base import Serde
from penstock.serde.serdes import SerdeLike, Serdes, resolve_serde
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
        key = self._serde(own[0], "key", topic, strict)
        return key, self._serde(own[1], "value", topic, strict)

    def named(self, given: SerdeLike, part: str) -> Serde[Any] | None:
        """Return the serde that a test names, as the application would use it."""
        serde = resolve_serde(given)
        return None if serde is None else serde.with_defaults(self._defaults.of(part))

    def _serde(self, given: Serde[Any] | None, part: str, topic: str, strict: bool) -> Serde[Any]:
        found = self.named(given, part) or self._defaults.serde(part)
        if found is not None:
            return found
        if strict:
            raise InvalidArgumentError(
                "missing-serde",
                f"the topology names no serde for topic {topic!r}",
                fix="use create_input_topic or create_output_topic with serdes",
                at=caller_site(),
            )
        return Serdes.bytes()


def written(serde: Serde[Any], topic: str, item: Any, headers: Headers, part: str) -> bytes | None:
    """Return the bytes of a key or value that a test pipes; an error names the test's line."""
    try:
        return serde.serialize(topic, item, headers)
    except (TypeError, ValueError) as error:
        raise SerializationError(
            "serialization",
            f"topic {topic!r} is read with {type(serde).__name__}, which cannot write the {part}"
            f" {item!r}: {error}",
            fix=f"pipe a {part} of the type that the source reads, or give the source another"
            f" serde of {part}s",
            at=caller_site(),
        ) from error


def read(serde: Serde[Any], topic: str, data: bytes | None, headers: Headers, part: str) -> Any:
    """Return the key or value that a test reads; an error names the test's line."""
    try:
        return serde.deserialize(topic, data, headers)
    except (TypeError, ValueError) as error:
        raise DeserializationError(
            "deserialization",
            f"{type(serde).__name__} cannot read the {part} {data!r} of topic {topic!r}: {error}",
            fix=f"read the topic with the serde it was written with: create_output_topic({topic!r},"
            f" {part}=…)",
            at=caller_site(),
        ) from error
