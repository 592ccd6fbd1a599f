"""Finds out which part of an application cannot be pickled, to name it in the error."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from types import FunctionType, MethodType
from typing import Any, NamedTuple

import cloudpickle

from penstock.runtime.spark.exchange.stage_request import Application
from penstock.topology.graph import Graph

#: How far a function is looked into: what its functions use, and what these use in turn.
_DEPTH = 4


class Culprit(NamedTuple):
    """What cannot be pickled, the way to the object that is the reason, and the line of it."""

    what: str
    way: str
    at: str | None


def culprit(content: object) -> Culprit:
    """Return the first node or setting of an application that cannot be pickled by itself.

    It is called after ``cloudpickle`` has failed, whose error has only the type of the object.
    """
    graph = content.plan.graph if isinstance(content, Application) else content
    if isinstance(graph, Graph):
        for node in graph.nodes.values():
            if not _pickles(node):
                # The first name is a field of the node, which the user has not chosen.
                field, _, way = _way(node).partition(".")
                return Culprit(f"node {node.name!r}", way or field, node.site)
    if isinstance(content, Application):
        for name, value in content.config.items():
            if not _pickles(value):
                return Culprit(f"setting {name!r}", _way(value), None)
    return Culprit("the topology", _way(content), None)


def _way(holder: object) -> str:
    """Return names with dots between them: what the holder uses, what that uses, and so on."""
    names: list[str] = []
    while len(names) < _DEPTH:
        blocked = next(((n, part) for n, part in _parts(holder) if not _pickles(part)), None)
        if blocked is None:
            break
        names.append(blocked[0])
        holder = blocked[1]
    return ".".join(names)


def _parts(holder: object) -> Iterator[tuple[str, object]]:
    match holder:
        case MethodType():
            yield "self", holder.__self__
        case FunctionType():
            used = inspect.getclosurevars(holder)
            yield from used.nonlocals.items()
            yield from used.globals.items()
        case Mapping():
            yield from ((str(name), part) for name, part in holder.items())
        case list() | tuple():
            yield from ((f"[{index}]", part) for index, part in enumerate(holder))
        case _:
            if is_dataclass(holder) and not isinstance(holder, type):
                yield from ((each.name, getattr(holder, each.name)) for each in fields(holder))
            else:
                yield from getattr(holder, "__dict__", {}).items()


def _pickles(part: Any) -> bool:
    try:
        cloudpickle.dumps(part)
    except Exception:  # noqa: BLE001 - whatever it is, the part does not travel
        return False
    return True
