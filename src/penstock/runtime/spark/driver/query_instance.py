"""An instance that only answers queries: it follows the changelogs, and needs no Spark."""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Mapping
from typing import Any

from penstock.config import APPLICATION_ID, BOOTSTRAP_SERVERS, StreamsConfig
from penstock.errors import ConfigError, InvalidStateError
from penstock.processor.listeners import StandbyUpdateListener
from penstock.runtime.spark.driver.application_run import ApplicationRun
from penstock.runtime.spark.driver.observing.serving import start_server
from penstock.runtime.spark.driver.stores.asking import Asking
from penstock.runtime.spark.driver.stores.instance_stores import InstanceStores
from penstock.runtime.spark.exchange.stage_request import Restore
from penstock.runtime.states import State
from penstock.serving.server import ServingServer
from penstock.topology.topology import Topology

log = logging.getLogger(__name__)


class QueryInstance(Asking):
    """Keeps copies of all stores of an application that other instances run, and answers queries.

    It never leads and processes nothing. With ``application.server`` it answers over HTTP.

    Args:
        topology: the topology of the application, which names the stores.
        config: the settings of the application; ``state.dir`` must be this process's own.
    """

    def __init__(self, topology: Topology, config: Mapping[str, Any]) -> None:
        self.topology = topology
        self._config = StreamsConfig(config)
        for setting in (APPLICATION_ID, BOOTSTRAP_SERVERS):
            if not self._config[setting]:
                raise ConfigError(
                    "missing-setting",
                    f"{setting.name} is not set",
                    fix="name the application that is to be asked, and its Kafka cluster",
                )
        self.state = State.CREATED
        self.error: Exception | None = None
        self._run: ApplicationRun | None = None
        self._server: ServingServer | None = None
        self._listener: StandbyUpdateListener | None = None
        self._closing = threading.Event()

    def set_standby_update_listener(self, listener: StandbyUpdateListener) -> None:
        """Call ``listener`` when the copies follow their changelogs; set it before ``start()``."""
        self._listener = listener

    def start(self) -> None:
        """Begin to follow the changelogs, and return at once; ``restoring`` shows the progress."""
        if self.state is not State.CREATED:
            raise InvalidStateError(
                "already-started",
                f"the instance is {self.state.value}: it can be started only once",
                fix="make a new one",
            )
        self.state = State.REBALANCING
        run = ApplicationRun(self.topology.graph, self._config, 1, secrets.token_bytes(32))
        self._server = start_server(self, self._config, lambda: self._run)
        try:
            run.standby_listener = self._listener
            observing = run.observe()
            self._run = run
            run.stand_by(observing)
        except BaseException:
            self._run = run
            self.close()
            self.state = State.ERROR
            raise
        self.state = State.RUNNING

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it is closed; false if it is still open after ``seconds``."""
        return self._closing.wait(seconds)

    def close(self) -> None:
        """Stop following, and close the copies; they stay on disk for the next start."""
        self._closing.set()
        run, self._run = self._run, None
        if run is not None:
            run.stop(patience_s=0.0)
        server, self._server = self._server, None
        if server is not None:
            server.stop()
        self.state = State.NOT_RUNNING

    def __enter__(self) -> QueryInstance:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def waiting_for(self) -> str | None:
        """Why it cannot answer yet; None if it can."""
        run = self._run
        copies = None if run is None else run.copies
        if copies is None or copies.target is None:
            return "the application has not completed a batch yet"
        return "copies are catching up" if copies.cut is None else None

    def restoring(self) -> list[Restore]:
        """Return the stores that are being restored, with their progress."""
        run = self._run
        copies = None if run is None else run.copies
        return [] if copies is None else copies.restoring()

    def _stores(self) -> InstanceStores:
        run = self._run
        if run is None or run.plan is None or self.state is not State.RUNNING:
            raise InvalidStateError(
                "not-running", f"the instance is {self.state.value}", fix="call start() first"
            )
        return InstanceStores(run, run.plan, None)
