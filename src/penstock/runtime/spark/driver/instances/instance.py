"""This process among all instances of the application: which leads, and which has copies."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from penstock.config import (
    APPLICATION_ID,
    APPLICATION_SERVER,
    NUM_STANDBY_REPLICAS,
    RACK_AWARE_TAGS,
    StreamsConfig,
)
from penstock.kafka.client_config import consumer_settings, producer_settings
from penstock.processor.listeners import StandbyUpdateListener
from penstock.runtime.spark.driver.instances.beacon import (
    Beacon,
    Life,
    Watch,
    is_loopback,
    look_at,
    this_machine,
)
from penstock.runtime.spark.driver.instances.succession import LastLeader, Succession
from penstock.runtime.spark.driver.topics import batches_topic
from penstock.runtime.spark.exchange.batch_log import (
    Cut,
    InstanceRecord,
    LogNotes,
    LogState,
    read_log,
)
from penstock.runtime.spark.exchange.stage_request import Application
from penstock.runtime.spark.replica.following import ReplicaThread
from penstock.runtime.spark.replica.log_follower import LogFollower
from penstock.runtime.spark.replica.replica import Replica
from penstock.runtime.spark.worker.clients import KafkaClients

log = logging.getLogger(__name__)

#: How long a new instance looks for a leader before it assumes that there is none.
_LOOK_S = 3.0
_SWEEP_S = 10.0
#: After how many failed checks, 10 seconds apart, the record of an instance is removed. Checks are
#: counted, because time also passes while this process is paused.
_FORGET_LOOKS = 12
#: The same for an instance with a loopback address, which other machines cannot check: a day.
_FORGET_LONELY_LOOKS = 8640
_FLUSH_S = 5.0
_CONNECT_S = 1.0
_AT_ONCE = 8


class Instance:
    """Registers in the batch log, shows that it is alive, and watches the instance that leads.

    Args:
        host: the address of this process for other instances.
        leads: tells whether this instance leads.
        changed: called from other threads when another instance may have to lead.
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
        self._succession = Succession(self.id, leads, _lives)
        self._watch: Watch | None = None
        self._lock = threading.Lock()
        self._copies: ReplicaThread | None = None
        self._closing = threading.Event()
        #: Whether this instance has seen its own record in the log.
        self._is_listed = False
        #: By instance: how many checks in a row could not reach it.
        self._lost: Counter[str] = Counter()
        self._told_tags = ""
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
            tags={k: str(of) for k, of in config.with_prefix("client.tag.").items()},
            machine=this_machine(),
        )
        self._notes.put(f"instance/{self.id}", self.record.to_json())
        self._notes.flush(_FLUSH_S)
        # Copies need each new cut at once. Without copies, longer waits save the broker many
        # fetches.
        self._log = LogFollower(
            topic,
            consumer_settings(config, "restore"),
            self._looked,
            wait_ms=100 if self._keeps_copies else 500,
        )
        threading.Thread(target=self._sweep, name="penstock-instances", daemon=True).start()

    def close(self) -> None:
        """Remove this instance from the log, so that others see at once that it has left."""
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
    def log(self) -> LogState:
        """The batch log, as far as this instance has followed it."""
        return self._log.state

    @property
    def instances(self) -> Mapping[str, InstanceRecord]:
        """All instances that have registered and not left, by id."""
        return dict(self._log.state.instances)

    @property
    def cut(self) -> Cut | None:
        """The newest cut in the batch log."""
        return self._log.state.cut

    def life_of_leader(self) -> Life | None:
        """Return the state of the instance that led last; None if that is this one or none."""
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
            record = self._log.state.instances.get(leader)
            return Life.UNKNOWN if record is None or _is_visible(record) else Life.SILENT
        return watch.life

    def is_next(self) -> bool:
        """Tell whether no instance leads any more, and this one is the next to take over.

        Raises:
            StreamsError: the batch log cannot be read.
        """
        if not self.record.may_lead:
            return False
        leader = self._last_leader()
        candidates = [each for each in self.instances.values() if each.may_lead]
        if not self._succession.is_next(leader, candidates):
            return False
        # An instance without a connection to Kafka does not know that another one leads.
        return leader.life is Life.GONE or self._newest_generation() == leader.generation

    def _newest_generation(self) -> int:
        topic = batches_topic(self._config[APPLICATION_ID])
        return read_log(
            topic, consumer_settings(self._config, "restore"), is_whole=False
        ).generation

    def _last_leader(self) -> LastLeader:
        state, life = self._log.state, self.life_of_leader()
        with self._lock:
            watch = self._watch
        # The time since it was noticed counts, also if Spark was still starting here then.
        is_watched = watch is not None and watch.instance == state.leader and watch.life is life
        since = watch.since if watch is not None and is_watched else None
        return LastLeader(state.generation, state.leader, life, since)

    def _looked(self) -> None:
        """Watch the instance that leads now, and wake the copies."""
        state = self._log.state
        record = state.instances.get(state.leader)
        with self._lock:
            if self._watch is not None and self._watch.instance != state.leader:
                self._watch.close()
                self._watch = None
            is_other = record is not None and record.id != self.id and _is_visible(record)
            if record is not None and is_other and self._watch is None:
                self._watch = Watch(
                    record.id, record.host, record.port, self._changed, is_near=_is_near(record)
                )
        self._stay_listed()
        copies = self._copies
        if copies is not None:
            copies.wake()
        self._changed()

    def _stay_listed(self) -> None:
        """Register again if a leader that could not reach this instance has removed its record."""
        if self.id in self._log.state.instances:
            self._is_listed = True
        elif self._is_listed and not self._closing.is_set():
            self._is_listed = False
            log.info("another instance has removed the record of this one; registering again")
            self._notes.put(f"instance/{self.id}", self.record.to_json())

    def _sweep(self) -> None:
        """Remove the records of instances whose process has ended, while this one leads."""
        while not self._closing.wait(_SWEEP_S):
            if not self._leads():
                self._lost.clear()
                continue
            others = [each for each in self.instances.values() if each.id != self.id]
            for record in others:
                if self._is_gone(record):
                    log.info("instance %s at %s is gone", record.id, record.host)
                    self._notes.put(f"instance/{record.id}", None)
            self._warn_of_tags(others)

    def _is_gone(self, record: InstanceRecord) -> bool:
        """Tell whether an instance has ended, or could not be reached for a long time."""
        life = _life(record)
        if life is not Life.SILENT:
            self._lost.pop(record.id, None)
            return life is Life.GONE
        self._lost[record.id] += 1
        most = _FORGET_LOOKS if _is_visible(record) else _FORGET_LONELY_LOOKS
        return self._lost[record.id] > most

    def _warn_of_tags(self, others: list[InstanceRecord]) -> None:
        """Warn once if all copies in other instances are in the same rack as this one."""
        own = self.record.tags
        copies = [each for each in others if each.has_copies]
        same = [
            f"{tag}={own.get(tag)!r}"
            for tag in self._config[RACK_AWARE_TAGS]
            if all(each.tags.get(tag) in (None, own.get(tag)) for each in copies)
        ]
        told = ", ".join(same) if copies else ""
        if told and told != self._told_tags:
            log.warning(
                "no other instance that keeps copies has another tag than %s: start one elsewhere,"
                " and set client.tag.… of every instance", told,
            )  # fmt: skip
        self._told_tags = told

    # Copies

    @property
    def copies(self) -> Replica | None:
        """The copies of stores that this instance keeps now; None while it leads."""
        held = self._copies
        return None if held is None else held.replica

    def keep_copies(self, application: Application, listener: StandbyUpdateListener | None) -> None:
        """Begin to follow the changelogs, if this instance is set to keep copies."""
        if not self._keeps_copies or self._copies is not None or self._closing.is_set():
            return
        replica = Replica(application, KafkaClients(application), listener=listener)
        self._copies = ReplicaThread(replica, lambda: self._log.state.cut)

    def end_copies(self, *, is_promoted: bool = False) -> None:
        """Stop following the changelogs: the tasks need the databases, or the instance ends."""
        copies, self._copies = self._copies, None
        if copies is not None:
            copies.close(is_promoted=is_promoted)


