"""The Kafka cluster of a run: several brokers, each its own process, port and folder."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import uuid
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field

from penstock.kafka.broker_folder import HOST, BrokerFolder, free_port, is_free
from penstock.kafka.broker_process import java_command, wait_until_ready
from penstock.kafka.class_archive import JAVA_OPTIONS
from penstock.kafka.distribution import Distribution
from penstock.kafka.installation import ensure_installed
from tests.cluster.hosts import Host, Nest, end

_HEAP = "-Xmx384m"


@dataclass
class Broker:
    """One broker. It may be killed, paused and started again; port and data stay the same."""

    number: int
    port: int
    controller_port: int
    host: Host
    process: subprocess.Popen[bytes] | None = None
    is_paused: bool = False
    #: Whether a fault has taken it away.
    is_away: bool = False

    @property
    def folder(self) -> BrokerFolder:
        return BrokerFolder(self.host.folder)

    @property
    def is_up(self) -> bool:
        return self.process is not None and self.process.poll() is None and not self.is_paused


@dataclass
class Brokers:
    """All brokers of a run: combined brokers and controllers with one quorum."""

    nest: Nest
    count: int
    brokers: list[Broker] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._java, self._distribution = ensure_installed()
        ports = _free_ports(2 * self.count)
        for number in range(1, self.count + 1):
            # Its data is named by its real path, so it has to see the real folders.
            host = self.nest.host(f"broker-{number}", keeps_to_itself=False)
            self.brokers.append(Broker(number, ports.pop(), ports.pop(), host))
        cluster_id = _kafka_uuid()
        for broker in self.brokers:
            _format(broker, self._distribution, cluster_id)

    @property
    def replication(self) -> int:
        """How many replicas every topic has."""
        return min(3, self.count)

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(f"{HOST}:{broker.port}" for broker in self.brokers)

    @property
    def are_up(self) -> bool:
        return all(broker.is_up for broker in self.brokers)

    def start_all(self) -> None:
        """Start the brokers and return when each has answered a client."""
        for broker in self.brokers:
            self.start(broker)
        for broker in self.brokers:
            assert broker.process is not None
            wait_until_ready(broker.process, broker.folder)

    def start(self, broker: Broker) -> None:
        """Start a broker in its folder, without waiting until it answers."""
        if broker.process is not None and broker.process.poll() is None:
            return
        broker.folder.prepare(self._distribution, broker.port, self._properties(broker))
        command = java_command(self._java, self._distribution, broker.folder)
        heap = next(option for option in JAVA_OPTIONS if option.startswith("-Xmx"))
        command[command.index(heap)] = _HEAP
        broker.process = broker.host.start("broker", command, {})
        broker.is_away = False

    def supervise(self) -> list[str]:
        """Start brokers again that no fault has ended, and say which ones."""
        ended = [
            each
            for each in self.brokers
            if not each.is_away and each.process is not None and each.process.poll() is not None
        ]
        for broker in ended:
            self.start(broker)
        return [f"broker {each.number} ended by itself and was started again" for each in ended]

    def kill(self, broker: Broker) -> None:
        """End a broker as a crash would."""
        broker.is_away = True
        end(broker.process)

    def stop(self, broker: Broker) -> None:
        """Ask a broker to shut down; its partitions move to the others first."""
        broker.is_away = True
        if broker.process is not None and broker.process.poll() is None:
            os.kill(broker.process.pid, signal.SIGTERM)

    def _properties(self, broker: Broker) -> dict[str, str]:
        replicas, in_sync = str(self.replication), "2" if self.replication > 2 else "1"
        voters = (f"{each.number}@{HOST}:{each.controller_port}" for each in self.brokers)
        return {
            "node.id": str(broker.number),
            "listeners": f"PLAINTEXT://{HOST}:{broker.port},"
            f"CONTROLLER://{HOST}:{broker.controller_port}",
            "controller.quorum.voters": ",".join(voters),
            "default.replication.factor": replicas,
            "min.insync.replicas": in_sync,
            "offsets.topic.replication.factor": replicas,
            "transaction.state.log.replication.factor": replicas,
            "transaction.state.log.min.isr": in_sync,
            "share.coordinator.state.topic.replication.factor": replicas,
            "share.coordinator.state.topic.min.isr": in_sync,
            # On a busy machine a broker may miss heartbeats for longer than two seconds.
            "broker.session.timeout.ms": "6000",
            "broker.heartbeat.interval.ms": "1000",
            "controller.quorum.election.timeout.ms": "2000",
            "controller.quorum.fetch.timeout.ms": "4000",
            "replica.lag.time.max.ms": "10000",
        }


def _format(broker: Broker, distribution: Distribution, cluster_id: str) -> None:
    """Prepare the storage of one member; all members have the same cluster id."""
    data = broker.folder.data
    data.mkdir()
    shutil.copyfile(distribution.checkpoint, data / "bootstrap.checkpoint")
    (data / "meta.properties").write_text(
        f"version=1\nnode.id={broker.number}\ncluster.id={cluster_id}\n"
        f"directory.id={_kafka_uuid()}\n",
        encoding="utf-8",
    )


def _free_ports(count: int) -> list[int]:
    """Find different ports that no process listens on."""
    found: set[int] = set()
    while len(found) < count:
        port = free_port()
        if is_free(port):
            found.add(port)
    return sorted(found)


def _kafka_uuid() -> str:
    """Write a UUID as Kafka does; one that starts with a dash would look like an option."""
    text = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    return text if not text.startswith("-") else _kafka_uuid()
