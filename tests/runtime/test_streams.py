"""An application that starts, leads and ends at awkward moments, with a run that starts nothing."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import penstock as ps
from penstock.errors import PenstockError, StreamsError
from penstock.runtime.local.memory_kafka import MemoryKafka
from penstock.runtime.local.staged import StagedApplication
from penstock.runtime.spark.driver import streams as module
from penstock.runtime.spark.driver.observing import start_waits
from penstock.runtime.spark.driver.observing.restore_watch import RestoreWatch
from penstock.runtime.spark.exchange.stage_request import Restore
from tests.runtime.slot_processes import happens


class Runner:
    """Runs batches until it is stopped, or fails."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.progress = SimpleNamespace(waiting_for=None, busy_with=None, held_back=None)
        self.has_run, self.is_in_trouble = True, False
        self.restores = RestoreWatch(list)
        self.failure = failure
        self.is_over = threading.Event()

    def restoring(self) -> list[Restore]:
        return []

    def show(self, state: Callable[[], str]) -> None: ...

    def run(self, is_restored: Callable[[], None]) -> None:
        is_restored()
        if self.failure is None:
            assert self.is_over.wait(60)
        if self.failure is not None:
            raise self.failure


class ApplicationRun:
    """Says what is done to it; it leads when it may."""

    def __init__(self, *failures: Exception) -> None:
        self.steps: list[str] = []
        self.slots = 0
        self.runner: Runner | None = None
        self.may_lead = threading.Event()
        self.may_lead.set()
        self.is_waiting = threading.Event()
        self.is_leading = threading.Event()
        self.may_begin = threading.Event()
        self.may_begin.set()
        self._failures = list(failures)

    def prepare(self) -> object:
        self.steps.append("prepared")
        return object()

    def wait_to_lead(
        self, prepared: object, closing: threading.Event, *, until_joined: bool = False
    ) -> bool:
        self.is_waiting.set()
        while not (self.may_lead.is_set() or closing.is_set() or until_joined):
            self.may_lead.wait(0.05)
        return self.may_lead.is_set() and not closing.is_set()

    def lead(self, prepared: object, spark: Any) -> Runner:
        self.is_leading.set()
        assert self.may_begin.wait(60)
        self.steps.append("led")
        self.runner = Runner(self._failures.pop(0) if self._failures else None)
        return self.runner

    def stand_by(self, prepared: object) -> None:
        self.steps.append("stood by")

    def pause(self, *, is_paused: bool) -> None: ...

    def end_runner(self, *, patience_s: float, keeps_slots: bool = False) -> None:
        self.steps.append("ended")
        if self.runner is not None:
            self.runner.is_over.set()
        self.runner = None

    def shut_down_application(self) -> None:
        self.steps.append("ended all")

    def stop(self, *, patience_s: float, leave_group: bool) -> None:
        if self.runner is not None:
            self.runner.is_over.set()
        self.steps.append("stopped" if leave_group else "stopped, still a member")


Start = Callable[[ApplicationRun], ps.KafkaStreams]


@pytest.fixture
def streams_of(monkeypatch: pytest.MonkeyPatch) -> Start:
    monkeypatch.setattr(module, "spark_session", lambda config: (object(), False))
    monkeypatch.setattr(module, "_SECONDS_BETWEEN_RESTARTS", (0.01,))

    def make(run: ApplicationRun) -> ps.KafkaStreams:
        monkeypatch.setattr(module, "ApplicationRun", lambda *given: run)
        builder = ps.StreamsBuilder()
        builder.stream("in").to("out")
        settings = {"application.id": "awkward", "bootstrap.servers": "127.0.0.1:1"}
        return ps.KafkaStreams(builder.build(), settings)

    return make


def test_an_application_starts_leads_and_closes(streams_of: Start) -> None:
    """The order of its life, without anything awkward."""
    run = ApplicationRun()
    streams = streams_of(run)
    streams.start()
    assert streams.state is ps.State.RUNNING
    assert streams.close("10s")
    assert run.steps == ["prepared", "led", "stopped"]


