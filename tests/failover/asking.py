"""Ask random instances for random keys while the leader and a replica are killed.

``python -m tests.failover.asking`` does that with one standby, and then without any. Three
instances have a store of 100,000 keys in 4 partitions. At least 10,000 random keys are asked
before any kill, 10,000 from the kill -9 of the leader on, and 10,000 from the kill -9 of a replica
on. Every answer must be the count that plain Python has. A key that gets no answer is asked again,
at another instance, until it has one: that may take 5 seconds with a standby, 15 seconds without.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.kafka.broker_folder import free_port
from tests.failover.app import STORE
from tests.failover.harness import Instances

#: By number of standbys: how long a key may be without an answer, in seconds.
LIMITS_S = {0: 15.0, 1: 5.0}
#: A caller gives up on one instance after this time, and asks another one.
_PATIENCE_S = 2.0
#: An instance that starts is waited for so long, beside other work of the machine.
_START_S = 600.0
#: With so many keys that wait for an answer, an asker asks no new ones.
_MOST_WAITING = 10


@dataclass
class Phase:
    """What was asked from one event to the next."""

    name: str
    asked: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    #: The longest time from the first question about a key to its answer, and which key that was.
    longest: tuple[float, str] = (0.0, "")

    def text(self) -> str:
        answers = ", ".join(f"{count:,} {what}" for what, count in self.answers.most_common())
        return (
            f"  {self.name:16} {self.asked:7,} keys, {len(self.wrong)} wrong, longest without an"
            f" answer {self.longest[0]:.2f} s ({answers})"
        )


class Asker(threading.Thread):
    """Asks one question after the other, and keeps what was wrong and how long keys waited."""

    def __init__(self, ports: list[int], truth: dict[str, int], seed: int) -> None:
        super().__init__(daemon=True)
        self._ports, self._truth = ports, truth
        self._random = random.Random(seed)
        self._closing = threading.Event()
        self._connections: dict[int, http.client.HTTPConnection] = {}
        #: Keys without an answer, with the time of the first question.
        self._waiting: deque[tuple[str, float]] = deque()
        self.phase = Phase("start")

    @property
    def oldest_s(self) -> float:
        """How long the key that has waited longest is without an answer now."""
        since = [began for _, began in list(self._waiting)]
        return time.monotonic() - min(since) if since else 0.0

    def run(self) -> None:
        keys = list(self._truth)
        while not self._closing.is_set() or self._waiting:
            if self._waiting and (len(self._waiting) >= _MOST_WAITING or self._is_turn()):
                key, began = self._waiting.popleft()
                time.sleep(0.02)
            else:
                key, began = self._random.choice(keys), time.monotonic()
                self.phase.asked += 1
            phase = self.phase
            if self._ask(key, self._random.choice(self._ports), phase):
                phase.longest = max(phase.longest, (time.monotonic() - began, key))
            else:
                self._waiting.append((key, began))

    def _is_turn(self) -> bool:
        """Whether a key that waits is asked next, and not a new one."""
        return self._closing.is_set() or self._random.random() < 0.5

    def close(self) -> None:
        """Ask no new keys, and return when all that were asked have an answer."""
        self._closing.set()
        self.join(120)
        assert not self.is_alive(), f"{len(self._waiting)} keys have had no answer for two minutes"

    def _ask(self, key: str, port: int, phase: Phase) -> bool:
        try:
            status, source, body = self._get(port, f"/stores/{STORE}/{key}?stale=true")
        except (OSError, http.client.HTTPException):
            connection = self._connections.pop(port, None)
            if connection is not None:
                connection.close()
            phase.answers["without a connection"] += 1
            return False
        phase.answers[f"{status} {source}".strip()] += 1
        if status == http.client.SERVICE_UNAVAILABLE:
            return False
        if status != http.client.OK or body.get("value") != self._truth[key]:
            phase.wrong.append(f"{key} at {port}: {status} {body}, not {self._truth[key]}")
        return True

    def _get(self, port: int, path: str) -> tuple[int, str, dict[str, Any]]:
        connection = self._connections.get(port)
        if connection is None:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE_S)
            self._connections[port] = connection
        connection.request("GET", path)
        response = connection.getresponse()
        body: dict[str, Any] = json.loads(response.read() or b"{}")
        return response.status, response.getheader("Penstock-Source", ""), body


@dataclass
class Askers:
    """Several askers at once, and the phases that they have been through."""

    ports: list[int]
    truth: dict[str, int]
    count: int
    phases: list[Phase] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.threads = [Asker(self.ports, self.truth, seed) for seed in range(self.count)]
        for thread in self.threads:
            thread.start()

    def during(self, name: str, asks: int, event: Callable[[], object]) -> None:
        """Let an event happen, and go on until so many keys were asked from then on."""
        phases = [Phase(name) for _ in self.threads]
        for thread, phase in zip(self.threads, phases, strict=True):
            thread.phase = phase
        event()
        while sum(each.asked for each in phases) < asks or self.oldest_s > _PATIENCE_S:
            time.sleep(0.05)
        whole = Phase(name)
        for phase in phases:
            whole.asked += phase.asked
            whole.answers += phase.answers
            whole.wrong += phase.wrong
            whole.longest = max(whole.longest, phase.longest)
        self.phases.append(whole)
        print(whole.text(), flush=True)

    @property
    def oldest_s(self) -> float:
        return max(thread.oldest_s for thread in self.threads)

    def close(self) -> None:
        for thread in self.threads:
            thread.close()


def ask_during_kills(folder: Path, keys: int, asks: int, standbys: int, askers: int) -> list[Phase]:
    """Run three instances, kill the leader and then a replica, and ask all the time."""
    ports = [free_port() for _ in range(3)]
    with Instances(folder, rate=0, keys=keys, **{"num.standby.replicas": standbys}) as instances:

        def start(number: int) -> None:
            instances.start(number, **{"application.server": f"127.0.0.1:{ports[number]}"})

        def kill(*, leads: bool) -> None:
            leader = instances.leader()
            assert leader is not None, "nobody leads"
            others = [number for number in instances.processes if number != leader]
            killed.append(leader if leads else others[0])
            instances.kill(killed[-1])

        killed: list[int] = []
        for number in range(3):
            start(number)
        instances.send_each_key(times=2)
        instances.wait_for_all(300)
        instances.wait_until_ready(_START_S)
        asking = Askers(ports, dict(instances.sent), askers)
        asking.during("before", asks, lambda: None)
        asking.during("leader killed", asks, lambda: kill(leads=True))
        start(killed[-1])
        # Who comes back is asked, too, from its first moment on.
        asking.during("it comes back", asks // 3, lambda: instances.wait_until_ready(_START_S))
        asking.during("replica killed", asks, lambda: kill(leads=False))
        asking.close()
        return asking.phases


def report(phases: list[Phase], standbys: int, limit_s: float) -> tuple[str, bool]:
    """Return the figures, and whether no answer was wrong and none came too late."""
    wrong = [each for phase in phases for each in phase.wrong]
    longest = max(phase.longest[0] for phase in phases)
    is_good = not wrong and longest <= limit_s
    title = (
        f"{standbys} standbys: {sum(phase.asked for phase in phases):,} keys asked, {len(wrong)}"
        f" wrong, longest without an answer {longest:.2f} s of {limit_s:.0f} s allowed"
    )
    return "\n".join([title, *wrong[:20]]), is_good


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.failover.asking", description=__doc__)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--asks", type=int, default=10_000)
    parser.add_argument("--standbys", type=int, action="append", choices=sorted(LIMITS_S))
    parser.add_argument("--askers", type=int, default=4)
    parser.add_argument("--folder", type=Path, help="keep the logs of the instances here")
    given = parser.parse_args(arguments)
    all_good = True
    for standbys in given.standbys or [1, 0]:
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made) if given.folder is None else given.folder / f"standbys-{standbys}"
            folder.mkdir(parents=True, exist_ok=True)
            phases = ask_during_kills(folder, given.keys, given.asks, standbys, given.askers)
        text, is_good = report(phases, standbys, LIMITS_S[standbys])
        print(text, f"  load of the machine: {os.getloadavg()[0]:.1f}", sep="\n", flush=True)
        all_good &= is_good
    return 0 if all_good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
