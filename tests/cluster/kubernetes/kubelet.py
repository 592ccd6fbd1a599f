"""A kubelet without containers: a pod is a process on one of the run's hosts."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.kafka.java import java_home_for_spark
from tests.cluster.hosts import ROOT, Host, end
from tests.cluster.kubernetes.objects import Object, Objects, now
from tests.cluster.spark_cluster import Worker
from tests.cluster.yarn.hadoop import SPARK

_ENTRYPOINT = ROOT / "deploy" / "docker" / "entrypoint.sh"


@dataclass
class Pod:
    """The process of a pod. A pod never starts again: Spark makes a new one."""

    name: str
    worker: Worker
    process: subprocess.Popen[bytes]


@dataclass
class Kubelet:
    """Runs the pods that nobody runs yet, on the host with the fewest of them."""

    objects: Objects
    workers: list[Worker]
    namespace: str = "default"
    pods: dict[str, Pod] = field(default_factory=dict)

    def look(self) -> list[str]:
        """Start what is new, end what was deleted, and write down what has ended."""
        events = []
        found, _ = self.objects.list("pods", self.namespace, "spark-role=executor")
        wanted = {each["metadata"]["name"]: each for each in found}
        for name in [name for name in self.pods if name not in wanted]:
            end(self.pods.pop(name).process)
        for name, value in wanted.items():
            pod = self.pods.get(name)
            if pod is None and value["status"]["phase"] == "Pending":
                worker = self._freest()
                if worker is not None:
                    self._start(value, worker)
                    events.append(f"pod {name} runs on host {worker.number}")
            elif pod is not None and pod.process.poll() is not None:
                self._ended(pod)
                events.append(f"pod {name} has ended: {pod.process.returncode}")
        return events

    def _freest(self) -> Worker | None:
        used = [pod.worker for pod in self.pods.values()]
        free = [worker for worker in self.workers if not worker.is_away]
        return min(free, key=used.count, default=None)

    def _start(self, value: Object, worker: Worker) -> None:
        name, host = value["metadata"]["name"], worker.host
        (container,) = value["spec"]["containers"]
        command = ["bash", str(_ENTRYPOINT), *container["args"]]
        process = host.start("pod", command, _environment(value, container, host))
        self.pods[name] = Pod(name, worker, process)

        def run(found: Object) -> None:
            found["status"] = _status("Running", host, container, {"running": {"startedAt": now()}})

        self.objects.change(("pods", self.namespace, name), run)

    def _ended(self, pod: Pod) -> None:
        del self.pods[pod.name]
        code = pod.process.returncode
        # A process that a signal has ended has a negative code; containers have 128 and more.
        state = {"terminated": {"exitCode": code if code >= 0 else 128 - code, "finishedAt": now()}}

        def stop(found: Object) -> None:
            (container,) = found["spec"]["containers"]
            phase = "Succeeded" if code == 0 else "Failed"
            found["status"] = _status(phase, pod.worker.host, container, state)

        self.objects.change(("pods", self.namespace, pod.name), stop)


def _environment(value: Object, container: dict[str, Any], host: Host) -> dict[str, str]:
    """Return the container's variables; volumes are folders in the host's own /tmp."""
    facts = {"status.podIP": host.address, "metadata.name": value["metadata"]["name"]}
    mounts = [each["mountPath"] for each in container.get("volumeMounts", ())]
    found = {}
    for each in container.get("env", ()):
        source = each.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
        text = facts[source] if source else each.get("value") or ""
        found[each["name"]] = f"{host.tmp}{text}" if text in mounts else text
    for path in mounts:
        Path(f"{host.folder}/tmp{path}").mkdir(parents=True, exist_ok=True)
    # What the image sets.
    java = java_home_for_spark() / "bin"
    return {**found, "SPARK_HOME": str(SPARK), "PATH": f"{java}:/usr/bin:/bin"}


def _status(phase: str, host: Host, container: dict[str, Any], state: dict[str, Any]) -> Object:
    is_running = "true" if phase == "Running" else "false"
    return {
        "phase": phase,
        "podIP": host.address,
        "hostIP": host.address,
        "startTime": now(),
        "conditions": [{"type": "Ready", "status": is_running.capitalize()}],
        "containerStatuses": [{
            "name": container["name"], "image": container["image"], "imageID": "",
            "ready": phase == "Running", "restartCount": 0, "state": state,
        }],
    }  # fmt: skip
