"""Write to topics of a pattern, which operators delete and create again."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from dataclasses import dataclass

from confluent_kafka import KafkaError, Message, Producer

from tests.cluster.verdict import Check
from tests.ordinary.topology import NOTES

_EVERY_S = 0.1


@dataclass(frozen=True)
class Life:
    """A topic between its creation and its deletion."""

    topic: str
    number: int


class NoteFeeder(threading.Thread):
    """Writes one note to each open topic ten times a second. Each note has its own text."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__(name="ordinary-notes", daemon=True)
        self._servers = bootstrap
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._pausing = threading.Event()
        self._open: dict[str, Producer] = {}
        self._lives: Counter[str] = Counter()
        self._sent = 0
        #: The offset and text of each note that Kafka has, by life and partition.
        self.written: dict[tuple[Life, int], list[tuple[int, str]]] = defaultdict(list)
        #: From which offset on notes may be lost, because their topic was deleted.
        self.deleted: dict[tuple[Life, int], int] = {}
        self.failure: str | None = None
        for topic in NOTES:
            self.open_topic(topic)

    def run(self) -> None:
        while not self._stopping.wait(_EVERY_S):
            if self._pausing.is_set():
                continue
            with self._lock:
                for topic, producer in self._open.items():
                    self._send(topic, producer)

    def pause(self) -> None:
        self._pausing.set()

    def resume(self) -> None:
        self._pausing.clear()

    def open_topic(self, topic: str) -> None:
        """Begin to write to a topic that is new."""
        producer = Producer({"bootstrap.servers": self._servers, "linger.ms": 5, "log_level": 0})
        with self._lock:
            self._lives[topic] += 1
            self._open[topic] = producer

    def close_topic(self, topic: str) -> Life:
        """Write nothing more to a topic, and return the life that is about to end."""
        with self._lock:
            producer = self._open.pop(topic)
            assert producer.flush(30) == 0, f"{topic} did not take all notes"
        return Life(topic, self._lives[topic])

    def note_deletion(self, life: Life, committed: dict[tuple[str, int], int]) -> None:
        """Keep which notes had been read for sure when their topic was deleted."""
        for each, number in list(self.written):
            if each == life:
                self.deleted[life, number] = committed.get((life.topic, number), 0)

    def finish(self) -> None:
        """Stop, and wait until Kafka has all notes."""
        self._stopping.set()
        self.join()
        for topic in list(self._open):
            self.close_topic(topic)
        assert self.failure is None, self.failure

    def ends(self) -> dict[tuple[str, int], int]:
        """Return the end of each partition of the topics that are there."""
        return {
            (life.topic, number): notes[-1][0] + 1
            for (life, number), notes in list(self.written.items())
            if life.number == self._lives[life.topic]
        }

    def _send(self, topic: str, producer: Producer) -> None:
        life = Life(topic, self._lives[topic])
        text = f"{topic}.{life.number}.{self._sent}"
        self._sent += 1

        def on_delivery(error: KafkaError | None, message: Message) -> None:
            partition, offset = message.partition(), message.offset()
            if error is not None or partition is None or offset is None:
                self.failure = f"a note was not written: {error}"
                return
            self.written[life, partition].append((offset, text))

        producer.produce(topic, text, f"note{self._sent % 50}", on_delivery=on_delivery)
        producer.poll(0)


def judge_notes(notes: NoteFeeder, found: list[str]) -> tuple[Check, int]:
    """Compare the notes that came out; return how many were deleted before they were read.

    Notes of a topic that was deleted may be missing from some offset on, never in between.
    """
    check, missed, there = Check("notes of a pattern"), 0, set(found)
    expected: list[str] = []
    for (life, number), written in sorted(notes.written.items(), key=str):
        first_lost = notes.deleted.get((life, number))
        wanted = [text for _, text in sorted(written)]
        if first_lost is not None:
            sure = sum(1 for offset, _ in written if offset < first_lost)
            while len(wanted) > sure and wanted[-1] not in there:
                wanted.pop()
                missed += 1
        expected += wanted
    check.add_bag("notes", expected, found)
    return check, missed
