"""The base class for ``processor.wrapper.class``, which wraps every processor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.processor.supplier import Supplier


class ProcessorWrapper:
    """Wraps the processors of a topology, those of DSL operators included.

    The setting ``processor.wrapper.class`` names a subclass, or is an instance of one. Each method
    is called once per node and task, with the node's name and a supplier: a function without
    arguments that makes the processor. It returns the supplier to use instead, usually one whose
    processor calls the original. Sources and sinks are not processors.

    A processor of a DSL operator is only known by ``init``, ``process`` and ``close``. Those of
    tables receive and forward ``Change`` values.

    Example:
        >>> from penstock import Processor
        >>> class Counting(Processor):
        ...     def __init__(self, name, inner):
        ...         self.name, self.inner = name, inner
        ...     def init(self, context):
        ...         self.inner.init(context)
        ...     def process(self, record):
        ...         seen.append(self.name)
        ...         self.inner.process(record)
        ...     def close(self):
        ...         self.inner.close()
        >>> class CountingWrapper(ProcessorWrapper):
        ...     def wrap_processor_supplier(self, processor_name, processor_supplier):
        ...         return lambda: Counting(processor_name, processor_supplier())
        >>> from penstock import StreamsBuilder, TopologyTestDriver
        >>> seen, builder = [], StreamsBuilder()
        >>> builder.stream("in").filter(lambda key, value: True).map_values(str.upper).to("out")
        >>> config = {"processor.wrapper.class": CountingWrapper}
        >>> with TopologyTestDriver(builder.build(), config) as driver:
        ...     driver.pipe("in", "hello")
        >>> seen
        ['KSTREAM-FILTER-0000000001', 'KSTREAM-MAPVALUES-0000000002']
    """

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Receive the settings of the application, before any processor is wrapped."""

    def wrap_processor_supplier(
        self, processor_name: str, processor_supplier: Supplier
    ) -> Supplier:
        """Return the supplier to use for a processor: here, the given one."""
        return processor_supplier

    def wrap_fixed_key_processor_supplier(
        self, processor_name: str, processor_supplier: Supplier
    ) -> Supplier:
        """Return the supplier to use for a processor of ``process_values``."""
        return processor_supplier
