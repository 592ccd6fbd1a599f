"""The graph as JSON, for tools, for comparing two versions, and for stored plans.

Functions appear by name and line. Each kind of node has a version; a change of its meaning is a new
version.
"""

from __future__ import annotations

import json
import re
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from penstock.topology.graph import Graph
from penstock.topology.nodes import Node
from penstock.topology.subtopology import subtopologies

VERSION = 1
_NODE_FIELDS = ("name", "parents", "stores", "site")


def to_json(graph: Graph) -> str:
    """Return the whole graph, cut into sub-topologies, as indented JSON."""
    return json.dumps(to_dict(graph), indent=2, ensure_ascii=False)


def to_dict(graph: Graph) -> dict[str, Any]:
    return {
        "version": VERSION,
        "subtopologies": [
            {
                "id": part.id,
                "is_global": part.is_global,
                "nodes": [node_to_dict(graph.nodes[name]) for name in part.nodes],
            }
            for part in subtopologies(graph)
        ],
        "stores": {name: _plain(spec) for name, spec in graph.stores.items()},
        "global_stores": {name: _plain(store) for name, store in graph.global_stores.items()},
        "internal_topics": dict(graph.internal_topics),
        "source_changelogs": dict(graph.source_changelogs),
        "copartitioned": [sorted(group) for group in graph.copartitioned],
    }


def node_to_dict(node: Node) -> dict[str, Any]:
    """Return one node as a dict, without fields that have their default value."""
    given = {
        field.name: _plain(getattr(node, field.name))
        for field in fields(node)
        if field.name not in _NODE_FIELDS and not _is_default(getattr(node, field.name))
    }
    return {
        "kind": f"{_kebab(type(node).__name__)}/1",
        "name": node.name,
        "parents": list(node.parents),
        "stores": list(node.stores),
        "site": node.site,
        **given,
    }


def _is_default(value: Any) -> bool:
    # By identity: == of an expression returns another expression.
    return value is None or value is False or (isinstance(value, tuple) and not value)


def _kebab(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, re.Pattern):
        return value.pattern
    if isinstance(value, tuple | list | frozenset | set):
        return [_plain(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        own = {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
        return {"type": type(value).__name__, **own}
    return _function(value)


def _function(value: Any) -> dict[str, str | None]:
    code = getattr(value, "__code__", None)
    line = f"{code.co_filename.rsplit('/', 1)[-1]}:{code.co_firstlineno}" if code else None
    name = getattr(value, "__qualname__", None) or type(value).__qualname__
    return {"function": name, "at": line}
