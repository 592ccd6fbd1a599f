"""This process among all instances of the application: who leads, who stands in, who has copies."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from penstock.config import APPLICATION_ID, APPLICATION_SERVER, NUM_STANDBY_REPLICAS, StreamsConfig
from penstock.kafka.client_config import consumer_settings, producer_settings
from penstock.processor.listeners import StandbyUpdateListener
from penstock.runtime.spark.driver.instances.beacon import Beacon, Life, Watch
from penstock.runtime.spark.driver.topics import batches_topic
from penstock.runtime.spark.exchange.batch_log import Cut, InstanceRecord, LogNotes
from penstock.runtime.spark.exchange.stage_request import Application
from penstock.runtime.spark.replica.following import ReplicaThread
from penstock.runtime.spark.replica.log_follower import LogFollower
from penstock.runtime.spark.replica.replica import Replica
from penstock.runtime.spark.worker.clients import KafkaClients

log = logging.getLogger(__name__)

#: An instance that is not the next in line waits so long for each that is before it.
_TURN_S = 1.5
#: How long a new instance looks for a leader before it believes that there is none.
_LOOK_S = 3.0
_SWEEP_S = 10.0
_FLUSH_S = 5.0
_CONNECT_S = 1.0


class Instance:
    """Registers in the batch log, shows that it is alive, and watches the instance that leads.

    Args:
        host: the address of this process for other instances.
        leads: tells whether this instance leads.
        changed: called from other threads when something may have changed who should lead.
        may_lead: false for an instance that only answers queries.
    """

    def __init__(
        self,
        config: StreamsConfig,
        host: str,
        *,
        leads: Callable[[], bool],
        changed: Callable[[], None],
        may_lead: bool = True,
    ) -> None:
        self.id = uuid.uuid4().hex
        self._config = config
        self._leads = leads
        self._changed = changed
        self._keeps_copies = not may_lead or config[NUM_STANDBY_REPLICAS] > 0
        self._began = time.monotonic()
        self._gone_since: float | None = None
        self._watch: Watch | None = None
        self._lock = threading.Lock()
        self._copies: ReplicaThread | None = None
        self._closing = threading.Event()
        topic = batches_topic(config[APPLICATION_ID])
        self._notes = LogNotes(topic, producer_settings(config))
        self._beacon = Beacon(host, self.id, leads)
        self.record = InstanceRecord(
            id=self.id,
            pid=os.getpid(),
            host=self._beacon.host,
            port=self._beacon.port,
            server=config[APPLICATION_SERVER] or "",
            started_ms=time.time_ns() // 1_000_000,
            may_lead=may_lead,
            has_copies=self._keeps_copies,
        )
        self._notes.put(f"instance/{self.id}", self.record.to_json())
        self._notes.flush(_FLUSH_S)
        # Copies want a new cut at once. Without them, a slower look saves the broker many fetches.
        self._log = LogFollower(
            topic,
            consumer_settings(config, "restore"),
            self._looked,
            wait_ms=100 if self._keeps_copies else 500,
        )
        threading.Thread(target=self._sweep, name="penstock-instances", daemon=True).start()

    def close(self) -> None:
        """Leave: other instances see at once that this one is gone."""
        self._closing.set()
        self.end_copies()
        self._notes.put(f"instance/{self.id}", None)
        self._notes.flush(_FLUSH_S)
        self._beacon.close()
        with self._lock:
            if self._watch is not None:
                self._watch.close()
        self._log.close()

    # Who leads

    @property
    def leader(self) -> str:
        """The id of the instance that took the newest generation; may be this one."""
        return self._log.state.leader

    @property
    def instances(self) -> Mapping[str, InstanceRecord]:
        """All instances that have registered and not left, by id."""
        return dict(self._log.state.instances)

    @property
    def cut(self) -> Cut | None:
        """The newest complete batch that the batch log tells about."""
        return self._log.state.cut

    def life_of_leader(self) -> Life | None:
        """What is known of the instance that led last; None if that is this one, or nobody."""
        if not self._log.is_current.is_set():
            return Life.UNKNOWN if time.monotonic() - self._began < _LOOK_S else None
        leader = self._log.state.leader
        if leader in ("", self.id):
            return None
        if leader not in self._log.state.instances:
            return Life.GONE
        with self._lock:
            watch = self._watch
        if watch is None or watch.instance != leader:
            return Life.UNKNOWN
        return watch.life

    def is_next(self) -> bool:
        """Whether the leader's process has ended and it is this instance's turn to take over.

        Instances stand in line in the order in which they started. Each one gives those before it
        some time: they may be gone as well.
        """
        if not self.record.may_lead or self.life_of_leader() is not Life.GONE:
            self._gone_since = None
            return False
        now = time.monotonic()
        if self._gone_since is None:
            self._gone_since = now
        line = sorted(
            (each.started_ms, each.id)
            for each in self._log.state.instances.values()
            if each.may_lead and each.id != self._log.state.leader
        )
        place = next((n for n, (_, name) in enumerate(line) if name == self.id), len(line))
        return now - self._gone_since >= place * _TURN_S

    def _looked(self) -> None:
        """Watch whoever leads now, and have the copies follow."""
        state = self._log.state
        record = state.instances.get(state.leader)
        with self._lock:
            if self._watch is not None and self._watch.instance != state.leader:
                self._watch.close()
                self._watch = None
            is_other = record is not None and record.id != self.id
            if record is not None and is_other and self._watch is None:
                self._watch = Watch(record.id, record.host, record.port, self._changed)
        copies = self._copies
        if copies is not None:
            copies.wake()
        self._changed()

    def _sweep(self) -> None:
        """While leading, remove the records of instances whose process has ended."""
        while not self._closing.wait(_SWEEP_S):
            if not self._leads():
                continue
            for record in self.instances.values():
                if record.id != self.id and _has_ended(record):
                    log.info("instance %s at %s is gone", record.id, record.host)
                    self._notes.put(f"instance/{record.id}", None)

    # Copies

    @property
    def copies(self) -> Replica | None:
        """The copies of stores that this instance keeps now; None while it leads."""
        held = self._copies
        return None if held is None else held.replica

    def keep_copies(self, application: Application, listener: StandbyUpdateListener | None) -> None:
        """Begin to follow the changelogs, if this instance should."""
        if not self._keeps_copies or self._copies is not None or self._closing.is_set():
            return
        replica = Replica(application, KafkaClients(application), listener=listener)
        self._copies = ReplicaThread(replica, lambda: self._log.state.cut)

    def end_copies(self, *, is_promoted: bool = False) -> None:
        """Stop following: the tasks themselves need the databases, or the instance ends."""
        copies, self._copies = self._copies, None
        if copies is not None:
            copies.close(is_promoted=is_promoted)


def _has_ended(record: InstanceRecord) -> bool:
    """Whether nothing listens where the instance did."""
    try:
        with contextlib.closing(
            socket.create_connection((record.host, record.port), timeout=_CONNECT_S)
        ):
            return False
    except ConnectionRefusedError:
        return True
    except OSError:
        return False


def instance_host(config: Mapping[str, Any]) -> str:
    """Return the address at which Spark's driver, which is this process, can be reached."""
    given = config.get("spark.driver.host")
    if given:
        return str(given)
    if str(config.get("spark.master", "local")).startswith("local"):
        return "127.0.0.1"
    return socket.gethostbyname(socket.gethostname())
