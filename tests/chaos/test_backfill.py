"""``penstock backfill`` is killed (-9) again and again: nothing is lost, nothing comes twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

import penstock as ps
from penstock.kafka.admin import Admin
from penstock.kafka.embedded import EmbeddedBroker
from tests.chaos import backfill_program
from tests.chaos.backfill_program import FINALS, SOURCE, TOTALS

_ROOT = Path(__file__).resolve().parents[2]
_SIZES = {SOURCE: 2, FINALS: 2, TOTALS: 1}
#: So many records are history; the topic has lost the first of them.
_HISTORY, _ALL, _LOST = 4_000, 5_000, 1_500
#: What a run says when live begins, the first time and later.
_LIVE = ("records of history are in", "done this backfill already")


class Shop:
    """A broker with the topics of the program, and a Parquet file with their first records."""

    def __init__(self, folder: Path, broker: EmbeddedBroker) -> None:
        self._folder, self._servers = folder, broker.bootstrap_servers
        self._admin = Admin({"bootstrap.servers": self._servers})
        for topic, partitions in _SIZES.items():
            self._admin.create_topic(topic, partitions=partitions)
        self.events = [
            (f"k{n % 40}", n, 1_700_000_000_000 + n * 150) for n in range(_ALL)
        ]  # fmt: skip
        producer = Producer({"bootstrap.servers": self._servers, "partitioner": "murmur2_random"})
        for key, number, time_ms in self.events:
            producer.produce(SOURCE, number.to_bytes(8), key, timestamp=time_ms)
        assert producer.flush(60) == 0
        self._write_history()
        self._admin.delete_records({(SOURCE, n): _LOST // 2 for n in range(_SIZES[SOURCE])})

    def _write_history(self) -> None:
        found = [
            each for each in self.read(SOURCE) if each[4] < self.events[_HISTORY][2]
        ]  # fmt: skip
        keys, values, partitions, offsets, times = zip(*found, strict=True)
        table = pa.table(
            {
                "key": pa.array(keys, pa.binary()),
                "value": pa.array(values, pa.binary()),
                "partition": pa.array(partitions, pa.int32()),
                "offset": pa.array(offsets, pa.int64()),
                "timestamp": pa.array(times, pa.timestamp("ms", "UTC")),
            }
        )
        (self._folder / "lake").mkdir()
        pq.write_table(table, self._folder / "lake" / "part-0.parquet", coerce_timestamps="us")

    def read(self, topic: str) -> list[tuple[Any, Any, Any, Any, int]]:
        """Return all committed records: key, value, partition, offset, timestamp."""
        consumer = Consumer(
            {"bootstrap.servers": self._servers, "group.id": "check",
             "isolation.level": "read_committed", "enable.partition.eof": True}
        )  # fmt: skip
        consumer.assign([TopicPartition(topic, n, 0) for n in range(_SIZES[topic])])
        found, ended = [], 0
        while ended < _SIZES[topic]:
            for message in consumer.consume(1_000, 0.5):
                if (error := message.error()) is not None:
                    assert error.code() == KafkaError._PARTITION_EOF, error
                    ended += 1
                else:
                    place = message.partition(), message.offset(), message.timestamp()[1]
                    found.append((message.key(), message.value(), *place))
        consumer.close()
        return found

    def start(self, *options: str) -> subprocess.Popen[str]:
        environment = {
            **os.environ, "PYTHONPATH": f"{_ROOT / 'src'}:{_ROOT}", "PYTHONUNBUFFERED": "1",
            "SHOP_SERVERS": self._servers, "SHOP_STATE": str(self._folder / "state"),
        }  # fmt: skip
        return subprocess.Popen(
            [sys.executable, "-m", "penstock", "backfill", backfill_program.__file__,
             "--input", f"{SOURCE}=parquet:{self._folder / 'lake'}", "--outputs", "topics",
             *options],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=_ROOT,
            env=environment, start_new_session=True,
        )  # fmt: skip

    def kill_after(self, seconds: float, *said: str) -> None:
        """Run it, and kill all its processes so long after it has said one of these."""
        process = self.start()
        assert process.stdout is not None
        heard = []
        for line in process.stdout:
            heard.append(line)
            if any(text in line for text in said):
                break
        else:
            raise AssertionError(f"it ended without saying any of {said}:\n{''.join(heard)}")
        time.sleep(seconds)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(30)


@pytest.fixture
def shop(tmp_path: Path, needs_java: None) -> Iterator[Shop]:
    with EmbeddedBroker(tmp_path / "broker") as broker:
        yield Shop(tmp_path, broker)


def numbers(records: Iterable[tuple[Any, Any, Any, Any, int]]) -> dict[str, list[int]]:
    found = defaultdict(list)
    for key, value, *_ in records:
        found[key.decode()].append(int.from_bytes(value))
    return dict(found)


@pytest.mark.chaos
@pytest.mark.spark
@pytest.mark.kafka
def test_a_backfill_that_is_killed_at_thirty_points_comes_once(shop: Shop) -> None:
    """Ten kills while history is read, ten while it is written, ten when live begins."""
    chance = random.Random(28)
    for part, most_s in (("looking at the ends", 2.0), ("running history", 2.0)):
        for _ in range(5):
            shop.kill_after(chance.uniform(0.0, most_s), part, *_LIVE)
    for _ in range(10):
        shop.kill_after(chance.uniform(0.0, 1.5), "-changelog", *_LIVE)
    for _ in range(10):
        shop.kill_after(chance.uniform(0.0, 8.0), *_LIVE)
    ended = shop.start("--for-idle")
    told, _ = ended.communicate(timeout=240)
    assert ended.returncode == 0, told
    check(shop)


def check(shop: Shop) -> None:
    """Compare outputs with a driver that has seen all records one after the other."""
    with ps.TopologyTestDriver(backfill_program.build(), num_partitions=_SIZES) as driver:
        for key, value, time_ms in shop.events:
            driver.pipe_input(SOURCE, key, value, time_ms)
        finals = defaultdict(list)
        for record in driver.read_records(FINALS):
            finals[record.key].append(record.value)
    assert numbers(shop.read(FINALS)) == finals
    totals = numbers(shop.read(TOTALS))
    assert sum(map(len, totals.values())) == _ALL
    wanted = {f"g{n}": sum(v for _, v, _ in shop.events if v % 3 == n) for n in range(3)}
    assert {key: values[-1] for key, values in totals.items()} == wanted
