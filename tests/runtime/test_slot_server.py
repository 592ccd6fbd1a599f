"""What a stream thread answers to every kind of question."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import cloudpickle
import pytest
from confluent_kafka import KafkaException

from penstock.errors import StreamsError
from penstock.runtime.spark.exchange.channel import ThreadLostError, Waiting, ask
from penstock.runtime.spark.exchange.questions import (
    AskMeasures,
    AskRestores,
    AskStandby,
    CloseSlot,
    Ping,
    ReadStore,
    RunStage,
    SlotId,
    StandBy,
    StandbyId,
    StandDown,
    WarmUp,
)
from penstock.runtime.spark.exchange.stage_request import Release, StageRequest
from penstock.runtime.spark.exchange.work import Work
from penstock.runtime.spark.worker import slot_server as module
from penstock.runtime.spark.worker.process.executor import Executor
from penstock.runtime.spark.worker.queries import is_quick
from penstock.runtime.spark.worker.slot_server import Patience, SlotServer, let_rest
from penstock.serving.question import KeyQuestion, RangeQuestion

SECRET = b"s" * 32
REQUEST = StageRequest(batch=1, stage=0, slots=1, clock_ms=0)
FIRST = SlotId("app-1-x", 0)
COPIES = StandbyId("app", 0)


class FakeSlot:
    """A slot that notes what it is asked, and works as long as a test wants."""

    made: list[FakeSlot]
    #: Set when a slot has begun to work; it works until it may end.
    is_working: threading.Event
    may_end: threading.Event
    error: BaseException | None

    def __init__(self, application: Any, number: int, server: str) -> None:
        self.application, self.number, self.server = application, number, server
        self.asked = time.monotonic()
        self.lock, self.reading = threading.Lock(), threading.RLock()
        self.calls: list[Any] = []
        self.work = Work(records_read=number + 3)
        self.made.append(self)

    def warm_up(self, request: StageRequest) -> None:
        self.calls.append(("warm_up", request.batch))

    def run(self, request: StageRequest) -> list[str]:
        self.calls.append(("run", request.batch))
        self.is_working.set()
        assert self.may_end.wait(60)
        if self.error is not None:
            raise self.error
        return [f"report of {self.application.key}"]

    def close(self, release: Release) -> None:
        self.calls.append(("close", release.is_moved))

    def restoring(self) -> list[str]:
        return ["counts"]

    def rest(self) -> None: ...


class FakeStandby:
    """Copies of a slot."""

    made: list[FakeStandby]
    is_current = True

    def __init__(self, application: Any, number: int, slots: int) -> None:
        self.given = application.id, number, slots
        self.is_closed = False
        self.made.append(self)

    def lags(self) -> list[int]:
        return [7]

    def close(self) -> None:
        self.is_closed = True


def application(generation: int = 1, name: str = "app") -> bytes:
    key = f"{name}-{generation}-x"
    return cloudpickle.dumps(
        SimpleNamespace(id=name, key=key, generation=generation, log_levels={})
    )


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlotServer]:
    for name, value in (
        ("made", []), ("is_working", threading.Event()), ("may_end", threading.Event()),
        ("error", None),
    ):  # fmt: skip
        monkeypatch.setattr(FakeSlot, name, value, raising=False)
    FakeSlot.may_end.set()
    monkeypatch.setattr(FakeStandby, "made", [], raising=False)
    monkeypatch.setattr(module, "Slot", FakeSlot)
    monkeypatch.setattr(module, "Standby", FakeStandby)
    monkeypatch.setattr(module, "adopt", lambda *given: None)
    monkeypatch.setattr(module, "slot_measures", lambda slot: [("measures", slot.number)])
    monkeypatch.setattr(module, "_BEAT_S", 0.05)
    made = SlotServer(SECRET, Executor("7", "127.0.0.1"))
    made.start()
    yield made
    FakeSlot.may_end.set()
    made.close(10.0)


def asked(server: SlotServer, question: Any, load: bytes | None = None) -> Any:
    def loaded() -> bytes:
        assert load is not None, "the application was asked for"
        return load

    return ask(server.endpoint, SECRET, question, Waiting(silence_s=10.0, load=loaded))


def code_of(server: SlotServer, question: Any) -> str:
    with pytest.raises(StreamsError) as raised:
        asked(server, question)
    return raised.value.code


# Slots


def test_a_sign_of_life_says_who_answers(server: SlotServer) -> None:
    assert asked(server, Ping()) == server.endpoint
    assert server.endpoint.executor == "7"


def test_the_application_is_sent_once_for_each_slot(server: SlotServer) -> None:
    """It can be large, and a batch is asked for ten times a second."""
    asked(server, WarmUp(FIRST, REQUEST), application())
    assert asked(server, RunStage(FIRST, REQUEST)) == ["report of app-1-x"]
    (slot,) = FakeSlot.made
    assert (slot.number, slot.server) == (0, server.endpoint.server)
    assert slot.calls == [("warm_up", 1), ("run", 1)]


def test_a_slot_that_a_thread_does_not_have_is_made_for_a_stage(server: SlotServer) -> None:
    """Spark may have started the thread again since the last batch."""
    assert asked(server, RunStage(FIRST, REQUEST), application()) == ["report of app-1-x"]


@pytest.mark.parametrize(
    "question",
    [AskRestores(FIRST), AskMeasures(FIRST), ReadStore(FIRST, "counts", 0, "get", ("k",)),
     AskStandby(COPIES)],
    ids=lambda each: type(each).__name__,
)  # fmt: skip
def test_a_question_about_a_slot_that_is_not_there_is_an_error(
    server: SlotServer, question: Any
) -> None:
    """A caller that reads a store may try again after the next batch."""
    assert code_of(server, question) == "slot-unreachable"


def test_a_slot_answers_what_it_is_asked(server: SlotServer) -> None:
    asked(server, WarmUp(FIRST, REQUEST), application())
    assert asked(server, AskRestores(FIRST)) == ["counts"]
    assert asked(server, AskMeasures(FIRST)) == [("measures", 0)]


def test_the_work_of_a_thread_is_that_of_all_slots_it_ever_had(server: SlotServer) -> None:
    """For Spark they are one task, which does not lose what it has done."""
    for slot in (FIRST, SlotId("app-1-x", 1)):
        asked(server, WarmUp(slot, REQUEST), application())
    assert server.work() == Work(records_read=3 + 4)
    asked(server, CloseSlot(FIRST, Release()))
    assert server.work() == Work(records_read=3 + 4)


@pytest.mark.parametrize("method", ["get", "all"])
def test_a_store_is_read_through_its_slot(
    server: SlotServer, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """Quick questions and long ones have the same answer."""
    monkeypatch.setattr(module, "waits_for_commit", lambda slot, store: False)
    monkeypatch.setattr(module, "answer_query", lambda slot, *rest: (slot.number, *rest))
    asked(server, WarmUp(FIRST, REQUEST), application())
    question = ReadStore(FIRST, "counts", 3, method, ("k",))
    assert asked(server, question) == (0, "counts", 3, method, ("k",))


def test_a_busy_slot_says_that_it_is_alive(server: SlotServer) -> None:
    """Only silence counts: a batch may take as long as it needs, and others are answered."""
    FakeSlot.may_end.clear()
    with ThreadPoolExecutor(1) as calls:
        waiting = Waiting(silence_s=1.0, load=application)
        call = calls.submit(ask, server.endpoint, SECRET, RunStage(FIRST, REQUEST), waiting)
        assert FakeSlot.is_working.wait(30)
        assert server.is_working
        time.sleep(1.5)
        assert not call.done()
        assert asked(server, AskRestores(FIRST)) == ["counts"]
        FakeSlot.may_end.set()
        assert call.result(30) == ["report of app-1-x"]
    assert not server.is_working


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (StreamsError("processing", "node 'map' failed"), "processing"),
        (KafkaException("away"), "broker-away"),
        (SystemExit(3), "worker-failed"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_an_error_of_a_slot_is_an_answer(
    server: SlotServer, error: BaseException, code: str
) -> None:
    """The driver decides what it means, and the thread goes on."""
    FakeSlot.error = error
    with pytest.raises(StreamsError) as raised:
        asked(server, RunStage(FIRST, REQUEST), application())
    assert raised.value.code == code
    FakeSlot.error = None
    assert asked(server, RunStage(FIRST, REQUEST)) == ["report of app-1-x"]


def test_a_newer_run_takes_the_slots_of_an_older_one_over(server: SlotServer) -> None:
    """They have the same databases open. Slots of other applications go on."""
    other = SlotId("other-1-x", 0)
    asked(server, WarmUp(FIRST, REQUEST), application(1))
    asked(server, WarmUp(other, REQUEST), application(1, "other"))
    asked(server, WarmUp(SlotId("app-2-x", 1), REQUEST), application(2))
    older, others, _ = FakeSlot.made
    assert older.calls == [("warm_up", 1), ("close", False)]
    assert others.calls == [("warm_up", 1)]
    assert code_of(server, AskRestores(FIRST)) == "slot-unreachable"


def test_an_older_run_does_not_end_the_slots_of_a_newer_one(server: SlotServer) -> None:
    """A driver that was paused must not end what another one has begun."""
    asked(server, WarmUp(SlotId("app-3-x", 0), REQUEST), application(3))
    asked(server, WarmUp(SlotId("app-2-x", 0), REQUEST), application(2))
    newer, _ = FakeSlot.made
    assert newer.calls == [("warm_up", 1)]


def test_a_slot_is_closed_as_it_is_told(server: SlotServer) -> None:
    """A slot that moves to another host deletes its folders; closing twice is no error."""
    asked(server, WarmUp(FIRST, REQUEST), application())
    for _ in range(2):
        asked(server, CloseSlot(FIRST, Release(is_moved=True)))
    (slot,) = FakeSlot.made
    assert slot.calls == [("warm_up", 1), ("close", True)]
    assert code_of(server, AskRestores(FIRST)) == "slot-unreachable"


# Standbys


def test_a_thread_keeps_copies_until_it_is_told_not_to(server: SlotServer) -> None:
    """Beside its slots, which it does not mention."""
    asked(server, StandBy(COPIES, 4), application())
    (copies,) = FakeStandby.made
    assert copies.given == ("app", 0, 4)
    assert asked(server, AskStandby(COPIES)) == (True, [7])
    asked(server, StandDown(COPIES))
    asked(server, StandDown(COPIES))
    assert copies.is_closed
    assert code_of(server, AskStandby(COPIES)) == "slot-unreachable"


def test_another_number_of_slots_replaces_the_copies(server: SlotServer) -> None:
    """Two of them would write the same folders."""
    for slots in (4, 5):
        asked(server, StandBy(COPIES, slots), application())
    first, second = FakeStandby.made
    assert (first.is_closed, second.is_closed) == (True, False)


def test_a_slot_ends_its_copies_before_it_opens_its_stores(server: SlotServer) -> None:
    """They become the slot's own folders."""
    asked(server, StandBy(COPIES, 4), application())
    asked(server, WarmUp(FIRST, REQUEST), application())
    assert FakeStandby.made[0].is_closed