def test_an_end_that_fails_is_an_end_nevertheless(
    streams_of: Start, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither ``start`` nor ``close`` waits for ever, and the log has the reason."""
    run = ApplicationRun(StreamsError("record-refused", "it failed"))
    monkeypatch.setattr(run, "stop", raising("the folder is gone"))
    streams = streams_of(run)
    streams.start()
    assert happens(lambda: streams.state is ps.State.ERROR, within_s=60)
    assert "the folder is gone" in caplog.text
    other = ApplicationRun()
    monkeypatch.setattr(other, "stop", raising("the lock is gone"))
    streams = streams_of(other)
    streams.start()
    assert streams.close("10s")
    assert streams.state is ps.State.NOT_RUNNING
    assert "the lock is gone" in caplog.text


def raising(text: str) -> Callable[..., None]:
    def fail(**given: Any) -> None:
        raise OSError(text)

    return fail


def test_an_application_that_is_closed_while_it_begins_to_lead_ends_at_once(
    streams_of: Start,
) -> None:
    """A broker that is away does not keep it; what comes up after all is let go of."""
    run = ApplicationRun()
    run.may_begin.clear()
    streams = streams_of(run)
    starting = threading.Thread(target=streams.start)
    starting.start()
    assert run.is_leading.wait(60)
    assert streams.close("10s")
    assert streams.state is ps.State.NOT_RUNNING
    run.may_begin.set()
    starting.join(60)
    assert happens(lambda: run.steps == ["prepared", "stopped", "led", "ended"], within_s=60)


def test_an_application_that_is_closed_while_spark_waits_for_room_ends(
    streams_of: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cluster without room lets Spark wait for ever; SIGTERM must work nevertheless."""
    monkeypatch.setattr(module, "_SPARK_START_S", 0.01)
    run, is_starting, is_killed = ApplicationRun(), threading.Event(), threading.Event()

    def spark_session(config: Any) -> Any:
        is_starting.set()
        assert is_killed.wait(10)
        raise ConnectionError("the JVM is gone")

    streams = streams_of(run)
    monkeypatch.setattr(module, "spark_session", spark_session)
    monkeypatch.setattr(module, "end_jvm", is_killed.set)
    starting = threading.Thread(target=streams.start)
    starting.start()
    assert is_starting.wait(10)
    assert streams.close("10s")
    starting.join(10)
    assert not starting.is_alive()
    assert streams.state is ps.State.NOT_RUNNING
    assert streams.error is None


def test_an_instance_that_does_not_lead_has_started_and_waits(streams_of: Start) -> None:
    """It takes over when the leader is gone."""
    run = ApplicationRun()
    run.may_lead.clear()
    streams = streams_of(run)
    streams.start()
    assert streams.state is ps.State.RUNNING
    assert streams.waiting_for == "another instance leads the application"
    run.may_lead.set()
    assert run.is_leading.wait(60)
    assert streams.close("10s")
    assert run.steps == ["prepared", "stood by", "led", "stopped"]


class LostKafka(ApplicationRun):
    """A broker that is away when the application wants to begin again."""

    def __init__(self) -> None:
        super().__init__()
        self.is_back = threading.Event()

    def prepare(self) -> None:
        if "led" in self.steps and not self.is_back.is_set():
            raise StreamsError("broker-unreachable", "no answer from 127.0.0.1:1")
        super().prepare()


def test_an_application_whose_broker_is_away_does_not_speak_of_other_instances(
    streams_of: Start,
) -> None:
    """It says that the broker does not answer, until it does."""
    run = LostKafka()
    streams = streams_of(run)
    streams.start()
    first = run.runner
    assert first is not None
    first.failure = StreamsError("fenced", "the group has forgotten this member")
    first.is_over.set()
    assert happens(lambda: streams.waiting_for == "no answer from 127.0.0.1:1", within_s=60)
    time.sleep(0.1)
    assert streams.waiting_for == "no answer from 127.0.0.1:1"
    run.is_back.set()
    assert happens(lambda: run.runner is not first and streams.waiting_for is None, within_s=60)
    assert streams.close("10s")


class SilentKafka(ApplicationRun):
    """A broker that does not answer, then says that it is not there, then is."""

    def __init__(self) -> None:
        super().__init__()
        self.answers = [threading.Event(), threading.Event()]

    def prepare(self) -> None:
        if self.answers:
            assert self.answers[0].wait(60)
            self.answers.pop(0)
            raise StreamsError("broker-unreachable", "no answer from 127.0.0.1:1")
        super().prepare()


def test_an_application_says_that_it_waits_for_its_first_broker(
    streams_of: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a minute of REBALANCING without a word looks like a fault of Penstock."""
    monkeypatch.setattr(start_waits, "_QUIET_START_S", 0.0)
    run = SilentKafka()
    streams = streams_of(run)
    assert streams.waiting_for is None
    starting = threading.Thread(target=streams.start)
    starting.start()
    silent, refused = run.answers
    quiet = "no answer yet from Kafka at 127.0.0.1:1"
    assert happens(lambda: streams.waiting_for == quiet, within_s=60)
    silent.set()
    assert happens(lambda: streams.waiting_for == "no answer from 127.0.0.1:1", within_s=60)
    refused.set()
    starting.join(60)
    assert streams.waiting_for is None
    assert streams.close("10s")


def test_a_member_may_keep_its_place_in_the_group(streams_of: Start) -> None:
    """A quick restart of a static member moves nothing then."""
    run = ApplicationRun()
    streams = streams_of(run)
    streams.start()
    assert streams.close("10s", leave_group=False)
    assert run.steps[-1] == "stopped, still a member"


def test_an_instance_that_was_fenced_begins_anew(streams_of: Start) -> None:
    """It reads again what is committed, and leads when it is its turn."""
    run = ApplicationRun(StreamsError("fenced", "another driver leads"))
    streams = streams_of(run)
    states: list[ps.State] = []
    streams.set_state_listener(lambda new, old: states.append(new))
    streams.start()
    assert happens(lambda: states.count(ps.State.RUNNING) == 2, within_s=60)
    assert streams.close("10s")
    assert run.steps == ["prepared", "led", "ended", "prepared", "led", "stopped"]
    assert states[:4] == [ps.State.REBALANCING, ps.State.RUNNING] * 2


@pytest.mark.parametrize(
    ("handler", "is_enabled", "lines"),
    [
        ("continue", False, 1),
        (print, False, 1),
        ("continue", True, 0),
        ("fail", False, 0),
    ],
)
def test_the_driver_says_once_that_a_handler_is_not_asked_for_global_stores(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    handler: Any,
    is_enabled: bool,
    lines: int,
) -> None:
    """Also if it begins anew; the slots, of which there are many, do not say it."""
    run = ApplicationRun(StreamsError("fenced", "another driver leads"))
    monkeypatch.setattr(module, "spark_session", lambda config: (object(), False))
    monkeypatch.setattr(module, "_SECONDS_BETWEEN_RESTARTS", (0.01,))
    monkeypatch.setattr(module, "ApplicationRun", lambda *given: run)
    builder = ps.StreamsBuilder()
    builder.global_table("world", materialized="rows", key="string", value="string")
    settings = {
        "application.id": "app", "processing.exception.handler": handler,
        "processing.exception.handler.global.enabled": is_enabled,
    }  # fmt: skip
    topology = builder.build()
    streams = ps.KafkaStreams(topology, {**settings, "bootstrap.servers": "127.0.0.1:1"})
    streams.start()
    assert happens(lambda: run.steps.count("led") == 2, within_s=60)
    assert streams.close("10s")
    kafka = MemoryKafka()
    kafka.create("world")
    application = StagedApplication(topology.graph, settings, kafka, slots=2)
    application.run_batch(0)
    application.close()
    said = [line for line in caplog.messages if "is not asked for global stores" in line]
    assert len(said) == lines


def failing(streams_of: Start, response: Any) -> tuple[Any, ApplicationRun]:
    run = ApplicationRun(StreamsError("processing", "node 'map' failed"))
    streams = streams_of(run)
    streams.set_uncaught_exception_handler(lambda error: response)
    # The failure may come before or after the start has returned.
    with contextlib.suppress(PenstockError):
        streams.start()
    return streams, run


def test_an_error_of_the_program_ends_the_application(streams_of: Start) -> None:
    """Unless the handler says otherwise; the error is kept for whoever asks."""
    streams, run = failing(streams_of, ps.ExceptionResponse.SHUTDOWN_CLIENT)
    assert streams.wait("10s")
    assert streams.state is ps.State.ERROR
    assert streams.error.code == "processing"
    assert run.steps == ["prepared", "led", "stopped"]


def test_a_handler_may_have_the_batches_begin_again(streams_of: Start) -> None:
    """The cause may have been a service that is back by now."""
    streams, run = failing(streams_of, ps.ExceptionResponse.REPLACE_THREAD)
    assert happens(lambda: run.steps.count("led") == 2, within_s=60)
    assert streams.close("10s")
    assert streams.error is None
    assert run.steps == ["prepared", "led", "ended", "prepared", "led", "stopped"]


def test_a_handler_may_end_the_whole_application(streams_of: Start) -> None:
    """The others are told before this instance lets go of what they wait for."""
    streams, run = failing(streams_of, ps.ExceptionResponse.SHUTDOWN_APPLICATION)
    assert streams.wait("10s")
    assert streams.state is ps.State.ERROR
    assert run.steps == ["prepared", "led", "ended all", "stopped"]


@pytest.mark.parametrize("response", ["REPLACE_THREAD", "replace_thread"])
def test_a_handler_may_answer_with_the_name_of_a_response(streams_of: Start, response: str) -> None:
    """The text comes from a configuration file, and means the same as the enum."""
    streams, run = failing(streams_of, response)
    assert happens(lambda: run.steps.count("led") == 2, within_s=60)
    assert streams.close("10s")


@pytest.mark.parametrize("response", ["RESTART", None, 7])
def test_an_answer_that_is_not_known_is_an_error(streams_of: Start, response: Any) -> None:
    """A typing mistake must not look like a decision to shut down."""
    streams, _ = failing(streams_of, response)
    assert streams.wait("10s")
    assert streams.error.code == "bad-handler-response"
    assert repr(response) in streams.error.message
    assert "node 'map' failed" in streams.error.message


def test_a_handler_may_close_the_application(streams_of: Start) -> None:
    """Nothing failed then: the user's own code has ended it."""
    streams = None

    def close(error: Exception) -> None:
        assert streams is not None
        assert streams.close("10s")

    run = ApplicationRun(StreamsError("processing", "node 'map' failed"))
    streams = streams_of(run)
    streams.set_uncaught_exception_handler(close)
    streams.run()
    assert streams.state is ps.State.NOT_RUNNING
    assert streams.error is None


def test_a_handler_that_exits_ends_the_main_thread(streams_of: Start) -> None:
    """Otherwise the process would neither work nor end."""
    run = ApplicationRun(StreamsError("processing", "node 'map' failed"))
    streams = streams_of(run)
    streams.set_uncaught_exception_handler(lambda error: sys.exit(3))
    with pytest.raises(SystemExit) as caught:
        streams.run()
    assert caught.value.code == 3
    assert run.steps == ["prepared", "led", "stopped"]


@pytest.mark.parametrize("way", ["run", "run_until_idle"])
def test_a_handler_that_exits_before_the_main_thread_waits_ends_it_too(
    streams_of: Start, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """The thread of the batches may be faster than the one that has started it."""
    streams = streams_of(ApplicationRun(StreamsError("processing", "node 'map' failed")))
    streams.set_uncaught_exception_handler(lambda error: sys.exit(3))
    begin = streams.start

    def slow_start() -> None:
        begin()
        assert streams._uncaught._attends
        assert happens(lambda: streams._uncaught._request is not None, within_s=60)

    monkeypatch.setattr(streams, "start", slow_start)
    with pytest.raises(SystemExit) as caught:
        getattr(streams, way)()
    assert caught.value.code == 3


def test_an_instance_that_is_told_to_end_does_not_ask_its_handler(streams_of: Start) -> None:
    """A handler that replaces threads would otherwise keep it, for ever."""
    told = threading.Event()

    class Told(ApplicationRun):
        def wait_to_lead(
            self, prepared: object, closing: threading.Event, *, until_joined: bool = False
        ) -> bool:
            if not until_joined:
                assert told.wait(10)
                raise StreamsError("application-shut-down", "another instance has ended it")
            return False

    streams = streams_of(Told())
    asked: list[Exception] = []

    def replace_thread(error: Exception) -> ps.ExceptionResponse:
        asked.append(error)
        return ps.ExceptionResponse.REPLACE_THREAD

    streams.set_uncaught_exception_handler(replace_thread)
    streams.start()
    assert streams.state is ps.State.RUNNING
    told.set()
    assert streams.wait("10s")
    assert streams.state is ps.State.ERROR
    assert streams.error.code == "application-shut-down"
    assert asked == []


def test_what_cannot_be_prepared_is_raised_before_spark_starts(
    streams_of: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing topic, or a broker that refuses the user."""

    class Unprepared(ApplicationRun):
        def prepare(self) -> None:
            raise StreamsError("missing-source-topic", "there is no topic 'in'")

    run = Unprepared()
    sessions: list[Any] = []
    streams = streams_of(run)
    monkeypatch.setattr(module, "spark_session", sessions.append)
    with pytest.raises(StreamsError, match="there is no topic 'in'"):
        streams.start()
    assert sessions == []
    assert streams.state is ps.State.ERROR
    assert run.steps == ["stopped"]
