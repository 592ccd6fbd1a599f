"""The Spark cluster of a run: a standalone master and workers, each worker its own host."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyspark

from penstock.kafka.broker_folder import free_port
from tests.cluster.hosts import Nest, end
from tests.cluster.spark_cluster import Worker, is_listening

_SPARK = Path(os.path.dirname(pyspark.__file__))
_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"
_START_TIMEOUT_S = 60.0
#: The daemons only pass messages: small heaps and a quick start leave more for the executors.
_DAEMON = {
    "SPARK_HOME": str(_SPARK),
    "SPARK_DAEMON_MEMORY": "256m",
    "SPARK_DAEMON_JAVA_OPTS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    "SPARK_LAUNCHER_OPTS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
}


@dataclass
class Standalone:
    """A master and its workers. ``url`` is the application's ``spark.master``."""

    nest: Nest
    workers: list[Worker] = field(default_factory=list)
    #: For each worker: the environment that its host adds, with its tags for instance.
    environments: Sequence[Mapping[str, str]] = ({}, {})
    #: Of each worker.
    cores: int = 1

    def __post_init__(self) -> None:
        self._master_host = self.nest.host("master")
        self._port = free_port()
        for number in range(1, len(self.environments) + 1):
            # Every address 127.x.y.z is the machine itself, and no interface has to be made.
            host = self.nest.host(f"worker-{number}", f"127.0.0.{number + 1}")
            self.workers.append(Worker(number, host))
        self._master: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"spark://{self._master_host.address}:{self._port}"

    @property
    def settings(self) -> dict[str, Any]:
        return {"spark.master": self.url}

    @property
    def variables(self) -> dict[str, str]:
        return {}

    def start_all(self) -> None:
        """Start the master, wait until it listens, and start the workers."""
        self.start_manager()
        for worker in self.workers:
            self.start(worker)

    def start_manager(self) -> None:
        """Start the master and wait until it listens."""
        if self._master is not None and self._master.poll() is None:
            return
        address = self._master_host.address
        command = [str(_SPARK / "bin" / "spark-class"), _MASTER, "--host", address]
        command += ["--port", str(self._port), "--webui-port", "0"]
        self._master = self._master_host.start("master", command, _DAEMON)
        deadline = time.monotonic() + _START_TIMEOUT_S
        while not is_listening(address, self._port):
            assert self._master.poll() is None, self._master_host.log("master").read_text()[-2000:]
            assert time.monotonic() < deadline, "Spark's master did not start"
            time.sleep(0.1)

    def start(self, worker: Worker) -> None:
        """Start the daemon of a worker that does not run."""
        if worker.is_up:
            return
        command = [str(_SPARK / "bin" / "spark-class"), _WORKER, self.url]
        command += ["--host", worker.host.address, "--webui-port", "0"]
        command += ["--cores", str(self.cores), "--memory", "2g"]
        folder = {"SPARK_WORKER_DIR": f"{worker.host.tmp}/work"}
        own = self.environments[worker.number - 1]
        worker.process = worker.host.start("worker", command, {**_DAEMON, **folder, **own})
        worker.is_away = False

    def supervise(self) -> list[str]:
        """Start worker daemons again that no fault has ended, and say which ones."""
        ended = [each for each in self.workers if not each.is_up and not each.is_away]
        for worker in ended:
            self.start(worker)
        return [f"worker daemon {each.number} ended by itself, started again" for each in ended]

    def kill(self, worker: Worker) -> None:
        """End a worker daemon as a crash would; its executors notice by themselves."""
        worker.is_away = True
        end(worker.process)

    def kill_manager(self) -> None:
        end(self._master)

    def close(self) -> None:
        """All files are in the folder of the run."""
