"""Ask random instances for random keys while the leader and a replica are killed.

``python -m tests.failover.asking --keys 100000 --asks 10000``: every answer must be the count that
plain Python has. It reports how long each key was without an answer.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import tempfile
import threading
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from penstock.kafka.broker_folder import free_port
from tests.failover.app import STORE
from tests.failover.harness import Instances


class Asker(threading.Thread):
    """Asks one question after the other, and keeps what was wrong and what was not answered."""

    def __init__(self, ports: list[int], truth: dict[str, int], seed: int) -> None:
        super().__init__(daemon=True)
        self._ports, self._truth = ports, truth
        self._random = random.Random(seed)
        self._closing = threading.Event()
        self.answers: Counter[str] = Counter()
        self.wrong: list[str] = []
        #: By key: when it was first not answered, and the longest time without an answer.
        self._since: dict[str, float] = {}
        self.longest: defaultdict[str, float] = defaultdict(float)

    def run(self) -> None:
        keys = list(self._truth)
        unanswered: list[str] = []
        while not self._closing.is_set():
            # A key that got no answer is asked again until it does.
            key = unanswered.pop() if unanswered else self._random.choice(keys)
            if self._ask(key, self._random.choice(self._ports)):
                since = self._since.pop(key, None)
                if since is not None:
                    gap = time.monotonic() - since
                    self.longest[key] = max(self.longest[key], gap)
            else:
                self._since.setdefault(key, time.monotonic())
                unanswered.append(key)
                time.sleep(0.05)

    def close(self) -> None:
        self._closing.set()
        self.join(30)

    def _ask(self, key: str, port: int) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        try:
            connection.request("GET", f"/stores/{STORE}/{key}?stale=true")
            response = connection.getresponse()
            body: dict[str, Any] = json.loads(response.read() or b"{}")
        except (OSError, http.client.HTTPException):
            self.answers["no connection"] += 1
            return False
        finally:
            connection.close()
        self.answers[f"{response.status} {response.getheader('Penstock-Source', '')}"] += 1
        if response.status == http.client.SERVICE_UNAVAILABLE:
            return False
        value = body.get("value")
        if response.status != http.client.OK or value != self._truth[key]:
            self.wrong.append(f"{key} at {port}: {response.status} {body}")
        return True


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.failover.asking")
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--asks", type=int, default=10_000)
    parser.add_argument("--standbys", type=int, default=1)
    parser.add_argument("--askers", type=int, default=4)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(report(Path(folder), given.keys, given.asks, given.standbys, given.askers))


def report(folder: Path, keys: int, asks: int, standbys: int, askers: int) -> str:
    ports = [free_port() for _ in range(3)]
    settings = {"num.standby.replicas": standbys}
    with Instances(folder, rate=0, keys=keys, **settings) as instances:
        for number, port in enumerate(ports):
            instances.start(number, **{"application.server": f"127.0.0.1:{port}"})
        instances.send_each_key(times=2)
        instances.wait_for_all(300)
        instances.wait_until_ready()
        threads = [Asker(ports, dict(instances.sent), seed) for seed in range(askers)]
        for thread in threads:
            thread.start()
        lines = []
        for what in ("before", "leader killed", "replica killed"):
            asked = sum(sum(thread.answers.values()) for thread in threads)
            if what != "before":
                leader = instances.leader()
                others = [number for number in instances.processes if number != leader]
                number = leader if what == "leader killed" else others[0]
                assert number is not None
                instances.kill(number)
            while sum(sum(thread.answers.values()) for thread in threads) < asked + asks // 3:
                time.sleep(0.1)
            if what == "leader killed":
                _wait_for_leader(instances)
            lines.append(f"{what}: {sum(sum(t.answers.values()) for t in threads) - asked} asked")
        for thread in threads:
            thread.close()
        wrong = [each for thread in threads for each in thread.wrong]
        longest = max((max(t.longest.values(), default=0.0) for t in threads), default=0.0)
        answers = sum((thread.answers for thread in threads), Counter[str]())
        if wrong:
            raise SystemExit("\n".join(["wrong answers:", *wrong[:20]]))
        return "\n".join(
            [*lines, f"answers: {dict(answers)}", f"0 wrong; longest without one: {longest:.1f} s"]
        )


def _wait_for_leader(instances: Instances) -> None:
    deadline = time.monotonic() + 60
    while instances.leader() is None and time.monotonic() < deadline:
        time.sleep(0.1)


if __name__ == "__main__":
    main()
