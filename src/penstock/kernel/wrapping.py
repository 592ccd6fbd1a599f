"""Puts the user's ``ProcessorWrapper`` around every node. See ``penstock.processor.wrapper``."""

from __future__ import annotations

from typing import Any

from penstock.errors import StreamsError
from penstock.kernel.context import ForwardingContext
from penstock.kernel.executor import Executor, Forward
from penstock.kernel.operators.processors.process import ProcessExecutor
from penstock.model.record import Headers, Record
from penstock.processor.processor import FixedKeyProcessor, Processor
from penstock.processor.supplier import Supplier
from penstock.processor.wrapper import ProcessorWrapper
from penstock.topology.nodes.node import Node


def wrap(executor: Executor[Any], wrapper: ProcessorWrapper) -> None:
    """Let the executor run the processor that the wrapper returns for its node.

    A user's processor is replaced by the wrapped one. Any other executor is given to the wrapper as
    a processor. Its ``init``, ``process`` and ``close`` are then called through what the wrapper
    returns.
    """
    node = executor.node
    if isinstance(executor, ProcessExecutor):
        wrap_supplier = wrapper.wrap_processor_supplier
        if executor.node.fixed_key:
            wrap_supplier = wrapper.wrap_fixed_key_processor_supplier
        own = executor.node.supplier
        executor.supplier = _checked(node, wrap_supplier(node.name, lambda: _keeping(own())))
        return
    own_init = executor.init

    def init() -> None:
        context = ForwardingContext(executor, Record)
        inner = _NodeProcessor(executor, own_init, context)
        processor = _checked(node, wrapper.wrap_processor_supplier(node.name, lambda: inner))()
        if isinstance(processor, Processor):
            processor.context = context
        processor.init(context)
        # Set last, because the executor's own ``init`` may have chosen a faster ``process``.
        _enter_through(executor, processor)

    executor.init = init  # type: ignore[method-assign]


def _enter_through(executor: Executor[Any], processor: Any) -> None:
    process_record = processor.process

    def process(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        process_record(Record(key, value, timestamp, headers))

    executor.process, executor.close = process, processor.close  # type: ignore[method-assign]


def _keeping(processor: Any) -> Any:
    """Let a user's processor keep the context that the wrapper passes to its ``init``.

    The task sets ``processor.context`` itself, but only for the outermost processor.
    """
    if isinstance(processor, Processor | FixedKeyProcessor):
        own_init = processor.init

        def init(context: Any) -> None:
            processor.context = context
            own_init(context)

        processor.init = init  # type: ignore[method-assign]
    return processor


class _NodeProcessor(Processor[Any, Any, Any, Any]):
    """A node of the DSL as the processor that a wrapper receives."""

    def __init__(self, executor: Executor[Any], init: Any, context: ForwardingContext) -> None:
        self._executor = executor
        self._init = init
        self._own_close = executor.close
        self._own_context = context

    def init(self, context: Any) -> None:
        executor = self._executor
        if context is not self._own_context:
            # The wrapper has to see what is forwarded.
            executor.forward = _forward_to(context, None)
            executor.child = lambda name: _forward_to(context, name)  # type: ignore[method-assign]
        self._init()
        self._process = executor.process

    def process(self, record: Record[Any, Any]) -> None:
        self._process(record.key, record.value, record.timestamp, record.headers)

    def close(self) -> None:
        self._own_close()


def _forward_to(context: Any, child: str | None) -> Forward:
    forward_record = context.forward

    def forward(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        record = Record(key, value, timestamp, headers)
        if child is None:
            forward_record(record)
        else:
            forward_record(record, child)

    return forward


def _checked(node: Node, supplier: Any) -> Supplier:
    if not callable(supplier):
        raise StreamsError(
            "bad-processor-wrapper",
            f"processor.wrapper.class returned {supplier!r} for node {node.name!r}",
            fix="return a function that makes a processor: processor_supplier itself, or a lambda",
            at=node.site,
        )
    checked: Supplier = supplier
    return checked
