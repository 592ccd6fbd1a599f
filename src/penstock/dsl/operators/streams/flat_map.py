"""Turns a record into any number of records. Node: ``nodes.streams.flat_map``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from penstock.dsl.operators.arity import check_arity
from penstock.dsl.operators.expression_fields import check_fields
from penstock.dsl.operators.result_types import serdes_of_pairs
from penstock.dsl.plan.logical import Operator
from penstock.dsl.plan.stream import Stream
from penstock.topology.nodes import FlatMap


def flat_map_stream(
    stream: Stream, fn: Callable[[Any, Any], Iterable[tuple[Any, Any]]], name: str | None
) -> Stream:
    """Add the operator. An annotation may say the serdes; equal keys may be in different tasks."""
    check_arity("flat_map", "mapper", fn, "key", "value")
    check_fields("flat_map", fn, stream.key_serde, stream.value_serde)
    name = stream.graph.names.given_or_new(name, "KSTREAM-FLATMAP-")
    node = Operator(name, partial(FlatMap, fn=fn), changes_key=True)
    key, value = serdes_of_pairs(fn)
    return stream.then(node, key_serde=key, value_serde=value, key_changed=True)
