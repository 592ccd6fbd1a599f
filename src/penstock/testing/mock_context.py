"""A context that records the calls of a processor, for tests of one processor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.config import METRICS_NUM_SAMPLES, METRICS_RECORDING_LEVEL, METRICS_SAMPLE_WINDOW_MS
from penstock.errors import InvalidArgumentError, InvalidStateError, UnknownStoreError
from penstock.kernel.observing.sensors import TaskSensors
from penstock.model.record import FixedKeyRecord, Record, RecordContext, RecordMetadata
from penstock.model.site import caller_site
from penstock.model.task_id import TaskId
from penstock.model.time.duration import Duration, to_ms
from penstock.model.time.instant import Instant, to_epoch_ms
from penstock.processor.context import PunctuationType, Punctuator
from penstock.processor.metrics import StreamsMetrics
from penstock.serde.base import SerdeDefaults
from penstock.state.engine.memory import MemoryStore
from penstock.state.environment import StoreEnvironment
from penstock.state.open import open_store
from penstock.state.spec import StoreSpec


@dataclass(frozen=True, slots=True)
class CapturedForward:
    """A forwarded record and its child; None means all children."""

    record: Record[Any, Any] | FixedKeyRecord[Any, Any]
    child: str | None = None


@dataclass(slots=True)
class CapturedPunctuator:
    """A punctuation that a processor scheduled. It runs only when the test calls it."""

    interval_ms: int
    kind: PunctuationType
    callback: Punctuator
    cancelled: bool = False
    #: The start of the schedule in milliseconds since 1970; None if it has none.
    start_time: int | None = None

    def punctuate(self, timestamp: int) -> None:
        """Call the punctuator as the runtime would at that time, unless it was cancelled."""
        if not self.cancelled:
            self.callback(timestamp)

    def cancel(self) -> None:
        self.cancelled = True


class MockProcessorContext:
    """A ``ProcessorContext`` and ``FixedKeyProcessorContext`` that the test controls.

    Example:
        >>> from penstock.processor.processor import Processor
        >>> class Shout(Processor):
        ...     def process(self, record):
        ...         self.context.forward(record.with_value(record.value.upper()))
        >>> context = MockProcessorContext()
        >>> processor = context.start(Shout())
        >>> processor.process(Record("k", "hello", timestamp=5))
        >>> [forward.record.value for forward in context.forwarded()]
        ['HELLO']
    """

    def __init__(
        self,
        configs: Mapping[str, Any] | None = None,
        task_id: TaskId | None = None,
        state_dir: Path | None = None,
    ) -> None:
        self._configs = dict(configs or {})
        self._task_id = task_id or TaskId(0, 0)
        self._state_dir = state_dir
        self._metadata: RecordMetadata | None = None
        self._stream_time: int | None = None
        self._system_time: int | None = None
        self._stores: dict[str, Any] = {}
        self._forwards: list[CapturedForward] = []
        self._punctuators: list[CapturedPunctuator] = []
        self._committed = False
        self._sensors = TaskSensors(
            METRICS_RECORDING_LEVEL.value_in(self._configs),
            (METRICS_SAMPLE_WINDOW_MS.default / 1000, METRICS_NUM_SAMPLES.default),
            lambda: (self._system_time or 0) / 1000,
        )

    def start(self, processor: Any) -> Any:
        """Initialize a processor with this context, and return it."""
        processor.context = self
        processor.init(self)
        return processor

    # What the processor sees

    @property
    def application_id(self) -> str:
        return str(self._configs.get("application.id", "dummy-mock-app-id"))

    @property
    def task_id(self) -> TaskId:
        return self._task_id

    @property
    def record_metadata(self) -> RecordMetadata | None:
        return self._metadata

    @property
    def state_dir(self) -> Path | None:
        return self._state_dir

    def get_state_store(self, name: str) -> Any:
        if name not in self._stores:
            known = ", ".join(map(repr, self._stores)) or "none"
            raise UnknownStoreError(
                "unknown-store",
                f"the mock context has no state store {name!r}; it has: {known}",
                fix=f"call add_state_store with a store or a builder named {name!r}",
                at=caller_site(),
            )
        return self._stores[name]

    def schedule(
        self,
        interval: Duration,
        kind: PunctuationType,
        callback: Punctuator,
        start_time: Instant | None = None,
    ) -> CapturedPunctuator:
        interval_ms = to_ms(interval, "interval")
        start_ms = None if start_time is None else to_epoch_ms(start_time, "start_time")
        if interval_ms < 1:
            raise InvalidArgumentError(
                "bad-interval",
                f"interval {interval!r} is shorter than 1 ms",
                fix="give an interval of 1 ms or more",
                at=caller_site(),
            )
        punctuator = CapturedPunctuator(interval_ms, kind, callback, start_time=start_ms)
        self._punctuators.append(punctuator)
        return punctuator

    def forward(
        self, record: Record[Any, Any] | FixedKeyRecord[Any, Any], child: str | None = None
    ) -> None:
        self._forwards.append(CapturedForward(record, child))

    def metrics(self) -> StreamsMetrics:
        """Return the sensors, which the processor adds; ``metrics()`` of them has the values."""
        return self._sensors

    def commit(self) -> None:
        self._committed = True

    def current_stream_time_ms(self) -> int:
        return _given(self._stream_time, "stream time", "set_current_stream_time")

    def current_system_time_ms(self) -> int:
        return _given(self._system_time, "system time", "set_current_system_time")

    def app_configs(self) -> Mapping[str, Any]:
        return dict(self._configs)

    def app_configs_with_prefix(self, prefix: str) -> Mapping[str, Any]:
        return {
            name.removeprefix(prefix): value
            for name, value in self._configs.items()
            if name.startswith(prefix)
        }

    # What the test sets

    def set_record_metadata(self, topic: str, partition: int, offset: int) -> None:
        self._metadata = RecordMetadata(topic, partition, offset)

    def set_current_stream_time(self, timestamp: int) -> None:
        self._stream_time = timestamp

    def set_current_system_time(self, timestamp: int) -> None:
        self._system_time = timestamp

    def add_state_store(self, store: Any) -> Any:
        """Add an open store, or open the store of a builder in memory, without changelog.

        Returns:
            The open store, which the test can fill and read.
        """
        if isinstance(store, StoreSpec):
            environment = StoreEnvironment(
                context=RecordContext(0, -1, -1, None),
                defaults=SerdeDefaults(),
                engine=lambda name: MemoryStore(),
                changelog=lambda name: None,
                stream_time=lambda: -1 if self._stream_time is None else self._stream_time,
                wall_clock=lambda: -1 if self._system_time is None else self._system_time,
            )
            store = open_store(store, environment)
        self._stores[store.name] = store
        return store

    # What the test asks

    def forwarded(self, child: str | None = None) -> list[CapturedForward]:
        """Return all forwards in order, or only those that reach the child of that name."""
        return [
            forward
            for forward in self._forwards
            if child is None or forward.child is None or forward.child == child
        ]

    def scheduled_punctuators(self) -> list[CapturedPunctuator]:
        """Return the punctuations scheduled so far, cancelled ones included."""
        return list(self._punctuators)

    @property
    def committed(self) -> bool:
        """Return whether ``commit`` was called since the start or since ``reset_commit``."""
        return self._committed

    def reset_forwards(self) -> None:
        self._forwards.clear()

    def reset_commit(self) -> None:
        self._committed = False


def _given(time: int | None, what: str, setter: str) -> int:
    if time is None:
        raise InvalidStateError(
            "time-not-set",
            f"the mock context has no {what}",
            fix=f"call {setter}(...) first",
            at=caller_site(),
        )
    return time
