"""The logical graph of a program, before it is optimized and lowered to nodes.

Operators of the DSL add ``LogicalNode`` s; ``build`` optimizes a copy of the graph and lowers
each to the frozen nodes of ``penstock.topology.nodes``. What an operator's file needs:

* ``stream.graph.names`` makes names (``given_or_new``, ``suffixed_or_new``, ``new_store_name``).
  Call them in Java's order: every call takes a number.
* ``Operator(name, partial(Filter, predicate=p))`` is a logical node that becomes one node: the
  partial gets ``name``, ``parents`` and ``site`` when it is lowered. With ``table=state`` it also
  gets ``store``, ``sends_old`` and ``versioned`` from the ``TableState`` (``table``), and the
  table's store, if materialized, is added. ``adds`` are further stores to add, ``connects`` names
  of stores to connect, both after the node. Flags: ``changes_key``, ``changes_value``,
  ``is_merge``, ``follows_versions`` (reacts to a versioned parent), ``relaxes_null_keys`` (left
  joins), ``output_versioned`` (None: as the parents), ``grace_ms``.
* An operator that becomes several nodes subclasses ``LogicalNode`` and writes ``lower``.
* ``graph.add(node, *parents)`` hangs it below its parents, once per parent as in Java.
* ``graph.copartition(*sources)`` notes that these sources need equal partition counts.
* ``graph.note_generated(...)`` notes names that no user gave, for
  ``ensure.explicit.internal.resource.naming``.
* ``graph.faces.stream(handle)`` and ``graph.faces.table(handle)`` make the objects for users.

Streams and tables are handled inside the DSL as ``stream.Stream`` and ``table.Table``;
``dsl.operators.topics.repartition`` has ``repartition_for_join``, ``materialize`` makes store specs
of ``Materialized``, ``dsl.operators.arity`` finds out how to call a user's function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.dsl.options.naming import Names
from penstock.model.site import caller_site
from penstock.state.spec import StoreSpec
from penstock.topology.nodes import Node

if TYPE_CHECKING:
    from penstock.dsl.faces.kstream import KStream
    from penstock.dsl.faces.ktable import KTable
    from penstock.dsl.options.store_type import StoreType
    from penstock.dsl.plan.lowering import Lowering
    from penstock.dsl.plan.stream import Stream
    from penstock.dsl.plan.table import Table, TableState


@dataclass(slots=True, eq=False)
class PlannedStore:
    """A store of an operator. Operators share a store only if they share this object.

    If ``has_type`` is false, ``dsl.store.suppliers.class`` decides on its engine.
    If ``has_format`` is false, ``dsl.store.format`` decides whether it keeps headers.
    """

    spec: StoreSpec
    has_type: bool = True
    has_format: bool = False

    @property
    def name(self) -> str:
        return self.spec.name


class LogicalNode:
    """A step of the program. Parents and children are ordered. Steps are compared by identity.

    ``priority`` is the order of creation, which decides the order of lowering. ``follows`` are
    the parents whose output is versioned, for nodes that react to that.
    """

    changes_key = False
    changes_value = False
    is_merge = False
    follows_versions = False
    relaxes_null_keys = False
    output_versioned: bool | None = None
    #: The grace period, for nodes that define windows.
    grace_ms: int | None = None

    def __init__(self, name: str) -> None:
        self.name = name
        self.site = caller_site()
        self.priority = 0
        self.parents: dict[LogicalNode, None] = {}
        self.children: dict[LogicalNode, None] = {}
        self.versioned_parents: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @property
    def parent_names(self) -> tuple[str, ...]:
        return tuple(parent.name for parent in self.parents)

    def add_child(self, child: LogicalNode) -> None:
        self.children[child] = None
        child.parents[self] = None

    def remove_child(self, child: LogicalNode) -> None:
        self.children.pop(child, None)
        child.parents.pop(self, None)

    def lower(self, to: Lowering) -> None:
        """Add this step's nodes and stores to the topology; parents have been lowered before."""
        raise NotImplementedError


class Root(LogicalNode):
    """Parent of all sources; lowers to nothing."""

    def lower(self, to: Lowering) -> None:
        pass


