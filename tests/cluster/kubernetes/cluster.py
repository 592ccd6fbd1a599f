"""A Kubernetes without containers: Spark's own scheduler for it, and pods that are processes.

The settings are those of ``deploy/kubernetes/application.yaml``, the pods run
``deploy/docker/entrypoint.sh``. What the image holds and Kubernetes' own network are not tried.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import yaml

from tests.cluster.hosts import ROOT, Nest, end
from tests.cluster.kubernetes.api_server import ApiServer
from tests.cluster.kubernetes.kubelet import Kubelet
from tests.cluster.spark_cluster import Worker

_MANIFEST = ROOT / "deploy" / "kubernetes" / "application.yaml"
_DRIVER_POD = "word-count-driver-0"
#: One core for each host, as the other clusters of these tests have.
_SMALL = {
    "spark.executor.cores": "1",
    "spark.executor.memory": "512m",
    "spark.executor.memoryOverhead": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


class Node(Worker):
    """A host that can run pods; it has no daemon of its own."""

    @property
    def is_up(self) -> bool:
        return not self.is_away


@dataclass
class Kubernetes:
    """An API server, and a kubelet for two hosts."""

    nest: Nest
    workers: list[Worker] = field(default_factory=list)

    def __post_init__(self) -> None:
        for number in (1, 2):
            host = self.nest.host(f"node-{number}", f"127.0.0.{number + 1}")
            self.workers.append(Node(number, host))
        self.api = ApiServer()
        self.kubelet = Kubelet(self.api.objects, self.workers)

    @property
    def settings(self) -> dict[str, Any]:
        given = {name: value for name, value in manifest_settings() if name.startswith("spark.")}
        ports = ("spark.driver.port", "spark.driver.blockManager.port")
        return {
            **{name: value for name, value in given.items() if name not in ports},
            **_SMALL,
            "spark.master": f"k8s://{self.api.url}",
            "spark.kubernetes.namespace": self.kubelet.namespace,
            "spark.kubernetes.driver.pod.name": _DRIVER_POD,
        }

    @property
    def variables(self) -> dict[str, str]:
        return {}

    def start_all(self) -> None:
        """Make the pod of the driver, which owns the pods of its executors."""
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": _DRIVER_POD}, "spec": {}}
        namespace = self.kubelet.namespace
        self.api.objects.create("pods", namespace, pod)
        self.api.objects.change(("pods", namespace, _DRIVER_POD), _be_ready)

    def supervise(self) -> list[str]:
        return self.kubelet.look()

    def start(self, worker: Worker) -> None:
        worker.is_away = False

    def kill(self, worker: Worker) -> None:
        """Take a host away: its pods end, and new ones run elsewhere."""
        worker.is_away = True
        for pod in self.kubelet.pods.values():
            if pod.worker is worker:
                end(pod.process)

    def start_manager(self) -> None:
        """The API server always runs."""

    def kill_manager(self) -> None:
        """The API server always runs."""

    def close(self) -> None:
        self.api.close()


def manifest_settings() -> list[tuple[str, str]]:
    """Return the settings that the manifest's driver is started with."""
    manifests = list(yaml.safe_load_all(_MANIFEST.read_text(encoding="utf-8")))
    (deployment,) = [each for each in manifests if each["kind"] == "Deployment"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    given = [arg for arg in container["args"] if arg.startswith("--config=")]
    pairs = [arg.removeprefix("--config=").partition("=") for arg in given]
    return [(name, value) for name, _, value in pairs]


def _be_ready(pod: dict[str, Any]) -> None:
    ready = [{"type": "Ready", "status": "True"}]
    pod["status"] = {"phase": "Running", "podIP": "127.0.0.1", "conditions": ready}
