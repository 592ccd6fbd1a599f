"""Write the input of a run at a steady rate, and count what Kafka has acknowledged."""

from __future__ import annotations

import random
import struct
import threading
import time
from collections import Counter
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from tests.cluster.topology import AMOUNTS, LEFT, LINES, RIGHT, SUMMARY_MS

#: Which topic the next record goes to, in turn: the shares of the rate.
_TURN = (LINES, LEFT, AMOUNTS, RIGHT, LINES, AMOUNTS)
_WORDS = tuple(f"word{number}" for number in range(300))
_JOIN_KEYS, _SUM_KEYS = 400, 200
#: Event times go back by at most this much: far less than the join's window and grace.
_DISORDER_MS = 400
#: The last records of each partition begin with this; their stream time ends all stretches.
CLOSER = "closer-"


class Feeder(threading.Thread):
    """Feeds all input topics until ``finish``. Records are never given up: retries are endless."""

    def __init__(
        self,
        bootstrap: str,
        rate: int,
        seed: int,
        partitions: int,
        *,
        partitioner: str = "murmur2_random",
        name: str = "",
    ) -> None:
        """Feed with a partitioner of librdkafka; ``name`` begins all keys but those of words.

        Feeders with different partitioners need different names, so that a key has one partition.
        """
        super().__init__(name="cluster-feeder", daemon=True)
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "partitioner": partitioner,
                "enable.idempotence": True,
                "acks": "all",
                # 0 waits for ever, also when all brokers are away.
                "message.timeout.ms": 0,
                "linger.ms": 10,
                "reconnect.backoff.max.ms": 1000,
                "log_level": 0,
                "error_cb": self._on_error,
            }
        )
        self._rate = rate
        self._name = name
        self._partitions = partitions
        self._random = random.Random(seed)
        self._stopping = threading.Event()
        self._pausing = threading.Event()
        self._extra = 0
        self.sent = 0
        self.acknowledged: Counter[str] = Counter()
        #: Why feeding ended early, or None.
        self.failure: str | None = None

    @property
    def total_acknowledged(self) -> int:
        return self.acknowledged.total()

    def pause(self) -> None:
        """Write nothing until ``resume``. What is not written meanwhile is not made up for."""
        self._pausing.set()

    def resume(self) -> None:
        self._pausing.clear()

    def burst(self, records: int) -> None:
        """Write so many records besides the rate, as fast as Kafka takes them."""
        self._extra += records

    def run(self) -> None:
        due, looked_s = 0.0, time.monotonic()
        while not self._stopping.is_set() and self.failure is None:
            now_s = time.monotonic()
            if not self._pausing.is_set():
                due += (now_s - looked_s) * self._rate
            looked_s = now_s
            # What a stall of the brokers has delayed comes back as fast as the buffer takes it.
            while self.sent < int(due) + self._extra and not self._stopping.is_set():
                self._send(*self._next())
            self._producer.poll(0)
            time.sleep(0.02)

    def stop(self, timeout_s: float = 120.0) -> None:
        """Stop feeding, and wait for all acknowledgements.

        Raises:
            AssertionError: Kafka did not take everything in time.
        """
        self._stopping.set()
        self.join()
        self._flush(timeout_s)

    def finish(self, timeout_s: float = 120.0) -> None:
        """Stop feeding, end the last stretch of stream time, and wait for all acknowledgements.

        Raises:
            AssertionError: Kafka did not take everything in time.
        """
        self._stopping.set()
        self.join()
        now = _now_ms()
        for step in (1, 2, 3):
            for partition in range(self._partitions):
                closer = f"{CLOSER}{partition}"
                at = now + 3 * step * SUMMARY_MS
                self._send(AMOUNTS, closer, struct.pack(">q", 1), at, partition)
        self._flush(timeout_s)

    def _flush(self, timeout_s: float) -> None:
        left = self._producer.flush(timeout_s)
        assert left == 0, f"{left} input records were not acknowledged in {timeout_s:.0f} s"
        assert self.failure is None, self.failure

    def _next(self) -> tuple[str, str, str | bytes, int]:
        """Make the next record: topic, key, value and event time."""
        chance, topic = self._random, _TURN[self.sent % len(_TURN)]
        at = _now_ms() - chance.randrange(_DISORDER_MS)
        if topic == LINES:
            words = " ".join(chance.choices(_WORDS, k=chance.randint(1, 4)))
            return topic, f"line{chance.randrange(100)}", words, at
        if topic == AMOUNTS:
            amount = struct.pack(">q", chance.randint(1, 100))
            return topic, f"{self._name}account{chance.randrange(_SUM_KEYS)}", amount, at
        text = f"{topic[0].upper()}{self._name}{self.sent}"
        return topic, f"{self._name}key{chance.randrange(_JOIN_KEYS)}", text, at

    def _send(
        self, topic: str, key: str, value: str | bytes, at: int, partition: int | None = None
    ) -> None:
        where: dict[str, Any] = {} if partition is None else {"partition": partition}
        while True:
            try:
                self._producer.produce(
                    topic, value, key, timestamp=at, on_delivery=self._on_delivery, **where
                )
                break
            except BufferError:
                self._producer.poll(0.2)
            except KafkaException as error:
                self.failure = f"the feeder cannot write: {error}"
                return
        self.sent += 1

    def _on_delivery(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failure = f"a record of {message.topic()} was not written: {error}"
            return
        self.acknowledged[str(message.topic())] += 1

    def _on_error(self, error: KafkaError) -> None:
        if error.fatal():
            self.failure = f"the feeder's producer failed: {error}"


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
