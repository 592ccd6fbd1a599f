"""A real Kafka Connect worker on loopback that belongs to one process and ends with it."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from penstock.connect.distribution import ConnectDistribution, ensure_connect
from penstock.connect.errors import ConnectError
from penstock.connect.rest_client import RestConnect
from penstock.connect.worker_config import worker_properties
from penstock.connect.worker_folder import WorkerFolder
from penstock.kafka.broker_folder import choose_port
from penstock.kafka.broker_process import end_owned, launch_owned
from penstock.kafka.download.jar_download import Progress
from penstock.kafka.installation import terminal_line
from penstock.kafka.java import Java, find_java

_log = logging.getLogger(__name__)
_START_TIMEOUT_S = 120.0
_STOP_TIMEOUT_S = 30.0
_LOOK_EVERY_S = 0.1
_CLASS = "org.apache.kafka.connect.cli.ConnectDistributed"
_JAVA_OPTIONS = (
    "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:+ExitOnOutOfMemoryError",
    "-XX:-UsePerfData",
)  # fmt: skip


class EmbeddedWorker:
    """A Connect worker of this process. It ends with ``stop()`` or with the process.

    It is a distributed worker: its connectors are kept in topics of the cluster, so that the next
    worker of the same service resumes them, and several workers share the work.

    Args:
        cluster: Settings of the connection to Kafka, by Java's names.
        service_id: Workers with the same service id share their connectors.
        plugins: Folders with connectors, in addition to those that Kafka includes.
        properties: Settings of the worker that replace or extend Penstock's.
        progress: Receives messages about the first download; None shows them on the terminal.
    """

    def __init__(
        self,
        cluster: Mapping[str, Any],
        service_id: str,
        *,
        plugins: tuple[Path, ...] = (),
        properties: Mapping[str, str] | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._cluster = dict(cluster)
        self._service_id = service_id
        self._plugins = plugins
        self._properties = dict(properties or {})
        self._progress = progress
        self._folder: WorkerFolder | None = None
        self._watchdog: subprocess.Popen[bytes] | None = None
        self._owner = os.getpid()
        self._is_ready = False
        self._lock = threading.Lock()

    @property
    def folder(self) -> WorkerFolder:
        """The files of this worker.

        Raises:
            ConnectError: ``connect-not-started``.
        """
        if self._folder is None:
            raise ConnectError(
                "connect-not-started",
                "this Connect worker was not started, or has been stopped",
                fix="call start() first, or use it in a with block",
            )
        return self._folder

    @property
    def url(self) -> str:
        return self.folder.url

    @property
    def is_running(self) -> bool:
        return self._watchdog is not None and self._watchdog.poll() is None

    def launch(self, progress: Progress | None = None) -> None:
        """Start the worker's process and return at once. If it runs already, do nothing.

        Args:
            progress: Receives messages about the first download, in place of the worker's own.

        Raises:
            JavaError: no Java was found.
            BrokerError: Kafka Connect cannot be downloaded.
        """
        with self._lock:
            if self.is_running:
                return
            self._discard()
            java, distribution = installed(progress or self._progress)
            folder = WorkerFolder(Path(tempfile.mkdtemp(prefix="penstock-connect-")).resolve())
            self._folder, self._is_ready = folder, False
            lock = folder.lock()
            try:
                port = choose_port(None, None)
                plugins = [distribution.plugins, *(each for each in self._plugins if each.is_dir())]
                properties = worker_properties(
                    self._cluster, self._service_id,
                    port=port, plugins=plugins, given=self._properties,
                )  # fmt: skip
                folder.prepare(port, properties)
                command = worker_command(java, distribution, folder)
                self._watchdog = launch_owned(command, folder, lock, is_scratch=True)
            finally:
                os.close(lock)
            _log.info("a Connect worker starts at %s in %s", folder.url, folder.root)

    def start(self) -> EmbeddedWorker:
        """Start the worker, and return when it is ready for requests.

        Raises:
            ConnectError: ``connect-failed`` or ``connect-slow``; the message has the log.
        """
        self.launch()
        watchdog = self._watchdog
        assert watchdog is not None
        if not self._is_ready:
            with telling(self._progress) as report:
                report("a worker starts, which takes some seconds")
                wait_until_ready(watchdog, self.folder)
            self._is_ready = True
        return self

    def client(self) -> RestConnect:
        """Start the worker if it does not run, and return a client of it."""
        return RestConnect(self.start().url, timeout_s=90.0)

    def stop(self) -> None:
        """Stop the worker and delete its folder; its connectors stay in the cluster's topics."""
        if self._owner != os.getpid():
            # A forked child has a copy of this object, but the worker belongs to its parent.
            return
        self._end()
        self._discard()

    def __enter__(self) -> EmbeddedWorker:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _end(self) -> None:
        """End the worker: first with SIGTERM, so that it can leave its group."""
        watchdog, folder = self._watchdog, self._folder
        if watchdog is None or folder is None:
            return
        pid = folder.pid
        if pid is not None and watchdog.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                watchdog.wait(_STOP_TIMEOUT_S / 2)
        if not end_owned(watchdog, _STOP_TIMEOUT_S) and pid is not None and folder.is_in_use():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._watchdog = None

    def _discard(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder.root, ignore_errors=True)
        self._folder = None


