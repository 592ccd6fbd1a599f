"""A real Kafka broker on loopback that belongs to one process and ends with it."""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import TracebackType

from penstock.kafka.broker_folder import BrokerFolder, choose_port
from penstock.kafka.broker_listener import HOST, ClientListener
from penstock.kafka.broker_process import (
    end_owned,
    java_command,
    launch_owned,
    wait_until_ready,
)
from penstock.kafka.class_archive import archive_listed_classes
from penstock.kafka.download.jar_download import Progress
from penstock.kafka.errors import BrokerError
from penstock.kafka.installation import ensure_installed

_log = logging.getLogger(__name__)
_STOP_TIMEOUT_S = 30.0
_TRIES = 3


class EmbeddedBroker:
    """A Kafka cluster with one node for this process. Log and storage are in ``folder``.

    It ends with ``stop()``, with the ``with`` block, or with the process, even if that is killed.
    Without ``data_dir``, its folder is deleted. With ``data_dir``, the next broker there has the
    same cluster id, the same data and, if it is free, the same port.

    Args:
        data_dir: where the data is kept; None keeps nothing.
        port: the port to listen on; None is the last port of the folder, or any free one.
        properties: settings of the broker that replace or extend Penstock's.
        listener: how clients reach it, if not by a plain connection; see ``ClientListener``.
        progress: receives messages about the first download; None shows them on the terminal.
    """

    def __init__(
        self,
        data_dir: str | os.PathLike[str] | None = None,
        *,
        port: int | None = None,
        properties: Mapping[str, str] | None = None,
        listener: ClientListener | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._data_dir = None if data_dir is None else Path(data_dir).absolute()
        self._port = port
        self._properties = dict(properties or {})
        self._listener = listener
        self._progress = progress
        self._folder: BrokerFolder | None = None
        self._watchdog: subprocess.Popen[bytes] | None = None
        self._archive_classes: Callable[[], None] | None = None
        self._owner = os.getpid()

    @property
    def bootstrap_servers(self) -> str:
        """The address for clients; with a proxy, that of the proxy."""
        advertised = self._listener.advertised_port if self._listener is not None else None
        return f"{HOST}:{advertised or self.port}"

    @property
    def internal_servers(self) -> str:
        """The address for plain connections, which need no login and no TLS."""
        return f"{HOST}:{self.folder.internal_port}"

    @property
    def port(self) -> int:
        port = self.folder.port
        assert port is not None
        return port

    @property
    def folder(self) -> BrokerFolder:
        """The files of this broker.

        Raises:
            BrokerError: ``broker-not-started``.
        """
        if self._folder is None:
            raise BrokerError(
                "broker-not-started",
                "this broker was not started, or has been stopped",
                fix="call start() first, or use it in a with block",
            )
        return self._folder

    @property
    def cluster_id(self) -> str | None:
        return self.folder.cluster_id

    @property
    def pid(self) -> int | None:
        """The process id of the broker itself."""
        return self.folder.pid

    @property
    def is_running(self) -> bool:
        return self._watchdog is not None and self._watchdog.poll() is None

    def start(self) -> EmbeddedBroker:
        """Start the broker, and return when it answers. If it runs already, do nothing.

        After ``kill()`` it starts again with the same data and port.

        Raises:
            JavaError: no Java was found.
            BrokerError: Kafka cannot be downloaded or does not start; the message has the log.
        """
        if self.is_running:
            return self
        java, distribution = ensure_installed(self._progress)
        folder = self._folder or BrokerFolder(self._data_dir or _scratch_folder())
        self._folder = folder
        self._archive_classes = partial(archive_listed_classes, java, distribution, folder)
        lock = folder.lock()
        try:
            for left in reversed(range(_TRIES)):
                port = choose_port(self._port, folder.port)
                folder.prepare(distribution, port, self._properties, self._listener)
                command = java_command(java, distribution, folder)
                self._watchdog = launch_owned(command, folder, lock, is_scratch=self._is_scratch)
                try:
                    wait_until_ready(self._watchdog, folder)
                    break
                except BrokerError:
                    self._leave()
                    # Another process has taken the port.
                    if not left or "Address already in use" not in folder.log_tail(60):
                        raise
        except BaseException:
            self._leave()
            self._forget()
            raise
        finally:
            # The broker has the lock now. A copy here would be held longer than the broker lives.
            os.close(lock)
        _log.info("broker %s runs in %s", self.bootstrap_servers, folder.root)
        return self

    def stop(self) -> None:
        """Stop the broker. Without ``data_dir``, delete its folder."""
        if self._owner != os.getpid():
            # A forked child has a copy of this object, but the broker belongs to its parent.
            return
        was_running = self.is_running
        self._leave()
        if was_running and self._archive_classes is not None:
            self._archive_classes()
        self._forget()

    def kill(self) -> None:
        """Kill the broker, as a crash would. Data and folder remain for ``start()``."""
        watchdog, pid = self._watchdog, self.pid
        if watchdog is None or watchdog.poll() is not None or pid is None:
            return
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        watchdog.wait(_STOP_TIMEOUT_S)
        self._leave()

    def __enter__(self) -> EmbeddedBroker:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def _is_scratch(self) -> bool:
        return self._data_dir is None

    def _leave(self) -> None:
        if self._watchdog is None:
            return
        if not end_owned(self._watchdog, _STOP_TIMEOUT_S):
            self._kill_orphan()
        self._watchdog = None

    def _kill_orphan(self) -> None:
        pid = self.folder.pid
        if pid is not None and self.folder.is_in_use():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _forget(self) -> None:
        if self._is_scratch and self._folder is not None:
            shutil.rmtree(self._folder.root, ignore_errors=True)
        self._folder = None


_shared: EmbeddedBroker | None = None
_shared_lock = threading.Lock()


def shared_broker() -> EmbeddedBroker:
    """Return the broker of this process, which the first call starts."""
    global _shared  # noqa: PLW0603
    with _shared_lock:
        if _shared is None:
            _shared = EmbeddedBroker()
            atexit.register(_shared.stop)
        return _shared.start() if _shared._owner == os.getpid() else _shared


def _scratch_folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="penstock-broker-")).resolve()