class Operator(LogicalNode):
    """A step that becomes one node."""

    def __init__(
        self,
        name: str,
        make: Callable[..., Node],
        *,
        table: TableState | None = None,
        adds: Iterable[PlannedStore | StoreSpec] = (),
        connects: Iterable[str] = (),
        **flags: Any,
    ) -> None:
        super().__init__(name)
        self.make = make
        self.table = table
        self.adds = tuple(adds)
        self.connects = tuple(connects)
        for flag, value in flags.items():
            if not hasattr(LogicalNode, flag):
                raise TypeError(f"a logical node has no flag {flag!r}")
            setattr(self, flag, value)

    def lower(self, to: Lowering) -> None:
        fields = self._table_fields()
        node = self.make(name=self.name, parents=self.parent_names, site=self.site, **fields)
        to.graph.add_node(node)
        if self.table is not None and self.table.store is not None and self.table.is_materialized:
            to.add_store(self.table.store, self.name)
        for store in self.adds:
            to.add_store(store, self.name)
        if self.connects:
            to.graph.connect_stores(self.name, *self.connects)

    def _table_fields(self) -> dict[str, Any]:
        if self.table is None:
            return {}
        versioned = (
            bool(self.versioned_parents) if self.follows_versions else self.table.is_versioned
        )
        return {
            "store": self.table.store_name,
            "sends_old": self.table.sends_old,
            "versioned": versioned,
        }


class Faces(NamedTuple):
    """Makes objects for users from those inside the DSL. ``dsl.faces.builder`` provides it."""

    stream: Callable[[Stream], KStream[Any, Any]]
    table: Callable[[Table], KTable[Any, Any]]


@dataclass(frozen=True, slots=True)
class GeneratedNames:
    """Generated names of one operator's topics and store."""

    repartition_topic: str | None = None
    changelog_topic: str | None = None
    store: str | None = None


@dataclass(slots=True, eq=False)
class LogicalGraph:
    """All steps of a program, with what the optimizer needs to know about them.

    ``internal_topics`` are topics that are neither repartition nor changelog (foreign-key joins).
    ``default_store_type`` is None if it is not configured.
    """

    faces: Faces
    default_store_type: StoreType | None = None
    names: Names = field(default_factory=Names)
    root: LogicalNode = field(default_factory=lambda: Root("root"))
    nodes: list[LogicalNode] = field(default_factory=list)
    copartitioned: list[set[str]] = field(default_factory=list)
    #: The lines of the user's program for them, in the same order.
    copartition_sites: list[str | None] = field(default_factory=list)
    internal_topics: dict[str, int | None] = field(default_factory=dict)
    generated: list[GeneratedNames] = field(default_factory=list)
    next_priority: int = 0

    def add(self, node: LogicalNode, *parents: LogicalNode) -> None:
        """Add the node below its parents, or below the root."""
        for parent in parents or (self.root,):
            parent.add_child(node)
            node.priority = self.next_priority
            self.next_priority += 1
            self.nodes.append(node)

    def copartition(self, *sources: str) -> None:
        self.copartitioned.append(set(sources))
        self.copartition_sites.append(caller_site())

    def note_generated(
        self,
        *,
        repartition_topic: str | None = None,
        changelog_topic: str | None = None,
        store: str | None = None,
    ) -> None:
        self.generated.append(GeneratedNames(repartition_topic, changelog_topic, store))

    def copy(self) -> LogicalGraph:
        """Return a copy that can be optimized without changing the program."""
        copies: dict[LogicalNode, LogicalNode] = {
            node: copy(node) for node in (self.root, *self.nodes)
        }
        for node in copies.values():
            node.parents = _translated(node.parents, copies)
            node.children = _translated(node.children, copies)
        return LogicalGraph(
            faces=self.faces,
            default_store_type=self.default_store_type,
            names=copy(self.names),
            root=copies[self.root],
            nodes=[copies[node] for node in self.nodes],
            copartitioned=[set(group) for group in self.copartitioned],
            copartition_sites=list(self.copartition_sites),
            internal_topics=dict(self.internal_topics),
            generated=list(self.generated),
            next_priority=self.next_priority,
        )


def _translated(
    nodes: Mapping[LogicalNode, None], copies: Mapping[LogicalNode, LogicalNode]
) -> dict[LogicalNode, None]:
    return {copies[node]: None for node in nodes}
