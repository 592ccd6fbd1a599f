"""Lose a host with a large store: ``python -m tests.cluster.standby --keys 1000000``.

A count runs on two hosts with one slot each. One of the hosts goes away for good. The time to the
next commit of the lost slot and the records that it read back are told, without and with a standby.

``--zones a,a,b`` starts one host in each of these zones, and tells where slots and copies are.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from penstock.kafka.admin import Admin
from penstock.kafka.errors import KafkaRequestError
from tests.cluster.brokers import Brokers
from tests.cluster.hosts import Host, Nest, signal_all
from tests.cluster.processes import look, sweep
from tests.cluster.standalone import Standalone
from tests.cluster.telling import last_told

PARTITIONS = 4
_APPLICATION = "standby"


@dataclass(frozen=True)
class Lost:
    """What happened after a host was lost."""

    standbys: int
    keys: int
    seconds: float
    restored: int

    def text(self) -> str:
        return (
            f"{self.standbys} standbys, {self.keys:,} keys: next commit of the lost slot after"
            f" {self.seconds:.1f} s, {self.restored:,} records read back"
        )


def lose_a_host(keys: int, standbys: int) -> Lost:
    """Run the application, take a host away, and see how long its slot is missed."""
    with _started(keys, standbys) as (run, cluster), run.fed():
        before = run.told()["restored"]
        hosts = Counter(run.places().values())
        worker = max(cluster.workers, key=lambda each: hosts[each.host.address])
        cluster.kill(worker)
        _kill_host(cluster.nest.mark, worker.host.address)
        began, at = time.monotonic(), run.committed()
        # All partitions of the lost slot: whichever they are, every partition must move on.
        run.wait(lambda: all(run.committed()[p] > at[p] + 5 for p in at), "no commit", 300)
        took = time.monotonic() - began
        time.sleep(2)
        return Lost(standbys, keys, took, run.told()["restored"] - before)


def zones_of_slots(zones: Sequence[str]) -> dict[str, tuple[set[str], set[str]]]:
    """Return for each slot the zones in which it runs, and those in which it has copies.

    Args:
        zones: one host is started for each.
    """
    variables = [{"PENSTOCK_CLIENT_TAG_ZONE": zone} for zone in zones]
    listed = {"rack.aware.assignment.tags": "zone"}
    with _started(1_000, 1, variables, listed) as (run, cluster):
        zone_of = dict(zip((each.host.address for each in cluster.workers), zones, strict=True))
        return {
            slot: ({zone_of[host]}, {zone_of[each] for each in run.copies()[slot]})
            for slot, host in run.places().items()
        }


@contextmanager
def _started(
    keys: int,
    standbys: int,
    environments: Sequence[Mapping[str, str]] = ({}, {}),
    more: Mapping[str, Any] | None = None,
) -> Iterator[tuple[_Run, Standalone]]:
    """Start an application that has counted its input and whose standbys have caught up."""
    folder = Path(tempfile.mkdtemp(prefix="penstock-cluster-")).resolve()
    nest = Nest(folder)
    try:
        brokers = Brokers(nest, 1)
        brokers.start_all()
        admin = Admin({"bootstrap.servers": brokers.bootstrap_servers, "log_level": 0})
        admin.create_topic("in", partitions=PARTITIONS)
        _fill(brokers.bootstrap_servers, keys)
        cluster = Standalone(nest, environments=environments)
        cluster.start_all()
        settings: dict[str, Any] = {
            "application.id": _APPLICATION,
            "bootstrap.servers": brokers.bootstrap_servers,
            "processing.guarantee": "exactly_once_v2",
            "num.stream.threads": 2,
            "num.standby.replicas": standbys,
            "spark.master": cluster.url,
            **(more or {}),
        }
        host = nest.host("driver")
        command = [sys.executable, "-m", "tests.cluster.standby_app", json.dumps(settings)]
        host.start("app", command, {})
        run = _Run(admin, host, brokers.bootstrap_servers)
        run.wait(lambda: run.lag() == 0, "the input is not processed", 300)
        run.wait(lambda: run.has_standbys(standbys), "the standbys do not catch up", 300)
        yield run, cluster
    finally:
        sweep(nest.mark)
        shutil.rmtree(folder, ignore_errors=True)


class _Run:
    def __init__(self, admin: Admin, host: Host, bootstrap: str) -> None:
        self._admin = admin
        self._host = host
        self._bootstrap = bootstrap

    def wait(self, claim: Callable[[], bool], what: str, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not claim():
            if time.monotonic() > deadline:
                log = self._host.log("app").read_text()[-4000:]
                raise AssertionError(f"{what} after {seconds:.0f} s:\n{log}")
            time.sleep(0.1)

    def committed(self) -> dict[int, int]:
        try:
            found = self._admin.group_offsets(_APPLICATION)
        except KafkaRequestError as error:
            # A broker that has just been started has no coordinator for a moment.
            if error.code != "kafka-not-ready":
                raise
            found = {}
        return {number: found.get(("in", number), 0) for number in range(PARTITIONS)}

    def lag(self) -> int:
        ends = self._admin.end_offsets([("in", number) for number in range(PARTITIONS)])
        return sum(ends.values()) - sum(self.committed().values())

    def told(self) -> dict[str, Any]:
        """Return what the application has printed last."""
        return last_told(self._host.log("app"))

    def places(self) -> dict[str, str]:
        """Return the host of each slot."""
        return {slot: _host(at) for slot, at in self.told()["places"].items()}

    def copies(self) -> dict[str, list[str]]:
        """Return the hosts with copies of each slot."""
        return {slot: list(map(_host, at)) for slot, at in self.told()["copies"].items()}

    def has_standbys(self, count: int) -> bool:
        lags = self.told()["standbys"].values()
        return not count or (len(lags) >= 2 and all(lag == 0 for lag in lags))

    @contextmanager
    def fed(self) -> Iterator[None]:
        """Feed every partition a few records a second, in a thread of the producer's own."""
        producer, is_over = Producer({"bootstrap.servers": self._bootstrap}), threading.Event()

        def feed() -> None:
            while not is_over.wait(0.05):
                for number in range(PARTITIONS):
                    producer.produce("in", b"x", f"k{number}", partition=number)
                producer.poll(0)

        thread = threading.Thread(target=feed, daemon=True)
        thread.start()
        try:
            time.sleep(3)
            yield
        finally:
            is_over.set()
            thread.join()
            producer.flush()