def _is_near(record: InstanceRecord) -> bool:
    """Whether an instance is on this machine."""
    return record.machine == this_machine()


def _is_visible(record: InstanceRecord) -> bool:
    """Whether the address of an instance can be used on this machine."""
    return _is_near(record) or not is_loopback(record.host)


def _life(record: InstanceRecord) -> Life:
    """Connect to an instance once, and return its state."""
    if not _is_visible(record):
        return Life.SILENT
    return look_at(
        record.id, record.host, record.port, is_near=_is_near(record), timeout_s=_CONNECT_S
    )


def _lives(records: Sequence[InstanceRecord]) -> dict[str, Life]:
    """Return the states of instances, asked at the same time: one may not answer for long."""
    if not records:
        return {}
    with ThreadPoolExecutor(_AT_ONCE, "penstock-look") as pool:
        return dict(zip((each.id for each in records), pool.map(_life, records), strict=True))


def instance_host(config: Mapping[str, Any]) -> str:
    """Return the address at which other instances find this process.

    That is where Spark's driver is, or else where ``application.server`` is. An instance that has
    neither is found on its own machine only.
    """
    given = config.get("spark.driver.host")
    if given:
        return str(given)
    server = str(config.get(APPLICATION_SERVER.name) or "").rpartition(":")[0].strip("[]")
    if server and not is_loopback(server):
        return server
    if str(config.get("spark.master", "local")).startswith("local"):
        return "127.0.0.1"
    return socket.gethostbyname(socket.gethostname())
