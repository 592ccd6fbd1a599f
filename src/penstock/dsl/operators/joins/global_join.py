"""Joins a stream with a global table. As data: ``penstock.topology.nodes.joins.global_join``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from penstock.dsl.operators.arity import check_arity, number_of_arguments
from penstock.dsl.operators.expression_fields import check_fields
from penstock.dsl.operators.result_types import serde_of_result
from penstock.dsl.plan.logical import Operator
from penstock.dsl.plan.stream import Stream
from penstock.dsl.plan.table import GlobalTable
from penstock.topology.nodes import GlobalJoin


def join_stream_with_global_table(
    stream: Stream,
    table: GlobalTable,
    key_selector: Callable[[Any, Any], Any],
    joiner: Callable[..., Any],
    name: str | None,
    *,
    is_left: bool,
) -> Stream:
    """Add a join. It needs no repartition, and does not change whether one is needed later."""
    operator = "left_join" if is_left else "join"
    check_arity(operator, "key", key_selector, "key", "value")
    check_fields(operator, key_selector, stream.key_serde, stream.value_serde)
    shapes = ("left", "right"), ("key", "left", "right")
    with_key = number_of_arguments(operator, "joiner", joiner, *shapes) == 3
    check_fields(operator, joiner, stream.value_serde, table.value_serde)
    node = Operator(
        # Java uses this name for inner joins, too.
        stream.graph.names.given_or_new(name, "KSTREAM-LEFTJOIN-"),
        partial(
            GlobalJoin,
            store=table.store_name,
            key_selector=key_selector,
            joiner=joiner,
            with_key=with_key,
            is_left=is_left,
        ),
        relaxes_null_keys=is_left,
    )
    return stream.then(node, value_serde=serde_of_result(joiner))
