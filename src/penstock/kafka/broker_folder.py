"""The folder of one broker: its files, its lock, and what a start needs in it.

``data/`` is Kafka's storage and ``broker.log`` its log. ``internal-port`` is the port for the
broker itself. The rest is in the folder of every process.
"""

from __future__ import annotations

import base64
import random
import shutil
import socket
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from penstock.kafka.broker_listener import (
    HOST,
    ClientListener,
    client_listeners,
    plain_listeners,
)
from penstock.kafka.distribution import Distribution
from penstock.kafka.errors import BrokerError
from penstock.kafka.processes.process_files import number_in
from penstock.kafka.processes.process_folder import ProcessFolder

# Below the range of ports for outgoing connections. Otherwise a client that tries to reach a broker
# that is down could get the broker's port for its own end, and connect to itself.
_PORTS = range(20_000, 30_000)

_PROPERTIES = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    # There is one node, so there can be one replica.
    "default.replication.factor": "1",
    "min.insync.replicas": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    # With the default of fifty partitions, the first commit would wait for all of them.
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    "share.coordinator.state.topic.num.partitions": "1",
    "auto.create.topics.enable": "false",
    # Retention goes by event time: records of last year would be deleted at once.
    "log.retention.ms": "-1",
    # Tests also have event times in the future.
    "log.message.timestamp.after.max.ms": str(2**63 - 1),
    "group.initial.rebalance.delay.ms": "0",
    # An open transaction of a killed producer blocks readers until it is aborted.
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    # After a crash the node waits for the end of its last session: nine seconds by default.
    "broker.session.timeout.ms": "2000",
    "broker.heartbeat.interval.ms": "500",
    # The heap is small. By default, the log cleaner would use a quarter of it.
    "log.cleaner.dedupe.buffer.size": str(16 * 1024 * 1024),
    "num.network.threads": "2",
    "num.io.threads": "4",
}


@dataclass(frozen=True, slots=True)
class BrokerFolder(ProcessFolder):
    """The files of one broker."""

    @property
    def data(self) -> Path:
        return self.root / "data"

    @property
    def log(self) -> Path:
        return self.root / "broker.log"

    @property
    def properties(self) -> Path:
        return self.root / "server.properties"

    @property
    def internal_port(self) -> int | None:
        """Return the port for plain connections: the only one, unless clients have their own."""
        return number_in(self.root / "internal-port") or self.port

    @property
    def cluster_id(self) -> str | None:
        with suppress(OSError):
            for line in (self.data / "meta.properties").read_text(encoding="utf-8").splitlines():
                if line.startswith("cluster.id="):
                    return line.removeprefix("cluster.id=")
        return None

    def in_use_error(self) -> BrokerError:
        return BrokerError(
            "broker-folder-in-use",
            f"a broker already runs in {str(self.root)!r} (pid {self.pid}, port {self.port})",
            fix=f"use it with --bootstrap {HOST}:{self.port}, stop it with"
            " penstock broker stop, or give another folder",
        )

    def prepare(
        self,
        distribution: Distribution,
        port: int,
        extra: Mapping[str, str],
        listener: ClientListener | None = None,
    ) -> None:
        """Format new storage and write the files of this start. The folder must be locked."""
        self.clear_last_start(port)
        if self.cluster_id is None:
            self._format(distribution)
        controller, internal = free_ports(2, besides=port)
        if listener is None:
            internal = port
            listeners = plain_listeners(port, controller)
        else:
            listeners = client_listeners(listener, port, internal, controller)
        properties = _PROPERTIES | {
            **listeners,
            "controller.quorum.voters": f"1@{HOST}:{controller}",
            "log.dirs": str(self.data),
            **extra,
        }
        lines = "".join(f"{name}={escaped(value)}\n" for name, value in properties.items())
        self.properties.write_text(lines, encoding="utf-8")
        (self.root / "internal-port").write_text(str(internal), encoding="utf-8")

    def _format(self, distribution: Distribution) -> None:
        shutil.rmtree(self.data, ignore_errors=True)
        self.data.mkdir()
        shutil.copyfile(distribution.checkpoint, self.data / "bootstrap.checkpoint")
        meta = self.data / "meta.properties.new"
        meta.write_text(
            f"version=1\nnode.id=1\ncluster.id={_kafka_uuid()}\ndirectory.id={_kafka_uuid()}\n",
            encoding="utf-8",
        )
        meta.rename(self.data / "meta.properties")


def choose_port(wanted: int | None, kept: int | None) -> int:
    """Return the port that was asked for, or the last one, or any free one.

    Raises:
        BrokerError: ``port-in-use`` for a port that was asked for.
    """
    if wanted is None:
        return kept if kept is not None and is_free(kept) else free_port()
    if not is_free(wanted):
        raise BrokerError(
            "port-in-use",
            f"port {wanted} on {HOST} is used by another program",
            fix="give another port, or none to take any that is free",
        )
    return wanted


def free_port() -> int:
    return free_ports(1)[0]


def free_ports(count: int, besides: int | None = None) -> list[int]:
    """Find free ports. Another process may take one before it is used."""
    found: list[int] = []
    for port in random.sample(_PORTS, 200):
        if port != besides and is_free(port):
            found.append(port)
        if len(found) == count:
            return found
    raise BrokerError(
        "no-free-port",
        f"no free port was found between {_PORTS.start} and {_PORTS.stop}",
        fix="name one with port=, or penstock broker start --port N",
    )


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As Kafka does: old connections that are still closing do not block the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def _kafka_uuid() -> str:
    """Return a UUID in Kafka's form that does not start with a dash, as an option would."""
    text = "-"
    while text.startswith("-"):
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    return text


def escaped(value: str) -> str:
    r"""Escape a value for a Java properties file, which is read as Latin-1.

    >>> print(escaped("/home/müller"))
    /home/m\u00fcller
    """
    units = value.replace("\\", "\\\\").encode("utf-16-be")
    codes = (int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2))
    return "".join(chr(code) if code < 128 else f"\\u{code:04x}" for code in codes)
