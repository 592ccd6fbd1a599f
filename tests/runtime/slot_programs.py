"""Programs for tests of slots in memory, and what these tests read and write."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import penstock as ps
from penstock.runtime.local.memory_kafka import MemoryKafka
from penstock.runtime.local.staged import StagedApplication

#: Makes an application that runs in memory: the fixture ``staged``.
Staged = Callable[..., StagedApplication]
Program = Callable[[ps.StreamsBuilder], None]


def words(builder: ps.StreamsBuilder) -> None:
    """Two stages: every word of a line becomes a key."""
    lines = builder.stream("in", key="string", value="string")
    split = lines.flat_map_values(lambda line: line.split()).select_key(lambda key, word: word)
    split.group_by_key().count("counts").to_stream().to("out")


def random_keys(builder: ps.StreamsBuilder) -> None:
    """Two stages: three records with keys that no second run chooses again."""
    lines = builder.stream("in", key="string", value="string")
    keys = random.Random(7)

    def scattered(key: str, value: str) -> list[tuple[str, str]]:
        return [(str(keys.randrange(20)), value) for _ in range(3)]

    lines.flat_map(scattered).group_by_key().count("counts")


def counting(builder: ps.StreamsBuilder) -> None:
    """One stage."""
    builder.stream("in", key="string", value="string").group_by_key().count("counts")


def new_kafka(partitions: int) -> MemoryKafka:
    made = MemoryKafka(partitions)
    for topic in ("in", "out"):
        made.create(topic)
    return made


def send(kafka: MemoryKafka, *lines: str) -> None:
    for number, line in enumerate(lines):
        kafka.append("in", b"%d" % number, line.encode(), number)


def counts(application: StagedApplication) -> Counter[str]:
    found: Counter[str] = Counter()
    for store in application.stores()["counts"]:
        found.update({key: counted.value for key, counted in store.all()})
    return found
