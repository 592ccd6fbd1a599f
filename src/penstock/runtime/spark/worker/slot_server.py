"""Which worker owns which slot, and how the others reach it: a lock file and a local socket."""

from __future__ import annotations

import contextlib
import fcntl
import gc
import hashlib
import logging
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any

import cloudpickle
import pyarrow as pa

from penstock.errors import PenstockError, StreamsError
from penstock.runtime.spark.exchange.stage_request import Application, Release, StageRequest, WarmUp
from penstock.runtime.spark.worker.queries import answer_query
from penstock.runtime.spark.worker.slot import Slot

log = logging.getLogger(__name__)

_HOSTS: dict[tuple[str, int], SlotServer] = {}
_CONNECT_SECONDS = 20.0


def serve(
    load: Callable[[], Application],
    key: str,
    order: StageRequest | Release | WarmUp,
    number: int,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Runs an order on the slot, here if this worker owns it or nobody does, else there.

    ``load`` unpickles the application, only where it is not known yet; ``key`` names this life of
    it.
    """
    host = _HOSTS.get((key, number))
    if isinstance(order, Release):
        _let_go(host, key, number, order)
        return
    if host is None:
        host = _claim(load, key, number)
    if isinstance(order, WarmUp):
        if host is not None:
            host.slot.warm_up(order.first)
        # What is there by now stays: no search for garbage has to look at it again.
        gc.collect()
        gc.freeze()
        return
    if host is not None:
        yield from host.slot.run(order, batches)
    else:
        yield from _ask_owner(key, number, order, batches)


def _let_go(host: SlotServer | None, key: str, number: int, order: Release) -> None:
    """Closes a slot, wherever it is; one that nobody owns needs nothing."""
    if host is not None:
        host.close(order)
    elif socket_path(key, number).exists():
        with contextlib.suppress(StreamsError):
            ask_slot(key, number, ("close", order))


def ask_slot(key: str, number: int, question: tuple[Any, ...]) -> Any:
    """Asks the owner of a slot on this machine something else: a query of its state, say."""
    with _connect(key, number, patience_s=1.0) as connection:
        return _answer(_exchange(connection, number, question))


class SlotServer:
    """A slot in this worker, with the socket on which other workers and queries reach it."""

    def __init__(self, key: str, number: int, slot: Slot, lock: int) -> None:
        self.slot = slot
        self._key = key
        self._number = number
        self._lock = lock
        path = socket_path(key, number)
        path.unlink(missing_ok=True)
        self._listener = Listener(str(path), family="AF_UNIX", backlog=64)
        threading.Thread(target=self._listen, name=f"slot-{number}", daemon=True).start()

    def close(self, order: Release) -> None:
        _HOSTS.pop((self._key, self._number), None)
        self.slot.close(order.complete)
        self._listener.close()
        socket_path(self._key, self._number).unlink(missing_ok=True)
        os.close(self._lock)

    def _listen(self) -> None:
        while True:
            try:
                connection = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: Connection) -> None:
        with connection:
            try:
                while True:
                    _send(connection, self._handle(_receive(connection)))
            except (EOFError, OSError):
                return

    def _handle(self, question: tuple[Any, ...]) -> tuple[str, Any]:
        kind, *rest = question
        try:
            if kind == "run":
                order, data = rest
                batches = pa.ipc.open_stream(data) if data else ()
                return "ok", _packed(self.slot.run(order, batches))
            if kind == "restoring":
                return "ok", self.slot.restoring()
            if kind == "close":
                self.close(*rest)
                return "ok", None
            return "ok", answer_query(self.slot, *rest)
        except BaseException as error:
            log.exception("slot %d failed to answer", self._number)
            return "error", _portable(error)


def socket_path(key: str, number: int) -> Path:
    """A short path: addresses of local sockets are limited to about a hundred characters."""
    folder = Path(tempfile.gettempdir()) / f"penstock-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    digest = hashlib.sha256(key.encode()).hexdigest()[:16]
    return folder / f"{digest}-{number}.sock"


def _claim(load: Callable[[], Application], key: str, number: int) -> SlotServer | None:
    """Takes the slot if it is free; None if another worker has it."""
    path = socket_path(key, number).with_suffix(".lock")
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    host = SlotServer(key, number, Slot(load(), number), lock)
    _HOSTS[key, number] = host
    return host


def _ask_owner(
    key: str, number: int, order: StageRequest, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    with _connect(key, number, patience_s=_CONNECT_SECONDS) as connection:
        data = _answer(_exchange(connection, number, ("run", order, _packed(batches))))
    if data:
        yield from pa.ipc.open_stream(data)


def _connect(key: str, number: int, *, patience_s: float) -> Connection:
    deadline = time.monotonic() + patience_s
    while True:
        try:
            return Client(str(socket_path(key, number)), family="AF_UNIX")
        except OSError as error:
            if time.monotonic() > deadline:
                raise StreamsError(
                    "slot-unreachable",
                    f"slot {number} is owned by a worker that does not answer: {error}",
                    fix="restart the application; the batch runs again",
                ) from error
            time.sleep(0.05)


def _exchange(connection: Connection, number: int, question: tuple[Any, ...]) -> Any:
    try:
        _send(connection, question)
        return _receive(connection)
    except (EOFError, OSError) as error:
        # Spark ends a worker when any task in it fails, also one of another application.
        raise StreamsError(
            "worker-lost",
            f"the worker that owns slot {number} ended while it was asked: {error!r}",
            fix="nothing of the batch was lost: it runs again; look for out-of-memory kills",
        ) from error


def _send(connection: Connection, message: Any) -> None:
    """Values may be of classes that only the user's program has: those go by value."""
    connection.send_bytes(cloudpickle.dumps(message))


def _receive(connection: Connection) -> Any:
    return cloudpickle.loads(connection.recv_bytes())


def _answer(reply: tuple[str, Any]) -> Any:
    kind, content = reply
    if kind == "error":
        raise content
    return content


def _packed(batches: Iterable[pa.RecordBatch]) -> bytes:
    """Arrow's own stream format; nothing at all for no batches."""
    iterator = iter(batches)
    first = next(iterator, None)
    if first is None:
        return b""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, first.schema) as writer:
        writer.write_batch(first)
        for batch in iterator:
            writer.write_batch(batch)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def _portable(error: BaseException) -> BaseException:
    """An error that survives the way to another process."""
    try:
        cloudpickle.loads(cloudpickle.dumps(error))
        return error
    except Exception:  # noqa: BLE001 - whatever a user's error does when it is pickled
        text = str(error) if isinstance(error, PenstockError) else repr(error)
        return StreamsError("worker-failed", text)
