"""Rare faults on a standalone cluster: ``python -m tests.cluster.hostile --minutes 10 --seed 7``.

Two executors of two cores each run four slots. Disks fill up and folders vanish while executors
use them, the driver's network is cut, a broker stands still for longer than every timeout, and
the cluster's master is killed. The results are compared as in ``python -m tests.cluster``.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.kafka.broker_folder import free_port
from tests.cluster.__main__ import main
from tests.cluster.faults import Faults
from tests.cluster.relay import Relay
from tests.cluster.spark_cluster import Worker
from tests.cluster.standalone import Standalone

KINDS = ("disk", "local_folder", "state_folder", "network", "frozen_broker", "manager", "executor")
#: Executors know the driver by this address, behind which the relay forwards to the real one.
_DRIVER, _RELAY = "127.0.0.1", "127.0.0.9"
_DISK_MB = 96


@dataclass
class Hostile(Standalone):
    """Hosts with small disks and two cores, and a driver behind a relay."""

    cores: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        self._driver_ports = free_port(), free_port()
        self.relays = [Relay(_RELAY, port, _DRIVER) for port in self._driver_ports]
        for worker in self.workers:
            size = f"size={_DISK_MB}m"
            folder = str(worker.host.folder / "tmp")
            subprocess.run(["mount", "-t", "tmpfs", "-o", size, "penstock", folder], check=True)

    @property
    def settings(self) -> dict[str, Any]:
        port, blocks = self._driver_ports
        return {
            **super().settings,
            "num.stream.threads": 4,
            "spark.executor.cores": str(self.cores),
            "spark.executor.memory": "512m",
            "spark.driver.host": _RELAY,
            "spark.driver.bindAddress": _DRIVER,
            "spark.driver.port": str(port),
            "spark.driver.blockManager.port": str(blocks),
        }

    def close(self) -> None:
        for worker in self.workers:
            folder = str(worker.host.folder / "tmp")
            subprocess.run(["umount", "--lazy", folder], check=False, capture_output=True)
        for relay in self.relays:
            relay.close()


class HostileFaults(Faults):
    """Faults that need hosts with small disks, or last longer than every timeout."""

    def disk(self) -> str | None:
        """Fill the disk of a host, and make room again later."""
        worker = self._some_worker()
        if worker is None or len(self.parts.schedule):
            return None
        away, filler = self.chance.uniform(10, 60), worker.host.folder / "tmp" / "filler"
        _fill(filler)
        self.parts.schedule.after(away, lambda: filler.unlink(missing_ok=True))
        return f"disk of host {worker.number} full for {away:.1f} s"

    def local_folder(self) -> str | None:
        """Delete the folder in which Spark's executor keeps its temporary files."""
        return self._delete("spark-local", "Spark's local folder")

    def state_folder(self) -> str | None:
        """Delete the state of all slots of a host while they use it."""
        return self._delete("kafka-streams", "the state folder")

    def network(self) -> str | None:
        """Cut the driver off from the executors for a minute."""
        spark = self.parts.spark
        if not isinstance(spark, Hostile) or len(self.parts.schedule):
            return None
        away = self.chance.uniform(20, 75)
        for relay in spark.relays:
            relay.cut()
            self.parts.schedule.after(away, relay.join)
        return f"driver's network cut for {away:.1f} s"

    def frozen_broker(self) -> str | None:
        """Stop one broker for longer than sessions and transactions last."""
        return self._pause_broker(90.0) if not len(self.parts.schedule) else None

    def _delete(self, name: str, what: str) -> str | None:
        worker = self._some_worker()
        if worker is None:
            return None
        shutil.rmtree(_folder(worker, name), ignore_errors=True)
        return f"deleted {what} of host {worker.number}"


def _folder(worker: Worker, name: str) -> Path:
    return worker.host.folder / "tmp" / name


def _fill(filler: Path) -> None:
    with filler.open("wb", buffering=0) as out, suppress(OSError):
        while True:
            out.write(b"x" * 4096)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Hostile, KINDS, HostileFaults))
