"""Replaces key and value of records. As data: ``penstock.topology.nodes.streams.map``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from penstock.dsl.operators.arity import check_arity
from penstock.dsl.operators.expression_fields import check_fields
from penstock.dsl.operators.result_types import serdes_of_pair
from penstock.dsl.plan.logical import Operator
from penstock.dsl.plan.stream import Stream
from penstock.processor.batch_function import batch_pairs
from penstock.topology.nodes import Map


def map_stream(
    stream: Stream,
    fn: Callable[[Any, Any], tuple[Any, Any]],
    name: str | None,
    *,
    batch: bool = False,
) -> Stream:
    """Add the operator. An annotation may say the serdes; equal keys may be in different tasks."""
    check_arity("map", "mapper", fn, "key", "value")
    check_fields("map", fn, stream.key_serde, stream.value_serde)
    key, value = (None, None) if batch else serdes_of_pair(fn)
    if batch:
        fn = batch_pairs("map", fn)
    name = stream.graph.names.given_or_new(name, "KSTREAM-MAP-")
    node = Operator(name, partial(Map, fn=fn), changes_key=True)
    return stream.then(node, key_serde=key, value_serde=value, key_changed=True)
