"""The part of the configuration that a task needs, parsed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.model.processing_log import ProcessingLogSpec
from penstock.processor.functions import FailOnInvalidTimestamp, TimestampExtractor
from penstock.processor.handlers import (
    DefaultProductionExceptionHandler,
    ExceptionHandler,
    LogAndFailExceptionHandler,
    LogAndFailProcessingExceptionHandler,
)
from penstock.processor.wrapper import ProcessorWrapper
from penstock.serde.base import SerdeDefaults

#: A batch with fewer records than this is faster by record: making its columns takes longer.
FEW_RECORDS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSettings:
    """Settings that tasks share. A ``cache_max_bytes`` of 0 switches record caches off."""

    application_id: str
    defaults: SerdeDefaults = field(default_factory=SerdeDefaults)
    timestamp_extractor: TimestampExtractor = field(default_factory=FailOnInvalidTimestamp)
    on_deserialization: ExceptionHandler = field(default_factory=LogAndFailExceptionHandler)
    on_processing: ExceptionHandler = field(default_factory=LogAndFailProcessingExceptionHandler)
    #: Whether ``on_processing`` is also asked about the nodes of global stores.
    on_processing_global: bool = False
    on_production: ExceptionHandler = field(default_factory=DefaultProductionExceptionHandler)
    dead_letter_topic: str | None = None
    #: The log of records that were dropped or failed; ``None`` means that there is no such log.
    processing_log: ProcessingLogSpec | None = None
    cache_max_bytes: int = 10 * 1024 * 1024
    emit_interval_ms: int = 1_000
    state_dir: Path | None = None
    #: Batches of at least so many records run over columns if they can; ``None`` means never.
    vectorize_from: int | None = None
    #: Returns the seconds that a thread has used. With it, a task measures what batches cost over
    #: columns and by record, and takes the cheaper form. The records are the same in both.
    form_clock: Callable[[], float] | None = None
    #: Whether a fault in the column path is raised. Otherwise it is logged as a warning, and the
    #: batch runs record at a time.
    raises_column_errors: bool = False
    processor_wrapper: ProcessorWrapper | None = None
    #: The length of a sample of store latencies in seconds, and the number of samples kept.
    #: ``None`` means that latencies are not measured.
    store_samples: tuple[float, int] | None = None
    #: The length of a sample of a sensor in seconds, and the number of samples kept.
    samples: tuple[float, int] = (30.0, 2)
    #: Which sensors record: those of this level and the levels before it.
    recording_level: str = "INFO"
    configs: dict[str, Any] = field(default_factory=dict)

    def topic(self, name: str) -> str:
        """Return the real name of an internal topic."""
        return f"{self.application_id}-{name}"

    def changelog_topic(self, store: str) -> str:
        return f"{self.application_id}-{store}-changelog"
