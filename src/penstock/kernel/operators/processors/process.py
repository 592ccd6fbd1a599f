"""Runs user-written processors. Node: ``topology.nodes.processors.process``."""

from __future__ import annotations

from typing import Any

from penstock.errors import StreamsError
from penstock.kernel.context import ForwardingContext
from penstock.kernel.executor import Executor, executes
from penstock.model.record import FixedKeyRecord, Headers, Record
from penstock.processor.processor import FixedKeyProcessor, Processor
from penstock.processor.supplier import Supplier
from penstock.topology.nodes.processors.process import Process

_MISSING = (None, Processor.process, FixedKeyProcessor.process)


@executes(Process)
class ProcessExecutor(Executor[Process]):
    """Runs one processor for the life of the task: ``init``, ``process`` per record, ``close``.

    The processor forwards through its context, in its own order and as often as it wants.
    """

    _processor: Any = None
    #: What makes the processor, if it is not the node's own supplier.
    supplier: Supplier | None = None
    #: What the processor forwards through.
    outlet: ForwardingContext

    def init(self) -> None:
        record_type: type[Any] = FixedKeyRecord if self.node.fixed_key else Record
        processor = self._make()
        context = self.outlet = ForwardingContext(self, record_type)
        if isinstance(processor, Processor | FixedKeyProcessor):
            # Set before ``init()``, so that a processor that overrides ``init`` need not call it.
            processor.context = context
        if hasattr(processor, "init"):
            processor.init(context)
        self._processor, process = processor, processor.process

        def process_record(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
            process(record_type(key, value, timestamp, headers))

        self.process = process_record  # type: ignore[method-assign]

    def close(self) -> None:
        if hasattr(self._processor, "close"):
            self._processor.close()

    def _make(self) -> Any:
        processor = (self.supplier or self.node.supplier)()
        process = getattr(type(processor), "process", None)
        if process in _MISSING:
            what = "None" if processor is None else f"an instance of {type(processor).__name__}"
            raise StreamsError(
                "bad-processor",
                f"the supplier of {self.node.name!r} returned {what}, which has no process()",
                fix="return a new Processor each time, whose class has process(self, record)",
                at=self.node.site,
            )
        return processor
