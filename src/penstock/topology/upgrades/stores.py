"""The stores of a graph in words: how they are kept, and every step that fills them.

Functions of users cannot be compared and are left out; expressions such as ``col("n") > 5`` can.
Names of nodes are left out too: another name does not change what a store means.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from penstock.expr.expression import Expression
from penstock.serde.base import Serde, SerdeDefaults
from penstock.serde.inferred import holds_inferred
from penstock.state.spec import StoreKind, StoreSpec
from penstock.topology.graph import Graph
from penstock.topology.nodes import (
    Branch,
    Filter,
    FlatMap,
    FlatMapValues,
    ForeignKeyUpdate,
    GlobalJoin,
    Map,
    MapValues,
    MapValuesAsync,
    Node,
    NullKeyFilter,
    PassThrough,
    Peek,
    Process,
    SelectKey,
    Sink,
    Source,
    StreamJoin,
    StreamTableJoin,
    TablePassThrough,
    TableTransformValues,
    ToStream,
)
from penstock.topology.upgrades.comparison import GENERATED
from penstock.topology.upgrades.fingerprint import (
    Line,
    PlanFingerprint,
    Rule,
    Section,
)

#: Records leave these as they came.
_SILENT = (NullKeyFilter, PassThrough, Peek, TablePassThrough, ToStream)
#: Each record of a stream passes these on its own. What they made of earlier records stays in the
#: store, and it can be read. Steps of tables are not among them: a table takes its old rows back
#: through the steps that it has now.
_STATELESS = (
    Branch, Filter, FlatMap, FlatMapValues, GlobalJoin, Map, MapValues, MapValuesAsync, SelectKey,
)  # fmt: skip
#: These may write to every store that they are connected to.
_OPEN = (Process, TableTransformValues)
#: These read the store that they name.
_READERS = (ForeignKeyUpdate, GlobalJoin)
_WRITTEN = ("store", "outer_store", "buffer")
#: What decides the result of an operator, besides functions.
_FACTS = (
    "windows", "kind", "is_left", "is_left_join", "outer", "grace_ms", "wait_ms",
    "until_window_closes", "emit_final", "negate", "interval_ms",
)  # fmt: skip
_KINDS = {
    StoreKind.KEY_VALUE: "keys and values",
    StoreKind.TIMESTAMPED_KEY_VALUE: "keys, values and timestamps",
    StoreKind.VERSIONED_KEY_VALUE: "versions of values",
    StoreKind.WINDOW: "windows",
    StoreKind.TIMESTAMPED_WINDOW: "windows with timestamps",
    StoreKind.SESSION: "sessions",
}


def section_name(store: str) -> str:
    return f"store {store!r}"


def topic_section(topic: str) -> str:
    return f"topic {topic!r}"


def fingerprint_of(graph: Graph, defaults: SerdeDefaults | None = None) -> PlanFingerprint:
    """Return the fingerprint of a topology.

    Args:
        defaults: The configuration's serdes, for sources and stores that name none.
    """
    known = defaults or SerdeDefaults()
    statement = graph.statement
    walk = _Walk(graph, known)
    topics = tuple(sorted({t for node in graph.nodes.values() for t in walk.outer_topics(node)}))
    if statement is None:
        lasting = [spec for spec in graph.stores.values() if spec.logging or spec.persistent]
        sections = [*(walk.section(spec) for spec in lasting), *walk.repartitions()]
        return PlanFingerprint(tuple(sections), topics)
    # The statement says how its stores are filled, and in the user's own words.
    kept = tuple(
        Section(
            section_name(spec.name),
            tuple(map(Line, _kept_as(spec, known))),
            nodes=_with_clocks(graph, spec.name),
        )
        for spec in graph.stores.values()
    )
    return PlanFingerprint(
        (*statement.sections, *kept, *walk.repartitions()),
        topics,
        statement.sql,
        statement.replaces,
        statement.is_one_of_several,
    )


class _Walk:
    """Goes from stores up to the topics that fill them, through repartition topics."""

    def __init__(self, graph: Graph, defaults: SerdeDefaults) -> None:
        self._graph = graph
        self._defaults = defaults
        self._sinks: dict[str, list[str]] = {}
        for node in graph.nodes.values():
            if isinstance(node, Sink) and node.topic in graph.internal_topics:
                self._sinks.setdefault(str(node.topic), []).append(node.name)

    def section(self, spec: StoreSpec) -> Section:
        seen: dict[str, Node] = {}
        for node in self._graph.nodes.values():
            if _writes(node, spec.name):
                self._collect(node.name, seen)
        # The topic of a mirror is its changelog: the rows of another topic cannot be restored. A
        # generated name may have belonged to another store of the former program.
        is_mirror = spec.name in self._graph.source_changelogs
        is_fixed = is_mirror or GENERATED.search(spec.name) is not None
        steps = [
            Line(text, Rule.FIXED if is_fixed else _rule(node))
            for node in seen.values()
            for text in self._text(node)
        ]
        topics = [topic for node in seen.values() for topic in self.outer_topics(node)]
        sources = [node for node in seen.values() if isinstance(node, Source)]
        formats = [self._format(node) for node in sources if self.outer_topics(node)]
        return Section(
            section_name(spec.name),
            (*map(Line, _kept_as(spec, self._defaults)), *steps),
            presence=Rule.FREE,
            # A store that mirrors a topic is complete, whenever it is added.
            topics=() if is_mirror else tuple(dict.fromkeys(topics)),
            nodes=_with_clocks(self._graph, spec.name),
            formats=tuple(dict.fromkeys(formats)),
        )

    def repartitions(self) -> Iterator[Section]:
        """Return the formats of repartition topics: records may wait there for the next run."""
        for topic, (name, *_) in self._sinks.items():
            sink = self._graph.nodes[name]
            assert isinstance(sink, Sink)
            key = _layout(sink.key_serde, self._defaults, "key")
            value = _layout(sink.value_serde, self._defaults, "value")
            lines = Line(f"key {key}", Rule.FREE), Line(f"value {value}", Rule.FREE)
            yield Section(topic_section(topic), lines, presence=Rule.FREE)

    def _collect(self, name: str, seen: dict[str, Node]) -> None:
        """Add a node after everything before it, in the order of the parents."""
        node = self._graph.nodes[name]
        if name in seen:
            return
        # Marked first: a foreign-key join is a ring over two topics.
        seen[name] = node
        for before in self._before(node):
            self._collect(before, seen)
        seen[name] = seen.pop(name)

    def _before(self, node: Node) -> list[str]:
        if isinstance(node, Source):
            return [name for topic in node.topics for name in self._sinks.get(topic, ())]
        return list(node.parents)

    def outer_topics(self, node: Node) -> list[str]:
        """Return the topics that a source reads, repartition topics left out."""
        internal = self._graph.internal_topics
        return [t for t in _topics(node) if t not in internal] if isinstance(node, Source) else []

    def _text(self, node: Node) -> Iterator[str]:
        if isinstance(node, Source):
            names = ", ".join(sorted(self.outer_topics(node)))
            if names:
                yield f"reads {names}: {self._format(node)}"
        elif isinstance(node, Sink):
            yield f"repartition by key: {_layout(node.key_serde, self._defaults, 'key')}"
        elif not isinstance(node, _SILENT):
            yield _step(node)

    def _format(self, node: Source) -> str:
        key = _layout(node.key_serde, self._defaults, "key")
        return f"key {key}, value {_layout(node.value_serde, self._defaults, 'value')}"


def _rule(node: Node) -> Rule:
    """Return what it means to a store that a step before it comes, goes or changes."""
    match node:
        case Process():
            passes_alone = not node.stores
        case StreamTableJoin():
            # With a grace period, records wait for the table in a buffer of the join.
            passes_alone = node.buffer is None
        case _:
            passes_alone = isinstance(node, (Source, *_STATELESS))
    return Rule.REPLACE if passes_alone else Rule.FIXED


def _writes(node: Node, store: str) -> bool:
    if isinstance(node, _OPEN):
        return store in node.stores
    return not isinstance(node, _READERS) and any(
        getattr(node, name, None) == store for name in _WRITTEN
    )


def _with_clocks(graph: Graph, store: str) -> tuple[str, ...]:
    """Return the names under which the clocks of a store's nodes are kept."""
    writers = [node.name for node in graph.nodes.values() if _writes(node, store)]
    joins = [
        node.clock
        for node in graph.nodes.values()
        if isinstance(node, StreamJoin) and node.other_store == store
    ]
    return (*writers, *joins)


