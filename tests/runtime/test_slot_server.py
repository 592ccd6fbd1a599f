"""The answers of a slot server to every kind of request."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import cloudpickle
import pytest
from confluent_kafka import KafkaException
from penstock.runtime.spark.exchange.ticket import Answer, Stand, Ticket

from penstock.errors import StreamsError
from penstock.runtime.spark.exchange.channel import ServerLostError, ask
from penstock.runtime.spark.exchange.stage_request import Release, StageRequest
from penstock.runtime.spark.worker.queries import is_quick
from penstock.runtime.spark.worker.slot_server import Patience, let_rest
from penstock.serving.question import KeyQuestion, RangeQuestion
from tests.runtime.slot_processes import SECRET, Started, executor, happens


@pytest.fixture(scope="module")
def server() -> Iterator[Started]:
    with executor() as started:
        yield started


def asked(server: Started, *question: Any, load: bytes = b"") -> Any:
    return ask(server.endpoint, SECRET, question, lambda: load, silence_s=10.0)


@pytest.mark.parametrize("kind", ["restoring", "query"])
def test_a_question_about_a_slot_that_is_not_there_is_an_error(server: Started, kind: str) -> None:
    """Whoever asks a store may try again after the next batch."""
    with pytest.raises(StreamsError) as raised:
        asked(server, kind, "app-1-x", 0)
    assert raised.value.code == "slot-unreachable"


class Missing:
    """Fails where it is unpickled, as a class of a module that an executor does not have."""

    def __reduce__(self) -> Any:
        return __import__, ("a_module_that_is_not_there",)


def test_an_application_that_cannot_be_loaded_is_told_as_what_it_is(server: Started) -> None:
    """A lost server would run the batch again and again, and hide the reason."""
    with pytest.raises(ModuleNotFoundError, match="a_module_that_is_not_there"):
        asked(server, "run", "app-1-x", 0, None, load=cloudpickle.dumps(Missing()))
    assert asked(server, "ping") == server.endpoint


def test_a_paused_server_is_lost_and_found_again() -> None:
    """An executor that swaps, or a debugger, may hold a process for a while."""
    with executor() as started:
        os.kill(started.process.pid, signal.SIGSTOP)
        with pytest.raises(ServerLostError):
            ask(started.endpoint, SECRET, ("ping",), silence_s=0.5)
        os.kill(started.process.pid, signal.SIGCONT)
        assert ask(started.endpoint, SECRET, ("ping",)) == started.endpoint


def test_a_server_without_slots_ends_when_the_last_one_is_closed() -> None:
    """Nothing is left that it could be asked for."""
    with executor() as started:
        asked(started, "close", "app-1-x", 0, Release())
        assert happens(lambda: not started.process.is_alive, within_s=60)


def ticket(name: str, number: int = 0) -> Ticket:
    request = StageRequest(batch=1, stage=0, slots=1, clock_ms=0)
    return Ticket(id=name, kind="run", key="app-1-x", number=number, place=0, request=request)


def test_a_beat_says_which_slots_a_server_does_not_have(server: Started) -> None:
    """The driver then sends the application, once for each slot."""
    tickets = (ticket("a", 0), ticket("b", 1))
    unknown = Answer(Stand.UNKNOWN)
    assert asked(server, "beat", tickets, 5.0) == [("a", unknown), ("b", unknown)]


def test_an_application_of_a_pool_that_cannot_be_loaded_fails_alone(server: Started) -> None:
    """Its ticket has the reason, and the server goes on."""
    broken = cloudpickle.dumps(Missing())
    assert asked(server, "learn", ticket("c"), broken) == Answer(Stand.PENDING)
    stand, error = asked(server, "wait", "app-1-x", 0, "c")
    assert stand is Stand.FAILED
    assert "a_module_that_is_not_there" in str(error)
    assert asked(server, "ping") == server.endpoint


def test_a_ticket_that_the_server_does_not_have_cannot_be_waited_for(server: Started) -> None:
    """The server may have been started again since; the batch runs again."""
    with pytest.raises(StreamsError) as raised:
        asked(server, "wait", "app-1-x", 0, "never")
    assert raised.value.code == "slot-unreachable"


class Importing:
    """Imports a module where it is unpickled, as the classes of an application do."""

    def __init__(self, folder: Path, module: str) -> None:
        self._program = f"import sys; sys.path.insert(0, {str(folder)!r}); import {module}"

    def __reduce__(self) -> Any:
        return exec, (self._program, {})


def test_applications_that_begin_together_may_import_the_same_modules(
    server: Started, tmp_path: Path
) -> None:
    """Python ends an import with an error if two threads import modules that need each other."""
    pairs = {"slow_one": "slow_two", "slow_two": "slow_one"}
    for name, other in pairs.items():
        text = f"import importlib, time\ntime.sleep(1)\nimportlib.import_module({other!r})\n"
        (tmp_path / f"{name}.py").write_text(text)
    for number, name in enumerate(pairs, start=10):
        broken = cloudpickle.dumps(Importing(tmp_path, name))
        asked(server, "learn", ticket(name, number), broken)
    for number, name in enumerate(pairs, start=10):
        stand, error = asked(server, "wait", "app-1-x", number, name)
        # None is not an application. What matters is that nothing else went wrong.
        assert (stand, "NoneType" in str(error)) == (Stand.FAILED, True), error


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
