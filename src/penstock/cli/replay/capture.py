"""``penstock capture``: turn a range of real records into a test of a program."""

from __future__ import annotations

import heapq
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from confluent_kafka import Message

from penstock.cli.connection import (
    BootstrapOption,
    CommandConfigOption,
    TimeoutOption,
    client_settings,
    connect,
)
from penstock.cli.output import print_done, print_note
from penstock.cli.program import load_program
from penstock.cli.replay.pytest_file import pytest_file, sample_lines
from penstock.cli.replay.time_range import EARLIEST, LATEST, spans_of, time_of
from penstock.errors import InvalidArgumentError
from penstock.kafka.admin_answers import Partition
from penstock.kafka.topic_reader import read_to_end
from penstock.runtime.local.outbox import InputRecord
from penstock.testing.replay import replay


def capture(
    topics: Annotated[list[str], typer.Argument(metavar="TOPIC", help="The topics to read.")],
    program: Annotated[
        str,
        typer.Option("--app", "-a", metavar="APP.PY[:NAME]", help="The program to test."),
    ],
    start: Annotated[
        str,
        typer.Option("--from", metavar="TIME", help="A time, a duration before now, or earliest."),
    ] = EARLIEST,
    end: Annotated[
        str,
        typer.Option("--to", metavar="TIME", help="A time, a duration before now, or latest."),
    ] = LATEST,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="A .py file, or .jsonl: input only."),
    ] = Path("test_captured.py"),
    max_records: Annotated[
        int, typer.Option("--max-records", min=1, help="Refuse a range with more.")
    ] = 10_000,
    bootstrap: BootstrapOption = None,
    command_config: CommandConfigOption = None,
    timeout: TimeoutOption = 10.0,
) -> None:
    """Write a pytest file that replays real records and pins what the program makes of them.

    The test needs no Kafka. The program starts without state, so the output is what it makes of
    these records alone. With --output FILE.jsonl only the records are written, for penstock diff
    and penstock run --demo.
    """
    loaded = load_program(program)
    admin = connect(bootstrap, command_config, timeout)
    spans = spans_of(admin, topics, time_of("--from", start), time_of("--to", end))
    settings = client_settings(bootstrap, command_config, "consumer")
    records = in_order(read_to_end(settings, spans), max_records)
    if not records:
        raise InvalidArgumentError(
            "nothing-captured",
            f"{', '.join(topics)} has no record from {start} to {end}",
            fix="choose a longer range; penstock consume TOPIC --from-beginning --details shows"
            " the times of records",
        )
    if output.suffix == ".jsonl":
        output.write_text(sample_lines(records), encoding="utf-8")
    else:
        partitions = _partitions(spans)
        made = replay(loaded.topology, records, loaded.config, partitions)
        text = pytest_file(output, program, _command(), records, made, partitions)
        output.write_text(text, encoding="utf-8")
        print_note(f"{len(made)} records of output are pinned")
    print_done(f"{len(records)} records written to {output}")


def in_order(messages: Iterable[Message], most: int) -> list[InputRecord]:
    """Return records as a task takes them: of all partitions' next records, the earliest.

    Within a partition the order of the log is kept, even if times go back.

    Raises:
        InvalidArgumentError: ``too-many-records``.
    """
    queues: dict[Partition, list[InputRecord]] = {}
    for number, message in enumerate(messages):
        if number >= most:
            raise InvalidArgumentError(
                "too-many-records",
                f"the range has more than {most:,} records",
                fix="choose a shorter range, or allow more with --max-records",
            )
        record = _record(message)
        queues.setdefault((record.topic, record.partition or 0), []).append(record)
    ordered = [queues[place] for place in sorted(queues)]
    return list(heapq.merge(*ordered, key=lambda record: record.timestamp))


def _record(message: Message) -> InputRecord:
    headers: Any = message.headers() or ()
    return InputRecord(
        str(message.topic()),
        _data(message.key()),
        _data(message.value()),
        int(message.timestamp()[1]),
        tuple((name, data) for name, data in headers),
        message.partition(),
    )


def _data(data: str | bytes | None) -> bytes | None:
    return data.encode() if isinstance(data, str) else data


def _partitions(spans: Iterable[Partition]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for topic, number in spans:
        counts[topic] = max(counts.get(topic, 0), number + 1)
    return {topic: count for topic, count in counts.items() if count > 1}


def _command() -> str:
    return shlex.join(["penstock", *sys.argv[1:]])
