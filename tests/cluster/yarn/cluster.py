"""A YARN cluster: a resource manager and two node managers, each of them its own host."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.request import urlopen

from penstock.kafka.broker_folder import free_port
from penstock.kafka.java import java_home_for_spark
from penstock.kafka.machine import cache_folder
from tests.cluster.hosts import Host, Nest, end
from tests.cluster.spark_cluster import Worker
from tests.cluster.yarn import settings
from tests.cluster.yarn.hadoop import SPARK, class_path

_SERVER = "org.apache.hadoop.yarn.server"
_RESOURCE_MANAGER = f"{_SERVER}.resourcemanager.ResourceManager"
_NODE_MANAGER = f"{_SERVER}.nodemanager.NodeManager"
_OPTIONS = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_JAVA_SETTINGS = (
    "spark.driver.extraJavaOptions",
    "spark.executor.extraJavaOptions",
    "spark.yarn.am.extraJavaOptions",
)
_START_TIMEOUT_S = 300.0
#: Room for the application master and one executor: the two executors are on different hosts.
_MEMORY_MB = 2560


@dataclass
class Yarn:
    """The servers of YARN. The hosts share one folder, as clusters share HDFS."""

    nest: Nest
    workers: list[Worker] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._manager_host = self.nest.host("resource-manager")
        self._ports = {name: free_port() for name in settings.SERVICES}
        for number in (1, 2):
            host = self.nest.host(f"node-{number}", f"127.0.0.{number + 1}")
            self.workers.append(Worker(number, host))
        self._manager: subprocess.Popen[bytes] | None = None
        #: Not below /tmp, which every host has its own of.
        self._shared = cache_folder() / f"yarn-{self.nest.mark}"

    @property
    def settings(self) -> dict[str, str]:
        return {
            "spark.master": "yarn",
            "spark.executor.instances": "2",
            "spark.executor.memory": "512m",
            "spark.executor.memoryOverhead": "1g",
            "spark.yarn.am.memory": "384m",
            # They only pass messages: a quick start leaves more of the machine for the slots.
            **dict.fromkeys(_JAVA_SETTINGS, " ".join(_OPTIONS[1:])),
            "spark.yarn.jars": f"local:{SPARK}/jars/*",
            "spark.yarn.stagingDir": f"file://{self._shared}/staging",
        }

    @property
    def variables(self) -> dict[str, str]:
        return {"HADOOP_CONF_DIR": str(self._shared / "conf")}

    def start_all(self) -> None:
        """Start the resource manager and the node managers, and wait until it has both."""
        settings.write(self._shared / "conf", self._common())
        self.start_manager()
        self._wait(lambda: self._state() is not None, "the resource manager does not answer")
        for worker in self.workers:
            self.start(worker)
        self._wait(lambda: self._running_nodes() == len(self.workers), "no node managers")

    def start_manager(self) -> None:
        """Start the resource manager, which reads from a file what it knew before."""
        if self._manager is None or self._manager.poll() is not None:
            given = {**self._common(), **settings.of_manager(self._shared / "manager")}
            host = self._manager_host
            self._manager = self._run(host, "resource-manager", given, _RESOURCE_MANAGER)

    def kill_manager(self) -> None:
        """End the resource manager as a crash would."""
        end(self._manager)

    def start(self, worker: Worker) -> None:
        """Start the node manager of a host that has none."""
        if worker.is_up:
            return
        own = {**self._common(), **settings.of_node(worker.host, _MEMORY_MB)}
        worker.process = self._run(worker.host, "node-manager", own, _NODE_MANAGER)
        worker.is_away = False

    def supervise(self) -> list[str]:
        """Start node managers again that no fault has ended, and say which ones."""
        ended = [each for each in self.workers if not each.is_up and not each.is_away]
        for worker in ended:
            self.start(worker)
        return [f"node manager {each.number} ended by itself, started again" for each in ended]

    def kill(self, worker: Worker) -> None:
        """End a node manager as a crash would; its containers go on without it."""
        worker.is_away = True
        end(worker.process)

    def close(self) -> None:
        """Remove what the hosts have shared."""
        shutil.rmtree(self._shared, ignore_errors=True)

    def _common(self) -> dict[str, str]:
        return settings.common(self._manager_host.address, self._ports)

    def _run(
        self, host: Host, name: str, given: dict[str, str], server: str
    ) -> subprocess.Popen[bytes]:
        settings.write(host.folder / "tmp" / "conf", given)
        java = java_home_for_spark() / "bin" / "java"
        logs = f"-Dhadoop.log.dir={host.tmp}/yarn/logs"
        command = [str(java), *_OPTIONS, logs, "-cp", class_path(f"{host.tmp}/conf"), server]
        return host.start(name, command, {})

    def _wait(self, claim: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + _START_TIMEOUT_S
        while not claim():
            has_ended = self._manager is not None and self._manager.poll() is not None
            if has_ended or time.monotonic() > deadline:
                raise AssertionError(f"{what}:\n{self._logs()}")
            time.sleep(0.2)

    def _logs(self) -> str:
        files = [self._manager_host.log("resource-manager")]
        files += [worker.host.log("node-manager") for worker in self.workers]
        return "\n".join(file.read_text()[-2000:] for file in files if file.exists())

    def _state(self) -> dict[str, int] | None:
        """Return what the resource manager counts; None as long as it does not answer."""
        port = self._ports["webapp.address"]
        address = f"http://{self._manager_host.address}:{port}/ws/v1/cluster/metrics"
        try:
            with urlopen(address, timeout=5) as answer:
                found: dict[str, int] = json.loads(answer.read())["clusterMetrics"]
                return found
        except OSError:
            return None

    def _running_nodes(self) -> int:
        return (self._state() or {}).get("activeNodes", 0)
