"""Workers that ask each other: what is said when one of them ends."""

from __future__ import annotations

import threading
from multiprocessing.connection import Listener
from uuid import uuid4

import pytest

from penstock.errors import StreamsError
from penstock.runtime.spark.driver.query_failure import is_passing
from penstock.runtime.spark.worker.slot_server import ask_slot, socket_path


def test_a_worker_that_ends_while_it_is_asked_is_a_passing_failure() -> None:
    """Whoever asked runs the batch again, instead of giving up the application."""
    key = f"ends-{uuid4().hex}"
    path = socket_path(key, 0)

    def end() -> None:
        with listener.accept() as connection:
            connection.poll(10)

    with Listener(str(path), family="AF_UNIX") as listener:
        ending = threading.Thread(target=end)
        ending.start()
        with pytest.raises(StreamsError) as raised:
            ask_slot(key, 0, ("restoring",))
        ending.join()
    assert raised.value.code == "worker-lost"
    assert is_passing(raised.value)
