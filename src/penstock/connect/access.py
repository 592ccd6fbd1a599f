"""Find the Kafka Connect of an engine: the one at a URL, or a worker of its own."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from penstock.connect.connect import Connect, Connectors
from penstock.connect.errors import ConnectError
from penstock.connect.no_connectors import NoConnectors
from penstock.connect.plugins import project_plugins
from penstock.connect.rest_client import RestConnect
from penstock.connect.worker import EmbeddedWorker
from penstock.connect.worker_config import read_worker_config, storage_topics

URL = "ksql.connect.url"
WORKER_CONFIG = "ksql.connect.worker.config"
PLUGIN_PATH = "ksql.connect.plugin.path"
REQUEST_TIMEOUT = "ksql.connect.request.timeout.ms"
LOGIN = "ksql.connect.basic.auth.user.info"
LOGIN_FILE = "ksql.connect.basic.auth.credentials.file"
_SERVICE_ID = "ksql.service.id"
_DEFAULT_TIMEOUT_MS = "30000"
_log = logging.getLogger(__name__)


class ConnectAccess:
    """The Kafka Connect that the settings of an engine choose, looked up at its first use.

    With ``ksql.connect.url`` it is that one. Without it, a worker is started beside the engine,
    for the cluster that the engine is connected to. Threads may share it.

    Args:
        settings: All settings of the engine.
        cluster: Settings of the connection to Kafka, by Java's names; None without a cluster.
    """

    def __init__(self, settings: Mapping[str, str], cluster: Mapping[str, Any] | None) -> None:
        self._settings = settings
        self._cluster = cluster
        self._worker: EmbeddedWorker | None = None
        #: Requests run at the same time, and all of them must share one worker.
        self._making = threading.Lock()

    def client(self) -> Connect:
        """Return a client; start the worker first if there is neither a URL nor a worker.

        Raises:
            ConnectError: ``no-connect`` with neither a URL nor a cluster, or the worker does not
                start.
        """
        url = self._settings.get(URL)
        if url:
            return RestConnect(url, user=self._login(), timeout_s=self._timeout_s())
        return self._own_worker().client()

    def existing(self, topics: Callable[[], Mapping[str, Any]]) -> Connectors:
        """Return a client for connectors that there are; start no worker if there are none.

        Args:
            topics: Returns the topics of the cluster, which have the connectors of the service.

        Raises:
            ConnectError: as ``client``.
        """
        if self._settings.get(URL) or self._cluster is None or self.has_worker:
            return self.client()
        return self.client() if self._has_connectors(topics()) else NoConnectors()

    def _has_connectors(self, topics: Mapping[str, Any]) -> bool:
        """Return whether somebody has created connectors of the service."""
        return storage_topics(self._service_id)["config.storage.topic"] in topics

    @property
    def has_worker(self) -> bool:
        """Whether a worker of this engine runs; its connectors stop with it."""
        return self._worker is not None and self._worker.is_running

    def resume(self, topics: Callable[[], Mapping[str, Any]]) -> bool:
        """Start the worker again if its service has created connectors before.

        It does not wait until the worker is ready. Return whether there is a worker.

        Args:
            topics: Returns the topics of the cluster; called only if a worker may have to start.
        """
        if self._settings.get(URL) or self._cluster is None or self.has_worker:
            return self.has_worker
        if self._has_connectors(topics()):
            # Somebody may be typing at the terminal by now, so nothing is shown there.
            self._own_worker().launch(_log.info)
        return self.has_worker

    def close(self) -> None:
        """Stop the worker, if one was started. The next worker resumes its connectors."""
        with self._making:
            worker, self._worker = self._worker, None
        if worker is not None:
            worker.stop()

    @property
    def _service_id(self) -> str:
        return str(self._settings.get(_SERVICE_ID) or "default_")

    def _own_worker(self) -> EmbeddedWorker:
        if self._cluster is None:
            raise ConnectError(
                "no-connect",
                "there is no Kafka Connect to ask",
                fix=f"set {URL}, or connect to Kafka: then a worker is started beside the engine",
            )
        with self._making:
            if self._worker is None:
                file = self._settings.get(WORKER_CONFIG)
                self._worker = EmbeddedWorker(
                    self._cluster,
                    self._service_id,
                    plugins=self._plugin_folders(),
                    properties=read_worker_config(file) if file else None,
                )
            return self._worker

    def _plugin_folders(self) -> tuple[Path, ...]:
        given = self._settings.get(PLUGIN_PATH)
        if not given:
            return (project_plugins(),)
        return tuple(Path(each.strip()).absolute() for each in given.split(",") if each.strip())

    def _timeout_s(self) -> float:
        text = self._settings.get(REQUEST_TIMEOUT) or _DEFAULT_TIMEOUT_MS
        try:
            return int(text) / 1000
        except ValueError:
            raise ConnectError(
                "bad-setting",
                f"setting {REQUEST_TIMEOUT!r} cannot be {text!r}",
                fix="give a number of milliseconds",
            ) from None

    def _login(self) -> tuple[str, str] | None:
        text = self._settings.get(LOGIN)
        file = self._settings.get(LOGIN_FILE)
        if not text and file:
            return _login_in(file)
        if not text:
            return None
        name, _, password = text.partition(":")
        return name, password


def _login_in(file: str) -> tuple[str, str]:
    """Read ``username`` and ``password`` from a properties file, as ksqlDB's settings name it."""
    given = read_worker_config(file)
    if "username" not in given or "password" not in given:
        raise ConnectError(
            "connect-login",
            f"{file!r} does not say who logs in to Kafka Connect",
            fix="write two lines: username=… and password=…",
        )
    return given["username"], given["password"]