def _host(place: str) -> str:
    return place.partition("/")[0]


def _fill(bootstrap: str, keys: int) -> None:
    producer = Producer({
        "bootstrap.servers": bootstrap, "partitioner": "murmur2_random", "linger.ms": 50,
        "queue.buffering.max.messages": 1_000_000,
    })  # fmt: skip
    for number in range(keys):
        while True:
            try:
                producer.produce("in", b"x", f"user-{number}")
                break
            except BufferError:
                producer.poll(0.1)
    producer.flush()


def _kill_host(mark: str, address: str) -> None:
    """Kill the executors of a host and everything below them."""
    table = look(mark)
    gone = {each.pid for each in table.executors() if f"--hostname {address}" in each.command}
    below = {each.pid for each in table._below(gone)}
    signal_all([*gone, *below], signal.SIGKILL)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.cluster.standby", description=__doc__)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--standbys", type=int, action="append")
    parser.add_argument("--zones", type=lambda given: given.split(","))
    given = parser.parse_args(arguments)
    if given.zones:
        for slot, (own, copies) in sorted(zones_of_slots(given.zones).items()):
            print(f"slot {slot}: in zone {', '.join(own)}, copies in {', '.join(copies)}")
        return 0
    for standbys in given.standbys or [0, 1]:
        print(lose_a_host(given.keys, standbys).text(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
