"""What a processor can do while it runs. The implementation: ``penstock.kernel.context``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from penstock.model.record import FixedKeyRecord, Record, RecordMetadata
from penstock.model.task_id import TaskId
from penstock.model.time.duration import Duration
from penstock.model.time.instant import Instant
from penstock.processor.metrics import StreamsMetrics

K = TypeVar("K")
V = TypeVar("V")

Punctuator = Callable[[int], None]


class PunctuationType(Enum):
    """The clock a punctuation follows: the records' timestamps, or the system's."""

    STREAM_TIME = "stream_time"
    WALL_CLOCK_TIME = "wall_clock_time"


class Cancellable(Protocol):
    """A scheduled punctuation."""

    def cancel(self) -> None: ...


class ProcessingContext(Protocol):
    """What every kind of processor can see and ask for."""

    @property
    def application_id(self) -> str: ...
    @property
    def task_id(self) -> TaskId: ...
    @property
    def record_metadata(self) -> RecordMetadata | None: ...
    @property
    def state_dir(self) -> Path | None: ...

    def get_state_store(self, name: str) -> Any: ...
    def schedule(
        self,
        interval: Duration,
        kind: PunctuationType,
        callback: Punctuator,
        start_time: Instant | None = None,
    ) -> Cancellable: ...
    def metrics(self) -> StreamsMetrics: ...
    def commit(self) -> None: ...
    def current_stream_time_ms(self) -> int: ...
    def current_system_time_ms(self) -> int: ...
    def app_configs(self) -> Mapping[str, Any]: ...
    def app_configs_with_prefix(self, prefix: str) -> Mapping[str, Any]: ...


class ProcessorContext(ProcessingContext, Protocol, Generic[K, V]):
    """The context of a processor that may forward any key."""

    def forward(self, record: Record[K, V], child: str | None = None) -> None:
        """Hand a record to all children, or to the one that is named."""


class FixedKeyProcessorContext(ProcessingContext, Protocol, Generic[K, V]):
    """The context of a processor that keeps its records' keys."""

    def forward(self, record: FixedKeyRecord[K, V], child: str | None = None) -> None:
        """Hand a record with its key to all children, or to the one that is named."""
