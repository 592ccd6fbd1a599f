"""What a journey has to know of a topology to read the bytes of its topics and stores."""

from __future__ import annotations

from typing import Any

from penstock.kernel.serdes import required_serde
from penstock.kernel.settings import TaskSettings
from penstock.model.record import Headers
from penstock.serde.base import Serde
from penstock.state.spec import StoreSpec
from penstock.topology.graph import Graph
from penstock.topology.nodes import Sink, Source

Pair = tuple[Serde[Any], Serde[Any]]


def topic_decoders(graph: Graph, settings: TaskSettings) -> dict[str, Pair]:
    """Return the serdes of every topic that a node names, under its real name."""
    found: dict[str, Pair] = {}
    for node in graph.nodes.values():
        names: tuple[str, ...] = ()
        if isinstance(node, Source):
            names = node.topics
        elif isinstance(node, Sink) and isinstance(node.topic, str):
            names = (node.topic,)
        for name in names:
            assert isinstance(node, Source | Sink)
            what, topic = f"node {node.name!r}", name
            if name in graph.internal_topics:
                topic = settings.topic(name)
            found[topic] = (
                required_serde(node.key_serde, settings.defaults, "key", what, node.site),
                required_serde(node.value_serde, settings.defaults, "value", what, node.site),
            )
    return found


def decoded(serde: Serde[Any] | None, topic: str, data: bytes | None, headers: Headers) -> Any:
    """Return a key or a value; if no serde can read it, its bytes as text."""
    if data is None:
        return None
    try:
        if serde is not None:
            return serde.deserialize(topic, data, headers)
    except Exception:  # noqa: BLE001 - any serde
        pass
    return data.decode("utf-8", "backslashreplace")


def store_spec(graph: Graph, name: str) -> StoreSpec | None:
    """Return the description of a store or of a global store."""
    shared = graph.global_stores.get(name)
    return graph.stores.get(name) if shared is None else shared.spec