def installed(progress: Progress | None = None) -> tuple[Java, ConnectDistribution]:
    """Find Java and Kafka Connect; download Connect if it is not in the user's cache."""
    java = find_java()
    with telling(progress) as report:
        return java, ensure_connect(java, report)


@contextmanager
def telling(progress: Progress | None) -> Iterator[Progress]:
    """Show what takes so long: to the caller, on a line of the terminal, or once in a log.

    The line of the terminal is cleared at the end, so that the answer or the prompt has it.
    """
    if progress is not None:
        yield progress
        return
    with terminal_line("Kafka Connect") as show:
        if show is not None:
            yield show
            return
        told: set[str] = set()

        def tell_once(text: str) -> None:
            # A download tells its size twice a second, after the name of what it fetches.
            what = text.partition(":")[0]
            if what not in told and sys.stderr is not None:
                print(f"Kafka Connect: {text}", file=sys.stderr, flush=True)
            told.add(what)

        yield tell_once


def worker_command(
    java: Java, distribution: ConnectDistribution, folder: WorkerFolder
) -> list[str]:
    """Return the command line of the worker that ``folder`` was prepared for."""
    return [
        str(java.executable), *_JAVA_OPTIONS, "-Djava.awt.headless=true",
        f"-Djava.io.tmpdir={folder.root / 'tmp'}",
        "-Dorg.slf4j.simpleLogger.showDateTime=true",
        "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss.SSS",
        "-cp", distribution.class_path, _CLASS, str(folder.properties),
    ]  # fmt: skip


def wait_until_ready(process: subprocess.Popen[bytes], folder: WorkerFolder) -> None:
    """Return when the worker has joined its group and answers.

    Raises:
        ConnectError: ``connect-failed`` or ``connect-slow``, with the end of the worker's log.
    """
    deadline = time.monotonic() + _START_TIMEOUT_S
    client = RestConnect(folder.url, timeout_s=5.0)
    while not client.is_ready():
        if process.poll() is not None:
            raise ConnectError(
                "connect-failed",
                f"the Connect worker ended with status {process.returncode} while starting;"
                f" the end of {str(folder.log)!r}:\n{folder.log_tail()}",
                fix="correct what the log complains about: the cluster's address, the settings in"
                " ksql.connect.worker.config, or a connector in the plugin folder",
            )
        if time.monotonic() > deadline:
            raise ConnectError(
                "connect-slow",
                f"the Connect worker was not ready within {_START_TIMEOUT_S:.0f} s;"
                f" the end of {str(folder.log)!r}:\n{folder.log_tail()}",
                fix="look for a machine that is out of memory or processors, then try again",
            )
        time.sleep(_LOOK_EVERY_S)
