"""Half an hour at a steady rate: memory, files and windowed state stay flat."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from confluent_kafka import Producer

from penstock.kafka.admin import Admin
from penstock.kafka.embedded import EmbeddedBroker
from penstock.kafka.errors import JavaError
from penstock.kafka.java import find_java
from penstock.state.engine.rocks import open_rocks
from tests.soak.app import COUNTS, EVENTS, TOTALS, USERS
from tests.soak.measures import Sample, sample

pytestmark = [pytest.mark.soak, pytest.mark.spark, pytest.mark.kafka]

MINUTES = float(os.environ.get("PENSTOCK_SOAK_MINUTES", "30"))
PARTITIONS, USER_COUNT, COUNTRIES = 4, 5_000, 20
RATE = 500
#: Event time runs this much faster than the clock, so that windows come and go all the time.
HASTE = 20
SAMPLE_S = 5.0
_ROOT = Path(__file__).resolve().parents[2]


class Feed:
    """Writes events at the rate, in order of time."""

    def __init__(self, bootstrap: str) -> None:
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "partitioner": "murmur2_random", "linger.ms": 20}
        )
        self._chance = random.Random(1)
        self._began = time.monotonic()
        # Brokers refuse records from the future: this ends at the present.
        self._base_ms = time.time_ns() // 1_000_000 - int(MINUTES * 60_000 * HASTE)
        self.sent = 0

    def users(self) -> None:
        for number in range(USER_COUNT):
            user = json.dumps({"country": f"c{number % COUNTRIES}"})
            self._producer.produce(USERS, user, f"u{number}", timestamp=self._base_ms - 1)
        assert self._producer.flush(60) == 0
        self._began = time.monotonic()

    def catch_up(self) -> None:
        """Sends what is due by now."""
        due = int((time.monotonic() - self._began) * RATE)
        while self.sent < due:
            at = self._base_ms + self.sent * 1000 * HASTE // RATE
            value = json.dumps({"amount": self._chance.randrange(100)})
            key = f"u{self._chance.randrange(USER_COUNT)}"
            self._producer.produce(EVENTS, value, key, timestamp=at)
            self.sent += 1
            self._producer.poll(0)
        self._producer.flush(30)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[EmbeddedBroker]:
    try:
        find_java()
    except JavaError as error:
        pytest.skip(str(error))
    with EmbeddedBroker(tmp_path / "broker") as started:
        yield started


def waiting(admin: Admin) -> int:
    """Records of the input that the application's group has not committed."""
    parts = [(EVENTS, number) for number in range(PARTITIONS)]
    done = admin.group_offsets("soak")
    return sum(end - done.get(part, 0) for part, end in admin.end_offsets(parts).items())


def trend(samples: list[Sample], name: str) -> tuple[float, float]:
    """The means of the second and of the last third; the first third is for warming up."""
    values = [float(getattr(each, name)) for each in samples]
    third = len(values) // 3
    return mean(values[third : 2 * third]), mean(values[2 * third :])


def entries(state_dir: Path, store: str) -> int:
    """What is physically in the databases of a store, expired or not."""
    count = 0
    for folder in state_dir.glob(f"soak/*/rocksdb/{store}"):
        database = open_rocks(folder, store)
        count += sum(1 for _ in database.scan(None, None))
        database.close()
    return count


def report(samples: list[Sample], **more: Any) -> str:
    lines = [f"{len(samples)} samples, {more}"]
    for name in Sample.names():
        values = [getattr(each, name) for each in samples]
        second, last = trend(samples, name)
        lines.append(
            f"{name:12} first {values[0]:10.1f} second third {second:10.1f}"
            f" last third {last:10.1f} last {values[-1]:10.1f} max {max(values):10.1f}"
        )
    return "\n".join(lines)


def test_memory_files_and_windowed_state_stay_flat(
    broker: EmbeddedBroker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last third of the time takes no more than the second third did."""
    bootstrap, state = broker.bootstrap_servers, tmp_path / "state"
    admin = Admin({"bootstrap.servers": bootstrap})
    for topic in (EVENTS, USERS, COUNTS, TOTALS):
        admin.create_topic(topic, partitions=PARTITIONS, config={"retention.ms": "-1"})
    feed = Feed(bootstrap)
    feed.users()
    log = (tmp_path / "app.log").open("wb")
    app = subprocess.Popen(
        [sys.executable, "-m", "tests.soak.app", bootstrap, str(state)],
        stdout=log, stderr=log, cwd=_ROOT, start_new_session=True,
        env={**os.environ, "PYTHONPATH": f"{_ROOT / 'src'}:{_ROOT}"},
    )  # fmt: skip
    samples: list[Sample] = []
    try:
        ends = time.monotonic() + MINUTES * 60
        next_sample = time.monotonic() + SAMPLE_S
        while time.monotonic() < ends:
            feed.catch_up()
            assert app.poll() is None, (tmp_path / "app.log").read_text()[-4_000:]
            if time.monotonic() > next_sample:
                samples.append(sample(app.pid, state, waiting(admin)))
                next_sample += SAMPLE_S
            time.sleep(0.05)
        os.kill(app.pid, signal.SIGTERM)
        assert app.wait(120) == 0
    finally:
        if app.poll() is None:
            os.killpg(app.pid, signal.SIGKILL)
            app.wait()
        log.close()

    windows = entries(state, "per-user-and-minute")
    text = report(samples, sent=feed.sent, window_entries=windows, minutes=MINUTES)
    (tmp_path / "soak.txt").write_text(text, encoding="utf-8")
    with capsys.disabled():
        print(f"\n{text}")

    assert waiting(admin) < RATE * 30, "the application did not keep up"
    for name, slack in (
        ("driver_mb", 1.10), ("jvm_mb", 1.15), ("workers_mb", 1.15), ("open_files", 1.10),
        ("threads", 1.10), ("state_mb", 1.25),
    ):  # fmt: skip
        second, last = trend(samples, name)
        assert last <= second * slack + 5, f"{name} grows: {second:.1f}, then {last:.1f}\n{text}"
    # Segments of a minute are kept for the retention of a minute and a half, and one more.
    in_a_minute = min(USER_COUNT, RATE * 60 // HASTE)
    assert windows <= in_a_minute * 5, f"{windows} entries of windows that are long closed\n{text}"