def _topics(node: Source) -> tuple[str, ...]:
    return node.topics if node.pattern is None else (node.pattern.pattern,)


def _kept_as(spec: StoreSpec, defaults: SerdeDefaults) -> list[str]:
    lines = [
        f"keeps {_KINDS.get(spec.kind, spec.kind.value.replace('_', ' '))}",
        f"key {_layout(spec.key_serde, defaults, 'key')}",
        f"value {_layout(spec.value_serde, defaults, 'value')}",
    ]
    if spec.other_value_serde is not None:
        lines.append(f"other value {_layout(spec.other_value_serde, defaults, 'value')}")
    if spec.window_size_ms:
        lines.append(f"windows of {spec.window_size_ms} ms")
    if spec.retain_duplicates:
        lines.append("several rows of one key")
    return [*lines, "in order of time"] if spec.time_ordered else lines


def _layout(serde: Serde[Any] | None, defaults: SerdeDefaults, part: str) -> str:
    if serde is None:
        default = defaults.key if part == "key" else defaults.value
        return "default" if default is None else default.layout
    # A default that is set wins over what was inferred, so setting one changes the state.
    return (serde.with_defaults(defaults.of(part)) if holds_inferred(serde) else serde).layout


def _step(node: Node) -> str:
    words = re.sub(r"(?<!^)(?=[A-Z])", " ", type(node).__name__).lower()
    facts = [fact for name in _FACTS if (fact := _fact(name, getattr(node, name, None)))]
    shown = [
        repr(value)
        for member in fields(node)
        if isinstance(value := getattr(node, member.name), Expression)
    ]
    return ", ".join([words, *facts, *shown])


def _fact(name: str, value: Any) -> str | None:
    if value is None or value is False:
        return None
    words = name.removesuffix("_ms").removeprefix("is_").replace("_", " ")
    if value is True:
        return words
    if isinstance(value, Enum):
        return f"{words} {value.value}"
    if is_dataclass(value):
        kind = re.sub(r"(?<!^)(?=[A-Z])", " ", type(value).__name__).lower()
        members = [(m.name, getattr(value, m.name)) for m in fields(value)]
        inner = [fact for each in members if (fact := _fact(*each))]
        return " ".join([kind, *inner])
    return f"{words} {value} ms" if name.endswith("_ms") else f"{words} {value}"