# The end


def test_a_thread_that_ends_closes_all_that_it_has(server: SlotServer) -> None:
    """State is on disk, and nothing is answered any more."""
    asked(server, WarmUp(FIRST, REQUEST), application())
    asked(server, StandBy(StandbyId("app", 1), 2), application())
    assert server.close(10.0)
    assert FakeSlot.made[0].calls[-1] == ("close", False)
    assert FakeStandby.made[0].is_closed
    with pytest.raises(ThreadLostError):
        asked(server, Ping())


def test_a_process_changes_threads_as_before_when_its_thread_has_ended(
    server: SlotServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark gives the process to other tasks, which short turns would slow down."""
    usual = sys.getswitchinterval()
    monkeypatch.setattr(module, "waits_for_commit", lambda slot, store: False)
    monkeypatch.setattr(module, "answer_query", lambda slot, *rest: 42)
    asked(server, WarmUp(FIRST, REQUEST), application())
    assert asked(server, ReadStore(FIRST, "counts", 0, "get", ("k",))) == 42
    assert sys.getswitchinterval() < usual
    server.close(10.0)
    assert sys.getswitchinterval() == pytest.approx(usual)


def test_a_slot_that_does_not_close_is_told(
    server: SlotServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A function of the user may not return; the process then has to end."""
    may_end = threading.Event()
    monkeypatch.setattr(FakeSlot, "close", lambda slot, release: may_end.wait(60))
    asked(server, WarmUp(FIRST, REQUEST), application())
    began = time.monotonic()
    assert not server.close(0.2)
    assert time.monotonic() - began < 10
    may_end.set()


def test_a_slot_that_is_made_while_its_thread_ends_does_not_stay(server: SlotServer) -> None:
    """Its databases would stay open in a process that Spark gives to another task."""
    is_loading, may_load = threading.Event(), threading.Event()

    def load() -> bytes:
        is_loading.set()
        assert may_load.wait(60)
        return application()

    with ThreadPoolExecutor(1) as calls:
        waiting = Waiting(load=load)
        call = calls.submit(ask, server.endpoint, SECRET, WarmUp(FIRST, REQUEST), waiting)
        assert is_loading.wait(30)
        server._closing.set()
        may_load.set()
        with pytest.raises(StreamsError) as raised:
            call.result(30)
        assert raised.value.code == "slot-unreachable"
    assert server._slots == {}


# Loading


class Missing:
    """Fails where it is unpickled, as a class of a module that an executor does not have."""

    def __reduce__(self) -> Any:
        return __import__, ("a_module_that_is_not_there",)


def test_an_application_that_cannot_be_loaded_is_told_as_what_it_is(server: SlotServer) -> None:
    """A lost thread would run the batch again and again, and hide the reason."""
    with pytest.raises(ModuleNotFoundError, match="a_module_that_is_not_there"):
        asked(server, RunStage(FIRST, REQUEST), cloudpickle.dumps(Missing()))
    assert asked(server, Ping()) == server.endpoint


class Importing:
    """Imports a module where it is unpickled, as the classes of an application do."""

    def __init__(self, folder: Path, module: str) -> None:
        self._program = f"import sys; sys.path.insert(0, {str(folder)!r}); import {module}"

    def __reduce__(self) -> Any:
        return exec, (self._program, {})


def test_applications_that_begin_together_may_import_the_same_modules(
    server: SlotServer, tmp_path: Path
) -> None:
    """Python ends an import with an error if two threads import modules that need each other."""
    pairs = {"slow_one": "slow_two", "slow_two": "slow_one"}
    for name, other in pairs.items():
        text = f"import importlib, time\ntime.sleep(1)\nimportlib.import_module({other!r})\n"
        (tmp_path / f"{name}.py").write_text(text)

    def error_of(name: str) -> str:
        try:
            asked(server, RunStage(SlotId(name, 0), REQUEST), cloudpickle.dumps(
                Importing(tmp_path, name)
            ))  # fmt: skip
        except Exception as error:  # noqa: BLE001 - its text is what matters
            return str(error)
        return ""

    with ThreadPoolExecutor(2) as calls:
        # None is not an application. What matters is that nothing else went wrong.
        for found in calls.map(error_of, pairs):
            assert "NoneType" in found


class IdleSlot:
    """A slot that was asked for a batch some seconds ago, and notes whether it rests."""

    number = 0

    def __init__(
        self,
        idle_s: float,
        *,
        is_busy: bool = False,
        error: Exception = StreamsError("broker-away", "a reader's error ends nothing"),
    ) -> None:
        self.error = error
        self.asked = time.monotonic() - idle_s
        self.lock = threading.Lock()
        self.has_rested = False
        if is_busy:
            self.lock.acquire()

    def rest(self) -> None:
        self.has_rested = True
        raise self.error


@pytest.mark.parametrize(
    ("idle_s", "is_busy", "rests"), [(60.0, False, True), (0.0, False, False), (60.0, True, False)]
)
def test_a_slot_rests_when_no_request_has_come_for_a_while(
    idle_s: float, is_busy: bool, rests: bool
) -> None:
    """A batch that takes long is not an idle slot."""
    slot = IdleSlot(idle_s, is_busy=is_busy)
    let_rest(cast("Any", slot))
    assert slot.has_rested == rests
    assert slot.lock.locked() == is_busy


def test_threads_change_more_often_only_while_questions_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A question must not wait for long, and a batch without questions is not disturbed."""
    usual, now = sys.getswitchinterval(), [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    patience = Patience()
    try:
        patience.questioned()
        assert sys.getswitchinterval() < usual / 2
        now[0] += 4.0
        patience.look()
        assert sys.getswitchinterval() < usual / 2
        now[0] += 2.0
        patience.look()
        assert sys.getswitchinterval() == pytest.approx(usual)
    finally:
        sys.setswitchinterval(usual)


def test_questions_about_one_key_are_quick() -> None:
    """Others may have to read a whole store."""
    assert is_quick("counts", 0, "get", ("k",))
    assert is_quick("counts", 0, "answer", (KeyQuestion("k"),))
    assert not is_quick("counts", 0, "all", ())
    assert not is_quick("counts", 0, "answer", (RangeQuestion(limit=10),))


@pytest.mark.parametrize(
    ("error", "is_fault"),
    [
        (KafkaException("away"), False),
        (StreamsError("broker-away", "away"), False),
        (AttributeError("a fault"), True),
    ],
    ids=lambda each: type(each).__name__,
)
def test_only_faults_of_a_resting_reader_are_written_to_the_log(
    error: Exception, is_fault: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """The next read tells about a broker that is away; nobody else would tell about a fault."""
    let_rest(cast("Any", IdleSlot(60.0, error=error)))
    assert ("slot 0 cannot rest" in caplog.text) == is_fault
