"""The operations of the Processor API, called on a topology."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import penstock as ps
from tests.oracle import options
from tests.oracle.extractors import TopicExtractor
from tests.oracle.functions import UnknownSpecError
from tests.oracle.options import Op
from tests.oracle.processors import Supplier, SupplierWithStores


def supplier_stores(op: Op) -> list[Any]:
    """Gives the store objects that the operation's supplier brings."""
    stores: list[Any] = op.get("supplier_stores", [])
    return stores


def supplier(op: Op, kinds: Mapping[str, str], *, fixed_key: bool = False) -> Supplier:
    """Gives the processor supplier of an operation, with the stores that it brings."""
    builders = [options.store_builder(store) for store in supplier_stores(op)]
    if builders:
        return SupplierWithStores(op["processor"], kinds, builders, fixed_key=fixed_key)
    return Supplier(op["processor"], kinds, fixed_key=fixed_key)


class ProcessorApi:
    """Calls a topology's methods, named as the operations are."""

    def __init__(self, topology: ps.Topology, kinds: Mapping[str, str]) -> None:
        self._topology = topology
        self._kinds = kinds

    def call(self, op: Op) -> None:
        """Runs one operation."""
        method = getattr(self, op["op"], None)
        if method is None:
            raise UnknownSpecError(f"unknown operation {op['op']!r}")
        method(op)

    def add_source(self, op: Op) -> None:
        wanted = options.topics(op)
        names = [wanted] if isinstance(wanted, str | re.Pattern) else wanted
        self._topology.add_source(op["name"], *names, **_source_options(op))

    def add_processor(self, op: Op) -> None:
        made = supplier(op, self._kinds)
        self._topology.add_processor(op["name"], made, *op["parents"])

    def add_state_store(self, op: Op) -> None:
        store = options.store_builder(op["store"])
        self._topology.add_state_store(store, *op.get("processors", []))

    def add_sink(self, op: Op) -> None:
        topic = TopicExtractor(op["topic_extractor"]) if "topic_extractor" in op else op["topic"]
        self._topology.add_sink(op["name"], topic, *op["parents"], **options.serdes(op))

    def add_global_store(self, op: Op) -> None:
        self._topology.add_global_store(
            options.store_builder(op["store"]),
            source_name=op["source_name"],
            topic=op["topic"],
            processor_name=op["name"],
            processor=supplier(op, self._kinds),
            **_source_options(op),
        )

    def connect(self, op: Op) -> None:
        self._topology.connect_processor_and_state_stores(op["processor"], *op["stores"])


def _source_options(op: Op) -> dict[str, Any]:
    extract = options.extractor(op)
    more = {} if extract is None else {"timestamp_extractor": extract}
    if "offset_reset" in op:
        more["offset_reset"] = op["offset_reset"]
    return {**options.serdes(op), **more}
