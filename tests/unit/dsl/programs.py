"""Helpers of the DSL's tests: a program's nodes as short lines, and small user functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.dsl.faces.builder import StreamsBuilder
from penstock.topology.graph import Graph

Program = Callable[[StreamsBuilder], object]


def graph_of(
    program: Program, config: Mapping[str, Any] | None = None, **builder_config: Any
) -> Graph:
    """Builds a program's graph; keyword arguments configure the builder."""
    builder = StreamsBuilder({key.replace("__", "."): v for key, v in builder_config.items()})
    program(builder)
    return builder.build(config).graph


def lines(graph: Graph) -> list[str]:
    """One line per node, in order: kind, name, parents, stores."""
    return [
        " ".join(
            [
                type(node).__name__,
                node.name,
                *(f"<{parent}" for parent in node.parents),
                *(f"+{store}" for store in node.stores),
            ]
        )
        for node in graph.nodes.values()
    ]


def key_of(key: Any, value: Any) -> Any:
    return key


def value_of(key: Any, value: Any) -> Any:
    return value


def always(key: Any, value: Any) -> bool:
    return True
