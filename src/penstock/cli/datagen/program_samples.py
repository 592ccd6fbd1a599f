"""``penstock datagen --program``: write the samples of a program or script to a broker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from penstock.cli.datagen.sender import RowSender, paced
from penstock.cli.live.sample_feed import PER_SECOND, Sample, samples_of
from penstock.cli.program import load_program
from penstock.cli.sql.samples import SAMPLES, prepared_samples
from penstock.errors import InvalidArgumentError
from penstock.kafka.admin import Admin
from penstock.kafka.clients import new_producer
from penstock.runtime.spark.driver.topics import make_topics


def write_program_samples(
    program: str,
    admin: Admin,
    settings: Mapping[str, Any],
    *,
    partitions: int,
    pace: tuple[int | None, float | None, int | None],
) -> dict[str, int]:
    """Make the topics that are missing, write samples, and return how many each topic got.

    Raises:
        InvalidArgumentError: ``no-sample-data``: the program has no samples.
    """
    if program.endswith(".sql"):
        samples = _of_script(Path(program), settings)
    else:
        samples = _of_program(program, admin, partitions)
    producer = new_producer({"partitioner": "murmur2_random", "linger.ms": 5, **settings})
    senders: dict[str, RowSender] = {}
    iterations, rate, start = pace
    try:
        for time_ms, sample in zip(
            paced(iterations, rate or PER_SECOND, start), samples, strict=False
        ):
            if sample.topic not in senders:
                senders[sample.topic] = RowSender(producer, sample.topic)
            at = time_ms if sample.time_ms is None else sample.time_ms
            senders[sample.topic].send(sample.key, sample.value, at)
    except KeyboardInterrupt:
        pass
    for sender in senders.values():
        sender.flush()
    return {topic: sender.written for topic, sender in senders.items()}


def _of_program(program: str, admin: Admin, partitions: int) -> Iterator[Sample]:
    loaded = load_program(program)
    if loaded.samples is None:
        raise _no_samples(program, "it has no function samples()")
    make_topics(admin, loaded.topology.graph, partitions)
    return samples_of(loaded)


def _of_script(script: Path, settings: Mapping[str, Any]) -> Iterator[Sample]:
    if not script.with_name(SAMPLES).is_file():
        raise _no_samples(str(script), f"there is no {SAMPLES} beside it")
    return prepared_samples(script, settings)


def _no_samples(program: str, why: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        "no-sample-data",
        f"{program!r} has no samples: {why}",
        fix=f"write samples() for a program, or {SAMPLES} for a script: penstock init shows both",
    )
