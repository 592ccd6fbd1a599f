"""Dead letters of global tables: written once, with the batch that first reads the record."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import penstock as ps
from penstock.runtime.local.memory_clients import InjectedFaultError
from penstock.runtime.local.memory_kafka import MemoryKafka
from penstock.runtime.local.staged import StagedApplication

Staged = Callable[..., StagedApplication]


@pytest.fixture
def kafka() -> MemoryKafka:
    made = MemoryKafka(2)
    for topic in ("in", "prices", "out", "dead"):
        made.create(topic)
    return made


@pytest.fixture
def staged(kafka: MemoryKafka) -> Iterator[Staged]:
    made: list[StagedApplication] = []

    def make(slots: int = 2) -> StagedApplication:
        builder = ps.StreamsBuilder()
        prices = builder.global_table("prices", key="string", value="long")
        orders = builder.stream("in", key="string", value="string")
        orders.join(prices, lambda order, price: f"{order} {price}", key=lambda key, _: key).to(
            "out"
        )
        config = {
            "application.id": "app", "bootstrap.servers": "memory:9092",
            "deserialization.exception.handler": "continue",
            "errors.dead.letter.queue.topic.name": "dead",
        }  # fmt: skip
        made.append(StagedApplication(builder.build().graph, config, kafka, slots=slots))
        return made[-1]

    yield make
    for each in made:
        each.close()


def feed(kafka: MemoryKafka, number: int) -> None:
    kafka.append("prices", b"a", number.to_bytes(8, "big"), number)
    kafka.append("prices", b"a", f"bad {number}".encode(), number)
    kafka.append("in", b"a", b"order", number)


def letters(kafka: MemoryKafka) -> list[bytes | None]:
    return [record.value for record in kafka.committed if record.topic == "dead"]


def test_each_bad_record_has_one_letter(kafka: MemoryKafka, staged: Staged) -> None:
    """Two slots read it, and only the first one writes."""
    application = staged()
    for number in range(3):
        feed(kafka, number)
        application.run_batch(number)
    assert letters(kafka) == [b"bad 0", b"bad 1", b"bad 2"]
    outputs = [record.value for record in kafka.committed if record.topic == "out"]
    assert outputs == [b"order 0", b"order 1", b"order 2"]


def test_restart_reads_the_table_again_and_writes_no_letter_twice(
    kafka: MemoryKafka, staged: Staged
) -> None:
    """The batch log says how far earlier batches had read."""
    application = staged()
    feed(kafka, 0)
    application.run_batch(0)
    application.restart(lose_state=True)
    feed(kafka, 1)
    application.run_batch(1)
    assert letters(kafka) == [b"bad 0", b"bad 1"]


@pytest.mark.parametrize("is_killed", [False, True])
@pytest.mark.parametrize("when", ["before", "after"])
def test_failed_commit_leaves_one_letter(
    kafka: MemoryKafka, staged: Staged, when: str, *, is_killed: bool
) -> None:
    """Letters are part of the transaction: they come with the rerun, or were there before it."""
    application = staged()
    feed(kafka, 0)
    kafka.fault = lambda number: when if number == 0 else None
    with pytest.raises(InjectedFaultError):
        application.run_batch(0)
    if is_killed:
        application.crash()
    application.run_again()
    assert letters(kafka) == [b"bad 0"]
