"""The process of a slot, or of many in a pool: it outlives the Spark tasks that ask for work.

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
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from functools import partial
from multiprocessing.connection import Connection
from typing import Any
from uuid import uuid4

import cloudpickle
from confluent_kafka import KafkaException

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
from penstock.runtime.spark.exchange.ticket import Answer, Stand, Ticket
from penstock.runtime.spark.exchange.worker_lines import use_log_levels
from penstock.runtime.spark.standby.handover import end_standby
from penstock.runtime.spark.standby.standby import Standby, adopt
from penstock.runtime.spark.worker.captured_output import CAPTURED, capture_output
from penstock.runtime.spark.worker.kafka_failures import as_streams_error
from penstock.runtime.spark.worker.measures import slot_measures
from penstock.runtime.spark.worker.processes.claim import claim
from penstock.runtime.spark.worker.processes.doing import doing
from penstock.runtime.spark.worker.processes.process_tree import Executor, Process
from penstock.runtime.spark.worker.queries import answer_query, is_quick, waits_for_commit
from penstock.runtime.spark.worker.slot import Slot
from penstock.runtime.spark.worker.ticketed_work import TicketedWork

log = logging.getLogger(__name__)

_BEAT_S = 1.0
_WATCH_S = 0.5
#: A server without a request for this long ends. A living driver asks far more often.
_LEASE_S = 120.0
#: The driver's question about a ticket is answered at the latest after this time.
_WAIT_S = 10.0
#: How long a slot that another server needs may finish its work.
_EVICT_S = 3.0
#: A slot without a request for so long asks the broker for nothing.
_REST_S = 5.0
#: How often Python changes threads while questions come, and how long after the last one.
_SHORT_S = 0.0005
_QUIET_S = 5.0
#: Questions about standbys, which name the application by its id.
_OF_STANDBYS = frozenset({"stand-by", "stand-down", "standing"})
#: Questions that only applications of a pool ask.
_OF_POOLS = frozenset({"beat", "learn", "wait", "evict"})


class SlotServer:
    """Hold slots, and answer requests on a TCP port from clients that know the secret."""

    def __init__(self, secret: bytes, executor: Executor) -> None:
        self._secret = secret
        self._executor = executor
        self._slots: dict[tuple[str, int], Slot] = {}
        #: By application id and slot: copies of slots that run elsewhere.
        self._standbys: dict[tuple[str, int], Standby] = {}
        self._work = TicketedWork()
        self._lock = threading.Lock()
        #: Held while an application is unpickled. That imports modules, and Python gives up if two
        #: threads import modules that import each other.
        self._loading = threading.Lock()
        #: By application: held while a slot of it is made, which may wait for an older run's.
        self._making: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._socket = listen(executor.host)
        self._asked = time.monotonic()
        self._patience = Patience()
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
            self._patience.look()
            for slot in list(self._slots.values()):
                let_rest(slot)

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
        if kind in _OF_STANDBYS:
            answer = self._of_standby(connection, kind, *rest)
        elif kind in _OF_POOLS:
            answer = self._in_time(connection, lambda: (OK, self._pooled(kind, *rest)))
        else:
            answer = self._of_slot(connection, kind, *rest)
        _send_lines(connection)
        send(connection, answer)
        is_empty = not self._slots and not self._standbys and not self._work.is_busy
        if kind in ("close", "evict", "stand-down") and is_empty:
            os._exit(0)

    def _of_slot(
        self, connection: Connection, kind: str, key: str, number: int, *rest: Any
    ) -> tuple[str, Any]:
        slot = self._slots.get((key, number))
        if kind == "close":
            return self._in_time(connection, lambda: self._close(key, number, *rest))
        if slot is not None:
            held = slot
            quick = kind == "query" and is_quick(*rest) and not waits_for_commit(slot, rest[0])
            if quick and slot.reading.acquire(timeout=_BEAT_S):
                self._patience.questioned()
                try:
                    return _tried(lambda: (OK, answer_query(held, *rest)))
                finally:
                    slot.reading.release()
            return self._in_time(connection, lambda: (OK, _answered(held, kind, *rest)))
        if kind in ("run", "warm-up"):
            send(connection, (WHO, None))
            pickled = receive(connection)
            return self._in_time(
                connection, lambda: (OK, _answered(self._made(pickled, number), kind, *rest))
            )
        return ERROR, _no_slot(number)

    def _of_standby(
        self, connection: Connection, kind: str, key: str, number: int, *rest: Any
    ) -> tuple[str, Any]:
        """Start a standby, end one, or return its lag."""
        if kind == "stand-by":
            send(connection, (WHO, None))
            pickled = receive(connection)
            return self._in_time(connection, lambda: self._stand_by(pickled, number, *rest))
        standby = self._standbys.get((key, number))
        if standby is None:
            return ERROR, _no_slot(number)
        if kind == "stand-down":
            del self._standbys[key, number]
            return self._in_time(connection, lambda: _stood_down(standby))
        return OK, (standby.is_current, standby.lags())

    def _stand_by(self, pickled: bytes, number: int, slots: int) -> tuple[str, Any]:
        application: Application = cloudpickle.loads(pickled)
        with self._lock:
            self._standbys[application.id, number] = Standby(application, number, slots)
        return OK, None

    # What applications of a pool ask

    def _pooled(self, kind: str, *rest: Any) -> Any:
        if kind == "beat":
            return self._beat(*rest)
        if kind == "learn":
            return self._learn(*rest)
        if kind == "wait":
            key, number, ticket = rest
            return self._work.answer((key, number), ticket, _WAIT_S)
        return self._evict(*rest)

    def _beat(self, tickets: Sequence[Ticket], patience_s: float) -> list[tuple[str, Answer]]:
        """Begin all tickets whose slots are here, and return their progress after a moment."""
        for ticket in tickets:
            slot = self._slots.get(ticket.slot)
            if slot is not None:
                self._work.begin(ticket, partial(_answered, slot, ticket.kind, ticket.request))
        return self._work.answers(tickets, patience_s)

    def _learn(self, ticket: Ticket, pickled: bytes) -> Answer:
        """Make the slot of an application that is new here, and begin its ticket."""

        def work() -> Any:
            slot = self._made(pickled, ticket.number, is_pooled=True)
            return _answered(slot, ticket.kind, ticket.request)

        self._work.begin(ticket, work)
        return Answer(Stand.PENDING)

    def _evict(self, application_id: str, number: int) -> None:
        """Close a slot, of any run, because another server on this host needs it."""
        for key, slot in list(self._slots.items()):
            if slot.application.id == application_id and key[1] == number:
                if not slot.lock.acquire(timeout=_EVICT_S):
                    raise _busy(number)
                slot.lock.release()
                self._close(*key, Release())

    def _in_time(
        self, connection: Connection, work: Callable[[], tuple[str, Any]]
    ) -> tuple[str, Any]:
        """Do the work in another thread; send the caller a sign of life every second."""
        done: Future[tuple[str, Any]] = Future()

        threading.Thread(
            target=lambda: done.set_result(_tried(work)), name="penstock-slot", daemon=True
        ).start()
        while True:
            try:
                return done.result(_BEAT_S)
            except NotYet:
                self._asked = time.monotonic()
                send(connection, (ALIVE, None))
                _send_lines(connection)

    def _made(self, pickled: bytes, number: int, *, is_pooled: bool = False) -> Slot:
        """Make the slot, and close the slots of an older run of the same application.

        Only threads of the same application wait for each other here: an older slot may be in the
        middle of a user's function that hangs.
        """
        with self._loading:
            application: Application = cloudpickle.loads(pickled)
        use_log_levels(application.log_levels)
        with self._lock:
            making = self._making[application.id]
        with making:
            for key, slot in list(self._slots.items()):
                held = slot.application
                is_older = key[0] != application.key and held.id == application.id
                if is_older and held.generation <= application.generation:
                    self._close(*key, Release())
            wanted = application.key, number
            if wanted not in self._slots:
                if is_pooled:
                    claim(application, number, self.endpoint, self._secret)
                end_standby(application.id, application.state_dir, number, self._secret)
                adopt(application, number)
                self._slots[wanted] = Slot(application, number, self.endpoint.server)
            return self._slots[wanted]

    def _close(self, key: str, number: int, release: Release) -> tuple[str, Any]:
        with self._lock:
            slot = self._slots.pop((key, number), None)
        if slot is not None:
            slot.close(release)
        self._work.forget((key, number))
        return OK, None


class Patience:
    """Controls how long a question waits for the thread that processes a batch.

    Python switches threads every five milliseconds. While questions arrive, it switches more often.
    Without questions it does not, because that would slow batches down.
    """

    def __init__(self) -> None:
        self._usual_s = sys.getswitchinterval()
        self._last = -_QUIET_S
        self._is_short = False

    def questioned(self) -> None:
        self._last = time.monotonic()
        if not self._is_short:
            self._is_short = True
            sys.setswitchinterval(_SHORT_S)

    def look(self) -> None:
        """Return to the usual switch interval if no question has come for a while."""
        if self._is_short and time.monotonic() - self._last > _QUIET_S:
            self._is_short = False
            sys.setswitchinterval(self._usual_s)


def _send_lines(connection: Connection) -> None:
    lines = CAPTURED.take()
    if lines:
        send(connection, (LINES, lines))


def _stood_down(standby: Standby) -> tuple[str, Any]:
    standby.close()
    return OK, None


def _tried(work: Callable[[], tuple[str, Any]]) -> tuple[str, Any]:
    """Do the work; return its result, or the error as an answer."""
    try:
        return work()
    except BaseException as error:  # noqa: BLE001 - it is sent to the caller
        return ERROR, portable(as_streams_error(error))


def _answered(slot: Slot, kind: str, *rest: Any) -> Any:
    if kind == "run":
        return slot.run(*rest)
    if kind == "warm-up":
        return slot.warm_up(*rest)
    if kind == "restoring":
        return slot.restoring()
    if kind == "doing":
        return doing(slot)
    if kind == "measures":
        return slot_measures(slot)
    return answer_query(slot, *rest)


def let_rest(slot: Slot) -> None:
    """Let the reader of an idle slot rest until the next request."""
    if time.monotonic() - slot.asked > _REST_S and slot.lock.acquire(blocking=False):
        try:
            slot.rest()
        except (KafkaException, StreamsError) as error:
            # If the error lasts, the next read raises it.
            log.debug("slot %d cannot rest: %s", slot.number, error)
        except Exception:
            log.exception("slot %d cannot rest", slot.number)
        finally:
            slot.lock.release()


def _busy(number: int) -> StreamsError:
    return StreamsError(
        "slot-unreachable",
        f"slot {number} is in the middle of a batch and cannot be closed",
        fix="nothing to do: its process is ended",
    )


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
