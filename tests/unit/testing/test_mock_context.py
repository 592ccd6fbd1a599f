"""Testing one processor without a driver."""

from datetime import UTC, datetime
from typing import Any

import pytest

from penstock.errors import InvalidArgumentError, InvalidStateError, UnknownStoreError
from penstock.model.record import FixedKeyRecord, Record, RecordMetadata
from penstock.model.task_id import TaskId
from penstock.processor.context import PunctuationType
from penstock.processor.processor import Processor
from penstock.serde.serdes import Serdes
from penstock.state.stores import Stores
from penstock.testing.mock_context import CapturedForward, MockProcessorContext


class Totals(Processor[str, int, str, int]):
    """Keeps a total per key; forwards all of them once a minute."""

    def init(self, context: Any) -> None:
        self._store = context.get_state_store("totals")
        self._schedule = context.schedule("1m", PunctuationType.STREAM_TIME, self._report)

    def process(self, record: Record[str, int]) -> None:
        self._store.put(record.key, (self._store.get(record.key) or 0) + record.value)
        if record.value < 0:
            self._schedule.cancel()
            self.context.commit()

    def _report(self, time: int) -> None:
        with self._store.all() as rows:
            for key, total in rows:
                self.context.forward(Record(key, total, time))


def totals() -> tuple[MockProcessorContext, Any, Any]:
    context = MockProcessorContext()
    store = context.add_state_store(
        Stores.key_value_store_builder(
            Stores.persistent_key_value_store("totals"), Serdes.string(), Serdes.long()
        )
    )
    return context, store, context.start(Totals())


def test_a_builder_becomes_a_store_that_the_test_can_look_into() -> None:
    """Without files, broker or driver, also for persistent stores."""
    _, store, processor = totals()
    processor.process(Record("a", 5, 0))
    processor.process(Record("a", 7, 0))
    assert store.get("a") == 12


def test_a_captured_punctuation_runs_when_the_test_says_so() -> None:
    """It knows its interval and clock, and is silent once cancelled."""
    context, _, processor = totals()
    processor.process(Record("a", 5, 0))
    (punctuator,) = context.scheduled_punctuators()
    assert (punctuator.interval_ms, punctuator.kind) == (60_000, PunctuationType.STREAM_TIME)
    punctuator.punctuate(60_000)
    assert context.forwarded() == [CapturedForward(Record("a", 5, 60_000))]
    processor.process(Record("a", -1, 0))
    assert punctuator.cancelled
    punctuator.punctuate(120_000)
    assert len(context.forwarded()) == 1


def test_forwards_can_be_read_by_child_and_forgotten() -> None:
    """A forward to all children reaches each of them."""
    context = MockProcessorContext()
    first, second = Record("k", 1, 0), FixedKeyRecord("k", 2, 0)
    context.forward(first)
    context.forward(second, "a")
    context.forward(first, "b")
    assert [f.record for f in context.forwarded("a")] == [first, second]
    assert len(context.forwarded()) == 3
    context.reset_forwards()
    assert context.forwarded() == []


def test_a_commit_is_noted_until_it_is_reset() -> None:
    """A test may ask for each record on its own."""
    context, _, processor = totals()
    assert not context.committed
    processor.process(Record("a", -1, 0))
    assert context.committed
    context.reset_commit()
    assert not context.committed


def test_time_must_be_set_before_it_is_read() -> None:
    """There is no clock to fall back on."""
    context = MockProcessorContext()
    with pytest.raises(InvalidStateError, match="set_current_stream_time"):
        context.current_stream_time_ms()
    with pytest.raises(InvalidStateError, match="set_current_system_time"):
        context.current_system_time_ms()
    context.set_current_stream_time(5)
    context.set_current_system_time(6)
    assert (context.current_stream_time_ms(), context.current_system_time_ms()) == (5, 6)


def test_position_task_and_settings_are_what_the_test_says() -> None:
    """Without a position there is None, as before the first record."""
    context = MockProcessorContext({"application.id": "mine", "my.a": 1}, TaskId(2, 5))
    assert context.record_metadata is None
    context.set_record_metadata("t", 1, 9)
    assert context.record_metadata == RecordMetadata("t", 1, 9)
    assert (context.application_id, str(context.task_id)) == ("mine", "2_5")
    assert context.app_configs_with_prefix("my.") == {"a": 1}
    assert context.app_configs() == {"application.id": "mine", "my.a": 1}
    assert context.state_dir is None


def test_an_unknown_store_and_a_bad_interval_fail_as_in_a_task() -> None:
    """A test must not pass where the application would fail."""
    context = MockProcessorContext()
    with pytest.raises(UnknownStoreError, match="'x'; it has: none"):
        context.get_state_store("x")
    with pytest.raises(InvalidArgumentError, match="shorter than 1 ms"):
        context.schedule(0, PunctuationType.STREAM_TIME, lambda time: None)


def test_a_captured_punctuation_knows_its_start_time() -> None:
    """A test can check where a schedule is anchored."""
    context = MockProcessorContext()
    start = datetime(1970, 1, 1, 0, 1, tzinfo=UTC)
    context.schedule("1h", PunctuationType.WALL_CLOCK_TIME, lambda time: None, start)
    context.schedule("1h", PunctuationType.WALL_CLOCK_TIME, lambda time: None)
    assert [each.start_time for each in context.scheduled_punctuators()] == [60_000, None]
