"""The answers of a slot server to every kind of request."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import cloudpickle
import pytest

from penstock.errors import StreamsError
from penstock.runtime.spark.exchange.channel import ServerLostError, ask
from penstock.runtime.spark.exchange.stage_request import Release
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
        assert happens(lambda: not started.process.is_alive, within_s=3.0)
