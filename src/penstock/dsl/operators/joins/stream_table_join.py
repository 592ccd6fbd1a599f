"""Joins a stream with a table. As data: ``penstock.topology.nodes.joins.stream_table_join``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from penstock.dsl.operators.arity import number_of_arguments
from penstock.dsl.operators.expression_fields import check_fields
from penstock.dsl.operators.result_types import serde_of_result
from penstock.dsl.operators.topics.repartition import repartition_for_join
from penstock.dsl.options.join_options import Joined
from penstock.dsl.plan.logical import Operator, PlannedStore
from penstock.dsl.plan.stream import Stream, copartition
from penstock.dsl.plan.table import Table
from penstock.errors import InvalidArgumentError
from penstock.model.site import caller_site
from penstock.serde.serdes import resolve_serde
from penstock.state.spec import StoreKind, StoreSpec
from penstock.topology.nodes import StreamTableJoin

if TYPE_CHECKING:
    from penstock.dsl.plan.lowering import Lowering


class GraceJoinOperator(Operator):
    """A join with a grace period. The history of the table's store must be at least as long."""

    def __init__(self, name: str, make: Callable[..., Any], *, wait_ms: int, **more: Any) -> None:
        super().__init__(name, make, **more)
        self.wait_ms = wait_ms

    def lower(self, to: Lowering) -> None:
        super().lower(to)
        for store in self.connects:
            spec = to.graph.stores[store]
            if spec.kind is not StoreKind.VERSIONED_KEY_VALUE:
                raise _not_versioned(store, self.wait_ms, self.site)
            if self.wait_ms > spec.history_retention_ms:
                raise InvalidArgumentError(
                    "history-shorter-than-grace",
                    f"store {store!r} keeps a history of {spec.history_retention_ms} ms, the grace"
                    f" period of join {self.name!r} is {self.wait_ms} ms",
                    fix=f"give {store!r} a history retention of {self.wait_ms} ms or more",
                    at=self.site,
                )


def join_stream_with_table(
    stream: Stream,
    table: Table,
    joiner: Callable[..., Any],
    options: Joined[Any, Any, Any],
    *,
    is_left: bool,
) -> Stream:
    """Add a join, after a repartition if the stream's key has changed."""
    operator = "left_join" if is_left else "join"
    shapes = ("left", "right"), ("key", "left", "right")
    with_key = number_of_arguments(operator, "joiner", joiner, *shapes) == 3
    check_fields(operator, joiner, stream.value_serde, table.value_serde)
    key_serde, value_serde = resolve_serde(options.key), resolve_serde(options.value)
    stream = repartition_for_join(stream, options.name, key_serde, value_serde)
    key_serde, value_serde = key_serde or stream.key_serde, value_serde or stream.value_serde
    sources, result = copartition(stream, [table]), serde_of_result(joiner)
    prefix = "KSTREAM-LEFTJOIN-" if is_left else "KSTREAM-JOIN-"
    name = stream.graph.names.given_or_new(options.name, prefix)
    fields: dict[str, Any] = {
        "table": table.name, "joiner": joiner, "with_key": with_key, "is_left": is_left,
    }  # fmt: skip
    if options.grace_ms is None:
        node = Operator(
            name,
            partial(StreamTableJoin, **fields),
            connects=table.state.reading_stores(),
            relaxes_null_keys=is_left,
        )
        return stream.then(node, sources=sources, key_serde=key_serde, value_serde=result)
    if table.output_versioned is False:
        raise _not_versioned(table.name, options.grace_ms, caller_site())
    buffer = _buffer(stream, name, options, key_serde, value_serde)
    node = GraceJoinOperator(
        name,
        partial(StreamTableJoin, **fields, grace_ms=options.grace_ms, buffer=buffer.name),
        wait_ms=options.grace_ms,
        adds=[PlannedStore(buffer)],
        connects=table.state.reading_stores(),
        relaxes_null_keys=is_left,
    )
    return stream.then(node, sources=sources, key_serde=key_serde, value_serde=result)


def _buffer(
    stream: Stream, name: str, options: Joined[Any, Any, Any], key_serde: Any, value_serde: Any
) -> StoreSpec:
    buffer = f"{name}-Buffer"
    if options.name is None:
        stream.graph.note_generated(store=buffer, changelog_topic=f"{buffer}-changelog")
    return StoreSpec(
        name=buffer,
        kind=StoreKind.TIME_ORDERED_BUFFER,
        key_serde=key_serde,
        value_serde=value_serde,
        retention_ms=options.grace_ms or 0,
    )


def _not_versioned(table: str, grace_ms: int, at: str | None) -> InvalidArgumentError:
    return InvalidArgumentError(
        "grace-needs-versioned-table",
        f"a join with a grace period of {grace_ms} ms needs a versioned table, {table!r} is not",
        fix="materialize the table in a versioned store, or leave the grace period out",
        at=at,
    )
