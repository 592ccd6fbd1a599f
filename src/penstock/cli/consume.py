"""``penstock consume``: print the records of topics, decoded."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import typer
from confluent_kafka import Message
from rich.text import Text

from penstock.cli.connection import (
    BootstrapOption,
    CommandConfigOption,
    TimeoutOption,
    client_settings,
    connect,
)
from penstock.cli.output import JsonOption, err, print_json, print_note
from penstock.cli.text_format import (
    GUESS,
    KeySerdeOption,
    TextFormat,
    ValueSerdeOption,
    as_printable,
    as_text,
    as_time,
    text_format,
    without_controls,
)
from penstock.kafka import topic_reader
from penstock.kafka.admin_answers import Partition
from penstock.kafka.admin_failures import unknown_partition
from penstock.kafka.topic_reader import Positions, has_reached


def consume(
    topics: Annotated[list[str], typer.Argument(metavar="TOPIC", help="The topics to read.")],
    from_beginning: Annotated[
        bool,
        typer.Option("--from-beginning", help="Read what is there, then stop unless --follow."),
    ] = False,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Keep waiting for new records.")
    ] = False,
    max_messages: Annotated[
        int | None, typer.Option("--max-messages", "-n", min=1, help="Stop after this many.")
    ] = None,
    idle: Annotated[
        float | None,
        typer.Option("--idle", min=0.1, metavar="SECONDS", help="Stop when idle for this long."),
    ] = None,
    partition: Annotated[
        int | None, typer.Option("--partition", "-p", min=0, help="Read this partition only.")
    ] = None,
    key_serde: KeySerdeOption = GUESS,
    value_serde: ValueSerdeOption = GUESS,
    isolation_level: Annotated[
        Literal["read_uncommitted", "read_committed"], typer.Option("--isolation-level")
    ] = "read_committed",
    details: Annotated[
        bool, typer.Option("--details", "-d", help="Show place, time and headers too.")
    ] = False,
    bootstrap: BootstrapOption = None,
    command_config: CommandConfigOption = None,
    timeout: TimeoutOption = 10.0,
    as_json: JsonOption = False,
) -> None:
    """Print records: new ones as they come or, --from-beginning, those that are there.

    Without a serde, text is shown as text, and the bytes of a long or an integer as a number.
    Windowed keys are read with windowed:INNER:SIZE (windowed:string:1m) or session:INNER.
    """
    key_format = text_format("--key-serde", key_serde)
    value_format = text_format("--value-serde", value_serde)
    settings = {
        **client_settings(bootstrap, command_config, "consumer"),
        "isolation.level": isolation_level,
    }
    admin = connect(bootstrap, command_config, timeout)
    places = _places(admin, topics, partition, from_beginning)
    ends = None
    if from_beginning and not follow:
        ends = admin.end_offsets(places, committed=isolation_level == "read_committed")
    try:
        for count, message in enumerate(_records(settings, places, ends, idle), 1):
            record = _decoded(message, key_format, value_format)
            if as_json:
                print_json(record, indent=False)
            else:
                _print(record, details)
            if count == max_messages:
                break
    except KeyboardInterrupt:
        print_note("")


def _places(
    admin: Any, topics: list[str], partition: int | None, from_beginning: bool
) -> dict[Partition, int]:
    """Return the chosen partitions and their first offsets.

    Unknown topics are refused here, before anything is read.
    """
    chosen: list[Partition] = []
    for name in topics:
        states = admin.topic(name).partitions
        if partition is not None and partition >= len(states):
            raise unknown_partition(name, partition, len(states))
        chosen += [(name, state.id) for state in states if partition in (None, state.id)]
    # The offsets are taken now: records that arrive while the consumer connects are new records.
    found: dict[Partition, int] = (
        admin.begin_offsets(chosen) if from_beginning else admin.end_offsets(chosen)
    )
    return found


def _records(
    settings: dict[str, Any],
    starts: Positions,
    ends: Positions | None,
    idle_s: float | None,
) -> Iterator[Message]:
    """Yield records up to the ends, if there are any, or until nothing has come for a while."""
    seen, last = dict(starts), time.monotonic()

    def is_over(positions: Positions) -> bool:
        nonlocal seen, last
        if positions != seen:
            seen, last = dict(positions), time.monotonic()
        if ends is not None and has_reached(positions, ends):
            return True
        return idle_s is not None and time.monotonic() - last > idle_s

    return topic_reader.follow(settings, starts, is_over)


def _decoded(message: Message, key: TextFormat, value: TextFormat) -> dict[str, Any]:
    topic = str(message.topic())
    return {
        "topic": topic,
        "partition": message.partition(),
        "offset": message.offset(),
        "timestamp": message.timestamp()[1],
        "key": _field(message, "key", key, topic, message.key()),
        "value": _field(message, "value", value, topic, message.value()),
        "headers": [[name, _header(data)] for name, data in _headers(message)],
    }


def _headers(message: Message) -> list[tuple[str, bytes | None]]:
    # The declared type also covers forms of headers that occur only when writing.
    return list(message.headers() or ())  # type: ignore[arg-type]


def _header(data: bytes | None) -> str | None:
    return None if data is None else as_printable(data)


def _field(message: Message, what: str, form: TextFormat, topic: str, data: Any) -> Any:
    """Decode a key or value; if it cannot be decoded, warn and return it as printable text."""
    try:
        return form.to_plain(topic, data)
    except Exception as error:  # noqa: BLE001
        place = f"{topic} partition {message.partition()} offset {message.offset()}"
        warning = f"{place}: the {what} is not {form.name}: {error}"
        err().print(Text(warning, style="yellow"), soft_wrap=True)
        return as_printable(data)


def _print(record: dict[str, Any], details: bool) -> None:
    """Print one record as a line of fields with tabs between; colours only in a terminal."""
    key, value = (without_controls(as_text(record[part])) for part in ("key", "value"))
    fields = [typer.style(key, fg="cyan"), value]
    if details:
        place = f"{record['topic']}-{record['partition']}@{record['offset']}"
        fields.insert(0, typer.style(f"{as_time(record['timestamp'])}  {place}", dim=True))
        fields += [typer.style(f"{name}={value}", dim=True) for name, value in record["headers"]]
    typer.echo("\t".join(fields))
