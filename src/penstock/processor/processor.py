"""Processors: user code with a life cycle, state stores and punctuation."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from penstock.model.record import FixedKeyRecord, Record
from penstock.processor.context import FixedKeyProcessorContext, ProcessorContext

KIn = TypeVar("KIn")
VIn = TypeVar("VIn")
KOut = TypeVar("KOut")
VOut = TypeVar("VOut")


class Processor(Generic[KIn, VIn, KOut, VOut]):
    """One instance per task: ``init`` once, ``process`` per record, ``close`` at the end.

    Never called by two threads at once. ``init`` keeps the context in ``self.context``; a
    subclass that overrides it need not call it, the context is set before.
    """

    context: ProcessorContext[KOut, VOut]

    def init(self, context: ProcessorContext[KOut, VOut]) -> None:
        """Looks up state stores and schedules punctuations."""

    def process(self, record: Record[KIn, VIn]) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Releases what ``init`` acquired; stores are closed by the runtime."""


class FixedKeyProcessor(Generic[KIn, VIn, VOut]):
    """A processor that cannot change keys, so that no repartition is needed after it."""

    context: FixedKeyProcessorContext[KIn, VOut]

    def init(self, context: FixedKeyProcessorContext[KIn, VOut]) -> None:
        """Looks up state stores and schedules punctuations."""

    def process(self, record: FixedKeyRecord[KIn, VIn]) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Releases what ``init`` acquired; stores are closed by the runtime."""


class ValueTransformer:
    """Turns a table's values, with state: what ``KTable.transform_values`` is given."""

    context: ProcessorContext[Any, Any]

    def init(self, context: ProcessorContext[Any, Any]) -> None:
        """Looks up state stores."""

    def transform(self, key: Any, value: Any) -> Any:
        raise NotImplementedError

    def close(self) -> None:
        """Releases what ``init`` acquired."""
