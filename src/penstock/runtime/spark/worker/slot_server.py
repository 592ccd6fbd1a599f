"""What a stream thread answers: its slots run stages, and answer questions about their stores.

A stream thread is a Spark task that stays (``thread_task``). It has a slot of one application, or
slots of many applications in a pool. Requests and questions come over TCP, each connection with a
Python thread of its own.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import TimeoutError as NotYet
from multiprocessing.connection import Connection
from typing import Any, assert_never
from uuid import uuid4

import cloudpickle
from confluent_kafka import KafkaException

from penstock.errors import StreamsError
from penstock.runtime.background import begun
from penstock.runtime.spark.exchange.channel import (
    accepted,
    listen,
    portable,
    receive,
    send,
    shut,
)
from penstock.runtime.spark.exchange.questions import (
    Alive,
    Answered,
    AskDoing,
    AskMeasures,
    AskRestores,
    AskStandby,
    CloseSlot,
    Failed,
    Look,
    Ping,
    Printed,
    Question,
    ReadStore,
    RunStage,
    SlotId,
    StandBy,
    StandbyId,
    StandDown,
    TakeTraces,
    WantsApplication,
    WarmUp,
)
from penstock.runtime.spark.exchange.stage_request import Application, Endpoint, Release
from penstock.runtime.spark.exchange.work import NONE, Work, total
from penstock.runtime.spark.exchange.worker_lines import use_log_levels
from penstock.runtime.spark.standby.standby import Standby, adopt
from penstock.runtime.spark.worker.doing import doing
from penstock.runtime.spark.worker.kafka_failures import as_streams_error
from penstock.runtime.spark.worker.measures import slot_measures
from penstock.runtime.spark.worker.process.captured_output import CAPTURED
from penstock.runtime.spark.worker.process.executor import Executor
from penstock.runtime.spark.worker.queries import answer_query, is_quick, waits_for_commit
from penstock.runtime.spark.worker.slot import Slot

log = logging.getLogger(__name__)

_BEAT_S = 1.0
_WATCH_S = 0.5
#: A slot without a request for so long asks the broker for nothing.
_REST_S = 5.0
#: How long a slot may still be busy when its thread ends.
_BUSY_S = 1.0
#: How often Python changes threads while questions come, and how long after the last one.
_SHORT_S = 0.0005
_QUIET_S = 5.0

#: Does the work of a question and returns its answer.
_Work = Callable[[], Any]


class SlotServer:
    """Hold slots, and answer questions on a TCP port from a driver that knows the secret."""

    def __init__(self, secret: bytes, executor: Executor) -> None:
        self._secret = secret
        self._slots: dict[SlotId, Slot] = {}
        #: Copies of slots that run elsewhere.
        self._standbys: dict[StandbyId, Standby] = {}
        self._lock = threading.Lock()
        #: Held while an application is unpickled. That imports modules, and Python gives up if two
        #: threads import modules that import each other.
        self._loading = threading.Lock()
        #: By application: held while a slot of it is made, which may wait for an older run's.
        self._making: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._connections: set[Connection] = set()
        self._closing = threading.Event()
        self._working = 0
        #: What slots have done that are closed.
        self._earlier = NONE
        self._socket = listen(executor.host)
        self._patience = Patience()
        name = f"{socket.gethostname()}-{os.getpid()}-{uuid4().hex[:8]}"
        self.endpoint = Endpoint(name, executor.host, self._socket.getsockname()[1], executor.name)

    @property
    def is_working(self) -> bool:
        """Whether a request is under way, whose connection carries what the program prints."""
        return self._working > 0

    def work(self) -> Work:
        """Return what all slots have committed so far, in this thread."""
        with self._lock:
            return self._earlier + total(slot.work for slot in self._slots.values())

    def start(self) -> None:
        """Accept connections in a thread of their own, until ``close``."""
        for work in (self._accept, self._watch):
            threading.Thread(target=work, name="penstock-server", daemon=True).start()

    def close(self, patience_s: float) -> bool:
        """Close all slots and standbys, and answer nothing more; false if one is too busy.

        Nobody waits any more for a request that is still under way.
        """
        self._closing.set()
        is_closed = threading.Event()

        def close_all() -> None:
            if self._close_all():
                is_closed.set()

        closing = threading.Thread(target=close_all, name="penstock-closing", daemon=True)
        closing.start()
        closing.join(patience_s)
        self._socket.close()
        for connection in list(self._connections):
            shut(connection)
        self._patience.end()
        return is_closed.is_set()

    def _close_all(self) -> bool:
        with self._lock:
            # From now on none is added.
            held, standbys = dict(self._slots), list(self._standbys)
        busy = {slot for slot, each in held.items() if not _becomes_free(each)}
        for slot in held.keys() - busy:
            self._close(slot, Release())
        for standby in standbys:
            self._stand_down(standby)
        return not busy

    def _accept(self) -> None:
        while True:
            try:
                opened, _ = self._socket.accept()
            except OSError:
                # The server has closed its socket.
                return
            threading.Thread(target=self._serve, args=(opened,), daemon=True).start()

    def _watch(self) -> None:
        while not self._closing.wait(_WATCH_S):
            self._patience.look()
            for slot in list(self._slots.values()):
                let_rest(slot)

    def _serve(self, opened: socket.socket) -> None:
        connection = accepted(opened, self._secret)
        if connection is None:
            return
        self._connections.add(connection)
        with connection:
            try:
                while not self._closing.is_set():
                    self._reply(connection, receive(connection))
            except (EOFError, OSError):
                return
            finally:
                self._connections.discard(connection)

    def _reply(self, connection: Connection, question: Question) -> None:
        answer = self._answer(connection, question)
        _send_lines(connection)
        send(connection, answer)

    def _answer(self, connection: Connection, question: Question) -> Answered | Failed:
        match question:
            case Ping():
                return Answered(self.endpoint)
            case WarmUp(slot, request):
                return self._with_slot(connection, slot, lambda held: held.warm_up(request))
            case RunStage(slot, request):
                return self._with_slot(connection, slot, lambda held: held.run(request))
            case ReadStore(slot):
                return self._of_known(slot, lambda held: self._read(connection, held, question))
            case AskRestores(slot) | AskDoing(slot) | AskMeasures(slot) | TakeTraces(slot):
                return self._of_known(slot, lambda held: _tried(lambda: _seen(held, question)))
            case CloseSlot(slot, release):
                return self._in_time(connection, lambda: self._close(slot, release))
            case StandBy(standby, slots):
                pickled = self._application(connection)
                return self._in_time(connection, lambda: self._stand_by(standby, pickled, slots))
            case StandDown(standby):
                return self._in_time(connection, lambda: self._stand_down(standby))
            case AskStandby(standby):
                return self._standing(standby)
            case _:
                assert_never(question)

    # Slots

    def _of_known(
        self, slot: SlotId, answer: Callable[[Slot], Answered | Failed]
    ) -> Answered | Failed:
        held = self._slots.get(slot)
        return Failed(_no_slot(slot.number)) if held is None else answer(held)

    def _with_slot(
        self, connection: Connection, slot: SlotId, work: Callable[[Slot], Any]
    ) -> Answered | Failed:
        """Do the work of a slot, which is made first if this thread does not have it yet."""
        held = self._slots.get(slot)
        if held is not None:
            known = held
            return self._in_time(connection, lambda: work(known))
        pickled = self._application(connection)
        return self._in_time(connection, lambda: work(self._made(pickled, slot.number)))

    def _read(self, connection: Connection, slot: Slot, asked: ReadStore) -> Answered | Failed:
        store, rest = asked.store, (asked.partition, asked.method, asked.arguments)
        is_short = is_quick(store, *rest) and not waits_for_commit(slot, store)
        if is_short and slot.reading.acquire(timeout=_BEAT_S):
            self._patience.questioned()
            try:
                return _tried(lambda: answer_query(slot, store, *rest))
            finally:
                slot.reading.release()
        return self._in_time(connection, lambda: answer_query(slot, store, *rest))

    @staticmethod
    def _application(connection: Connection) -> bytes:
        send(connection, WantsApplication())
        pickled: bytes = receive(connection)
        return pickled

    def _loaded(self, pickled: bytes) -> Application:
        with self._loading:
            application: Application = cloudpickle.loads(pickled)
        return application

    def _made(self, pickled: bytes, number: int) -> Slot:
        """Make the slot, and close the slots of an older run of the same application.

        Only threads of the same application wait for each other here: an older slot may be in the
        middle of a user's function that hangs.
        """
        application = self._loaded(pickled)
        use_log_levels(application.log_levels)
        with self._lock:
            making = self._making[application.id]
        with making:
            for slot, held in list(self._slots.items()):
                older = held.application
                is_older = slot.run != application.key and older.id == application.id
                if is_older and older.generation <= application.generation:
                    self._close(slot, Release())
            wanted = SlotId(application.key, number)
            if wanted not in self._slots:
                self._stand_down(StandbyId(application.id, number))
                adopt(application, number)
                self._keep(wanted, Slot(application, number, self.endpoint.server))
            return self._slots[wanted]

    def _keep(self, slot: SlotId, made: Slot) -> None:
        """Note a new slot, unless this thread ends: nothing would close it any more."""
        with self._lock:
            if self._closing.is_set():
                raise _no_slot(slot.number)
            self._slots[slot] = made

    def _close(self, slot: SlotId, release: Release) -> None:
        with self._lock:
            held = self._slots.pop(slot, None)
            self._earlier += held.work if held is not None else NONE
        if held is not None:
            held.close(release)

    # Standbys

    def _stand_by(self, standby: StandbyId, pickled: bytes, slots: int) -> None:
        application = self._loaded(pickled)
        self._stand_down(standby)
        with self._lock:
            if self._closing.is_set():
                raise _no_slot(standby.number)
            self._standbys[standby] = Standby(application, standby.number, slots)

    def _stand_down(self, standby: StandbyId) -> None:
        with self._lock:
            held = self._standbys.pop(standby, None)
        if held is not None:
            held.close()

    def _standing(self, standby: StandbyId) -> Answered | Failed:
        held = self._standbys.get(standby)
        if held is None:
            return Failed(_no_slot(standby.number))
        return Answered((held.is_current, held.lags()))

    def _in_time(self, connection: Connection, work: _Work) -> Answered | Failed:
        """Do the work in another thread; send the driver a sign of life every second."""
        with self._lock:
            self._working += 1
        done = begun(lambda: _tried(work), "penstock-slot")
        try:
            while True:
                try:
                    return done.result(_BEAT_S)
                except NotYet:
                    send(connection, Alive())
                    _send_lines(connection)
        finally:
            with self._lock:
                self._working -= 1


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
        if time.monotonic() - self._last > _QUIET_S:
            self.end()

    def end(self) -> None:
        """Return to the usual switch interval now."""
        if self._is_short:
            self._is_short = False
            sys.setswitchinterval(self._usual_s)


def _send_lines(connection: Connection) -> None:
    lines = CAPTURED.take()
    if lines:
        send(connection, Printed(tuple(lines)))


def _tried(work: _Work) -> Answered | Failed:
    """Do the work; return its result, or its error as an answer."""
    try:
        return Answered(work())
    except BaseException as error:  # noqa: BLE001 - it is sent to the driver
        return Failed(portable(as_streams_error(error)))


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


def _seen(slot: Slot, question: Look) -> list[Any]:
    """Look at a slot from outside, also while it runs a stage."""
    match question:
        case AskRestores():
            return slot.restoring()
        case AskDoing():
            return doing(slot)
        case AskMeasures():
            return slot_measures(slot)
        case TakeTraces(_, watch):
            return [slot.traces.take(watch)]
        case _:
            assert_never(question)


def _becomes_free(slot: Slot) -> bool:
    """Tell whether a slot ends its request in a moment; it may be inside a user's function."""
    if not slot.lock.acquire(timeout=_BUSY_S):
        return False
    slot.lock.release()
    return True


def _no_slot(number: int) -> StreamsError:
    return StreamsError(
        "slot-unreachable",
        f"slot {number} is not in this process any more",
        fix="ask again when the next batch has run",
    )
