"""Replaces the key of records. As data: ``penstock.topology.nodes.streams.select_key``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from penstock.dsl.operators.expression_fields import check_fields
from penstock.dsl.operators.result_types import serde_of_result
from penstock.dsl.operators.returns import check_function
from penstock.dsl.operators.topics.repartition import repartition
from penstock.dsl.options.naming import Named, name_of
from penstock.dsl.options.stream_options import Repartitioned
from penstock.dsl.plan.logical import Operator
from penstock.dsl.plan.stream import Stream
from penstock.topology.nodes import SelectKey


def select_stream_key(stream: Stream, fn: Callable[[Any, Any], Any], name: str | None) -> Stream:
    """Replace the key. Equal keys may now be in different tasks, until a repartition."""
    node = key_selection(stream, "select_key", fn, name)
    return stream.then(node, key_serde=serde_of_result(fn), key_changed=True)


def select_stream_key_with(
    stream: Stream,
    fn: Callable[[Any, Any], Any],
    name: str | Named | Repartitioned[Any, Any] | None,
) -> Stream:
    """Replace the key; with ``Repartitioned``, repartition the stream at once."""
    if not isinstance(name, Repartitioned):
        return select_stream_key(stream, fn, name_of(name))
    return repartition(select_stream_key(stream, fn, None), name)


def key_selection(
    stream: Stream, operator: str, fn: Callable[[Any, Any], Any], name: str | None
) -> Operator:
    """Return the step that changes the key, which is also the first step of ``group_by``."""
    check_function(operator, "key selector", fn, "key", "value")
    check_fields(operator, fn, stream.key_serde, stream.value_serde)
    name = stream.graph.names.given_or_new(name, "KSTREAM-KEY-SELECT-")
    return Operator(name, partial(SelectKey, fn=fn), changes_key=True)
