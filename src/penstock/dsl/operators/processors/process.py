"""Runs user-written processors. As data: ``penstock.topology.nodes.processors.process``."""

from __future__ import annotations

from functools import partial
from typing import Any

from penstock.dsl.options.naming import check_name
from penstock.dsl.options.stream_options import not_none
from penstock.dsl.plan.logical import Operator
from penstock.dsl.plan.stream import Stream
from penstock.model.site import caller_site
from penstock.processor.supplier import as_supplier, supplier_stores
from penstock.topology.nodes import Process


def process_stream(
    stream: Stream, supplier: Any, stores: tuple[str, ...], name: str | None
) -> Stream:
    """Add a processor. It may change keys and values, so no serde is known after it."""
    node = _processor(stream, supplier, stores, name, fixed_key=False)
    return stream.then(node, key_serde=None, value_serde=None, key_changed=True)


def process_stream_values(
    stream: Stream, supplier: Any, stores: tuple[str, ...], name: str | None
) -> Stream:
    """Add a processor that cannot change keys, so equal keys stay in one partition."""
    node = _processor(stream, supplier, stores, name, fixed_key=True)
    return stream.then(node, value_serde=None)


def _processor(
    stream: Stream, supplier: Any, stores: tuple[str, ...], name: str | None, *, fixed_key: bool
) -> Operator:
    for store in stores:
        not_none(store, "the name of a state store")
    # As in Java, a name that is given takes no number here, unlike in other operators.
    if name is None:
        prefix = "KSTREAM-PROCESSVALUES-" if fixed_key else "KSTREAM-PROCESSOR-"
        name = stream.graph.names.new_processor_name(prefix)
    make = partial(Process, supplier=as_supplier(supplier, caller_site()), fixed_key=fixed_key)
    return Operator(check_name(name), make, adds=supplier_stores(supplier), connects=stores)
