"""Joins two streams within a window of time. As data: ``topology.nodes.joins.stream_join``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from penstock.dsl.operators.arity import number_of_arguments
from penstock.dsl.operators.expression_fields import check_fields
from penstock.dsl.operators.joins.stream_join_stores import JoinStores, join_stores
from penstock.dsl.operators.result_types import serde_of_result
from penstock.dsl.operators.topics.repartition import repartition_for_join
from penstock.dsl.options.join_options import StreamJoined
from penstock.dsl.options.naming import Names
from penstock.dsl.options.stream_options import not_none
from penstock.dsl.plan.logical import LogicalNode, Operator, PlannedStore
from penstock.dsl.plan.stream import Stream, copartition
from penstock.model.windows.definitions import JoinWindows
from penstock.serde.inferred import inferred
from penstock.serde.serdes import resolve_serde
from penstock.topology.nodes import (
    JoinKind,
    PassThrough,
    StreamJoin,
    StreamJoinWindow,
    StreamSelfJoin,
)

if TYPE_CHECKING:
    from penstock.dsl.plan.lowering import Lowering


@dataclass(frozen=True, slots=True)
class JoinNames:
    """The names of the nodes of a join. The two ``generated`` ones also name stores."""

    left_window: str
    right_window: str
    generated_left: str
    generated_right: str
    left: str
    right: str
    merge: str


@dataclass(frozen=True, slots=True)
class Join:
    """What the two arms of a join share."""

    kind: JoinKind
    joiner: Callable[..., Any]
    with_key: bool
    windows: JoinWindows


class WindowStep(Operator):
    """Keeps the records of one side. A self-join needs only the left one."""

    def __init__(self, name: str, store: PlannedStore) -> None:
        super().__init__(name, partial(StreamJoinWindow, store=store.name), adds=[store])


class StreamJoinStep(LogicalNode):
    """Becomes the two arms of a join and the node that merges them, whose name it has.

    The optimization ``single.store.self.join`` sets ``is_self_join`` if both parents are one
    stream, and removes the ``WindowStep`` ``names.right_window`` from the children of the stream.
    """

    def __init__(self, names: JoinNames, join: Join, stores: JoinStores) -> None:
        super().__init__(names.merge)
        self.names = names
        self.join = join
        self.stores = stores
        self.is_self_join = False
        self.relaxes_null_keys = join.kind is not JoinKind.INNER

    def lower(self, to: Lowering) -> None:
        if self.is_self_join:
            self._lower_self_join(to)
            return
        names, stores = self.names, self.stores
        left, right = self._arm(is_left=True), self._arm(is_left=False)
        for arm, other in (left, stores.right), (right, stores.left):
            to.graph.add_node(arm)
            to.add_store(other, arm.name)
            if stores.outer is not None:
                to.add_store(stores.outer, arm.name)
        arms = (names.left, names.right)
        to.graph.add_node(PassThrough(name=names.merge, parents=arms, site=self.site))

    def _arm(self, *, is_left: bool) -> StreamJoin:
        names, stores, join = self.names, self.stores, self.join
        outer = join.kind is JoinKind.OUTER or (is_left and join.kind is JoinKind.LEFT)
        return StreamJoin(
            name=names.left if is_left else names.right,
            parents=(names.left_window if is_left else names.right_window,),
            site=self.site,
            is_left=is_left,
            other_store=stores.right.name if is_left else stores.left.name,
            windows=join.windows,
            joiner=join.joiner,
            with_key=join.with_key,
            outer=outer,
            outer_store=None if stores.outer is None else stores.outer.name,
            clock=names.merge,
        )

    def _lower_self_join(self, to: Lowering) -> None:
        to.graph.add_node(
            StreamSelfJoin(
                name=self.name,
                parents=(self.names.left_window,),
                site=self.site,
                store=self.stores.left.name,
                windows=self.join.windows,
                joiner=self.join.joiner,
                with_key=self.join.with_key,
            )
        )
        to.add_store(self.stores.left, self.name)


def join_streams(
    left: Stream,
    right: Stream,
    kind: JoinKind,
    joiner: Callable[..., Any],
    windows: JoinWindows,
    options: StreamJoined[Any, Any, Any],
) -> Stream:
    """Add a join, after a repartition of each side whose key has changed."""
    operator = "join" if kind is JoinKind.INNER else f"{kind.value}_join"
    shapes = ("left", "right"), ("key", "left", "right")
    with_key = number_of_arguments(operator, "joiner", joiner, *shapes) == 3
    check_fields(operator, joiner, left.value_serde, right.value_serde)
    not_none(windows, f"{operator}: windows")
    left, right = _repartitioned(left, right, options)
    sources = copartition(left, [right])
    graph = left.graph
    names = _names(graph.names, kind, options.name)
    options = _with_stream_serdes(options, left, right)
    stores = join_stores(graph, kind, windows, options, names.generated_left, names.generated_right)
    graph.add(WindowStep(names.left_window, stores.left), left.node)
    graph.add(WindowStep(names.right_window, stores.right), right.node)
    if options.store_name is None:
        stores.note_generated(graph)
    node = StreamJoinStep(names, Join(kind, joiner, with_key, windows), stores)
    graph.add(node, left.node, right.node)
    return Stream(
        name=node.name,
        node=node,
        graph=graph,
        sources=sources,
        # No key serde is inherited: those of the two sides may differ.
        key_serde=resolve_serde(options.key),
        value_serde=serde_of_result(joiner),
    )


def _with_stream_serdes(
    options: StreamJoined[Any, Any, Any], left: Stream, right: Stream
) -> StreamJoined[Any, Any, Any]:
    """Return options in which serdes of stores that are not given are inferred from the streams.

    Java has the configured defaults for them, which win here, too, if they are set.
    """
    return replace(
        options,
        key=options.key or inferred(left.key_serde or right.key_serde),
        value=options.value or inferred(left.value_serde),
        other_value=options.other_value or inferred(right.value_serde),
    )


def _repartitioned(
    left: Stream, right: Stream, options: StreamJoined[Any, Any, Any]
) -> tuple[Stream, Stream]:
    name, key_serde = options.name, resolve_serde(options.key)
    left_name, right_name = (None, None) if name is None else (f"{name}-left", f"{name}-right")
    left = repartition_for_join(left, left_name, key_serde, resolve_serde(options.value))
    other_serde = resolve_serde(options.other_value)
    return left, repartition_for_join(right, right_name, key_serde, other_serde)


def _names(names: Names, kind: JoinKind, given: str | None) -> JoinNames:
    this = ("-outer-this-join", "KSTREAM-OUTERTHIS-") if kind is JoinKind.OUTER else (
        "-this-join", "KSTREAM-JOINTHIS-"
    )  # fmt: skip
    other = ("-other-join", "KSTREAM-JOINOTHER-") if kind is JoinKind.INNER else (
        "-outer-other-join", "KSTREAM-OUTEROTHER-"
    )  # fmt: skip
    left_window = names.suffixed_or_new(given, "-this-windowed", "KSTREAM-WINDOWED-")
    right_window = names.suffixed_or_new(given, "-other-windowed", "KSTREAM-WINDOWED-")
    left, right = names.new_processor_name(this[1]), names.new_processor_name(other[1])
    return JoinNames(
        left_window,
        right_window,
        left,
        right,
        left if given is None else given + this[0],
        right if given is None else given + other[0],
        names.suffixed_or_new(given, "-merge", "KSTREAM-MERGE-"),
    )
