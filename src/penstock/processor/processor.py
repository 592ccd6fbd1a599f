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

    It is never called by two threads at once. ``self.context`` is set before ``init`` is called,
    so a subclass that overrides ``init`` need not call it.
    """

    context: ProcessorContext[KOut, VOut]

    def init(self, context: ProcessorContext[KOut, VOut]) -> None:
        """Look up state stores and schedule punctuations."""

    def process(self, record: Record[KIn, VIn]) -> None:
        """Handle one record."""
        raise NotImplementedError

    def close(self) -> None:
        """Release what ``init`` has acquired. The runtime closes the stores."""


class FixedKeyProcessor(Generic[KIn, VIn, VOut]):
    """A processor that cannot change keys, so that no repartition is needed after it."""

    context: FixedKeyProcessorContext[KIn, VOut]

    def init(self, context: FixedKeyProcessorContext[KIn, VOut]) -> None:
        """Look up state stores and schedule punctuations."""

    def process(self, record: FixedKeyRecord[KIn, VIn]) -> None:
        """Handle one record, whose key stays."""
        raise NotImplementedError

    def close(self) -> None:
        """Release what ``init`` has acquired. The runtime closes the stores."""


class ValueTransformer:
    """Transforms values of a table, with state: the argument of ``KTable.transform_values``."""

    context: ProcessorContext[Any, Any]

    def init(self, context: ProcessorContext[Any, Any]) -> None:
        """Look up state stores."""

    def transform(self, key: Any, value: Any) -> Any:
        """Return the new value of a row."""
        raise NotImplementedError

    def close(self) -> None:
        """Release what ``init`` has acquired."""
