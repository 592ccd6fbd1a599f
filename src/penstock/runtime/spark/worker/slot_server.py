"""The process of one slot: it outlives the Spark tasks that ask it for work.

Spark hands a task to any idle Python worker and ends workers that idle for a minute. State,
clients and processors must stay where they are. So the first task of a slot on an executor starts
this process beside Spark's workers, and every later one passes its request on to it. The process
ends with its executor's JVM, or when no driver has sent a request for two minutes.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from multiprocessing.connection import Connection
from typing import Any
from uuid import uuid4

import cloudpickle

from penstock.errors import StreamsError
from penstock.runtime.spark.exchange.channel import (
    ALIVE,
    ERROR,
    LINES,
    OK,
    WHO,
    accepted,
    listen,
    portable,
    receive,
    send,
)
from penstock.runtime.spark.exchange.stage_request import Application, Endpoint, Release
from penstock.runtime.spark.exchange.worker_lines import use_log_levels
from penstock.runtime.spark.worker.captured_output import CAPTURED, capture_output
from penstock.runtime.spark.worker.kafka_failures import as_streams_error
from penstock.runtime.spark.worker.measures import slot_measures
from penstock.runtime.spark.worker.process_tree import Executor, Process
from penstock.runtime.spark.worker.queries import answer_query
from penstock.runtime.spark.worker.slot import Slot

log = logging.getLogger(__name__)

_BEAT_S = 1.0
_WATCH_S = 0.5
#: A server without a request for this long ends. A living driver asks far more often.
_LEASE_S = 120.0


class SlotServer:
    """Hold slots, and answer requests on a TCP port from clients that know the secret."""

    def __init__(self, secret: bytes, executor: Executor) -> None:
        self._secret = secret
        self._executor = executor
        self._slots: dict[tuple[str, int], Slot] = {}
        self._lock = threading.Lock()
        self._socket = listen(executor.host)
        self._asked = time.monotonic()
        name = f"{socket.gethostname()}-{os.getpid()}-{uuid4().hex[:8]}"
        self.endpoint = Endpoint(name, executor.host, self._socket.getsockname()[1], executor.name)

    def run(self) -> None:
        """Accept connections until the executor ends or no driver sends requests any more."""
        threading.Thread(target=self._watch, name="penstock-watch", daemon=True).start()
        while True:
            opened, _ = self._socket.accept()
            threading.Thread(target=self._serve, args=(opened,), daemon=True).start()

    def _watch(self) -> None:
        while True:
            time.sleep(_WATCH_S)
            process: Process | None = self._executor.process
            if process is not None and not process.is_alive:
                # The executor is gone, so no answer can be delivered. A batch that is not
                # committed runs again elsewhere.
                os._exit(0)
            if time.monotonic() - self._asked > _LEASE_S:
                log.warning("no driver has asked for %.0f s: ending", _LEASE_S)
                CAPTURED.give_up()
                os._exit(0)

    def _serve(self, opened: socket.socket) -> None:
        connection = accepted(opened, self._secret)
        if connection is None:
            return
        with connection:
            try:
                while True:
                    self._asked = time.monotonic()
                    self._reply(connection, receive(connection))
            except (EOFError, OSError):
                return

    def _reply(self, connection: Connection, question: tuple[Any, ...]) -> None:
        kind, *rest = question
        if kind == "ping":
            send(connection, (OK, self.endpoint))
            return
        key, number, *rest = rest
        slot = self._slots.get((key, number))
        if kind == "close":
            answer = self._in_time(connection, lambda: self._close(key, number, *rest))
        elif slot is not None:
            held = slot
            answer = self._in_time(connection, lambda: _answered(held, kind, *rest))
        elif kind in ("run", "warm-up"):
            send(connection, (WHO, None))
            pickled = receive(connection)
            answer = self._in_time(
                connection, lambda: _answered(self._made(pickled, number), kind, *rest)
            )
        else:
            answer = ERROR, _no_slot(number)
        _send_lines(connection)
        send(connection, answer)
        if kind == "close" and not self._slots:
            os._exit(0)

    def _in_time(
        self, connection: Connection, work: Callable[[], tuple[str, Any]]
    ) -> tuple[str, Any]:
        """Do the work in another thread, and tell the caller every second that it goes on."""
        done: Future[tuple[str, Any]] = Future()

        def run() -> None:
            try:
                done.set_result(work())
            except BaseException as error:  # noqa: BLE001 - it is sent to the caller
                done.set_result((ERROR, portable(as_streams_error(error))))

        threading.Thread(target=run, name="penstock-slot", daemon=True).start()
        while True:
            try:
                return done.result(_BEAT_S)
            except NotYet:
                self._asked = time.monotonic()
                send(connection, (ALIVE, None))
                _send_lines(connection)

    def _made(self, pickled: bytes, number: int) -> Slot:
        """Make the slot, and close the slot of an older run of the same application."""
        application: Application = cloudpickle.loads(pickled)
        use_log_levels(application.log_levels)
        with self._lock:
            wanted = application.key, number
            for key in [key for key in self._slots if key != wanted]:
                held = self._slots[key].application
                if held.id == application.id and held.generation <= application.generation:
                    self._slots.pop(key).close(Release())
            if wanted not in self._slots:
                self._slots[wanted] = Slot(application, number, self.endpoint.server)
            return self._slots[wanted]

    def _close(self, key: str, number: int, release: Release) -> tuple[str, Any]:
        with self._lock:
            slot = self._slots.pop((key, number), None)
        if slot is not None:
            slot.close(release)
        return OK, None


def _send_lines(connection: Connection) -> None:
    lines = CAPTURED.take()
    if lines:
        send(connection, (LINES, lines))


def _answered(slot: Slot, kind: str, *rest: Any) -> tuple[str, Any]:
    if kind == "run":
        return OK, slot.run(*rest)
    if kind == "warm-up":
        slot.warm_up(*rest)
        return OK, None
    if kind == "restoring":
        return OK, slot.restoring()
    if kind == "measures":
        return OK, slot_measures(slot)
    return OK, answer_query(slot, *rest)


def _no_slot(number: int) -> StreamsError:
    return StreamsError(
        "slot-unreachable",
        f"slot {number} is not in this process any more",
        fix="ask again when the next batch has run",
    )


def serve_forever(secret: bytes, executor: Executor, tell: Callable[[Endpoint], None]) -> None:
    """Run a slot server in this process; never return.

    Args:
        tell: called once with the endpoint at which the server listens.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        capture_output()
        server = SlotServer(secret, executor)
        tell(server.endpoint)
        server.run()
    except BaseException:
        log.exception("the slot server ended")
        CAPTURED.give_up()
    finally:
        os._exit(1)
