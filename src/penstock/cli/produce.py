"""``penstock produce``: write records to a topic, from arguments or from standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from penstock.cli.connection import (
    BootstrapOption,
    CommandConfigOption,
    TimeoutOption,
    client_settings,
    connect,
)
from penstock.cli.output import JsonOption, print_done, print_json, print_note
from penstock.cli.text_format import KeySerdeOption, TextFormat, ValueSerdeOption, text_format
from penstock.errors import InvalidArgumentError
from penstock.kafka.admin_failures import explained, unknown_partition
from penstock.kafka.clients import new_producer, sendable_time
from penstock.kafka.errors import KafkaRequestError


@dataclass(frozen=True, slots=True)
class _Line:
    """The options that all records of one call share; turns a line into a record."""

    topic: str
    key: str | None
    separator: str | None
    null: str | None
    key_format: TextFormat
    value_format: TextFormat

    def parsed(self, text: str) -> tuple[bytes | None, bytes | None]:
        key, value = self.key, text
        if self.separator is not None:
            key, found, value = text.partition(self.separator)
            if not found:
                raise InvalidArgumentError(
                    "no-key",
                    f"{text!r} has no separator {self.separator!r}",
                    fix="write KEY" + self.separator + "VALUE, or choose another --key-separator",
                )
        return self._bytes(self.key_format, key), self._bytes(self.value_format, value)

    def _bytes(self, form: TextFormat, text: str | None) -> bytes | None:
        return None if text is None or text == self.null else form.to_bytes(self.topic, text)


def produce(
    topic: Annotated[str, typer.Argument(help="The topic to write to.")],
    messages: Annotated[
        list[str] | None,
        typer.Argument(metavar="VALUE", help="The values; without any, lines of stdin."),
    ] = None,
    key: Annotated[str | None, typer.Option("--key", help="The key of every record.")] = None,
    key_separator: Annotated[
        str | None,
        typer.Option("--key-separator", "-s", metavar="TEXT", help="Each line is KEY TEXT VALUE."),
    ] = None,
    key_serde: KeySerdeOption = "string",
    value_serde: ValueSerdeOption = "string",
    null: Annotated[
        str | None,
        typer.Option("--null", metavar="TEXT", help="This text means no value (a delete)."),
    ] = None,
    header: Annotated[
        list[str] | None, typer.Option("--header", "-H", metavar="NAME=VALUE")
    ] = None,
    timestamp: Annotated[
        str | None,
        typer.Option("--timestamp", "-t", metavar="TIME", help="Milliseconds or ISO 8601."),
    ] = None,
    partition: Annotated[int | None, typer.Option("--partition", "-p", min=0)] = None,
    bootstrap: BootstrapOption = None,
    command_config: CommandConfigOption = None,
    timeout: TimeoutOption = 10.0,
    as_json: JsonOption = False,
) -> None:
    """Write records to a topic, from the arguments or from standard input."""
    if key is not None and key_separator is not None:
        raise typer.BadParameter("use one of --key and --key-separator", param_hint="--key")
    line = _Line(
        topic, key, key_separator, null,
        text_format("--key-serde", key_serde), text_format("--value-serde", value_serde),
    )  # fmt: skip
    options: dict[str, Any] = {"headers": [_header(text) for text in header or ()]}
    if timestamp is not None:
        options["timestamp"] = _sendable(_time(timestamp))
    if partition is not None:
        options["partition"] = partition
    partitions = len(connect(bootstrap, command_config, timeout).topic(topic).partitions)
    if partition is not None and partition >= partitions:
        raise unknown_partition(topic, partition, partitions)
    # The partition of a key is the same as with Java's producer.
    settings = {"partitioner": "murmur2_random", "linger.ms": 5} | client_settings(
        bootstrap, command_config, "producer"
    )
    written = _send(new_producer(settings), line, messages or _lines(), options)
    if as_json:
        print_json(written)
    else:
        print_done(f"{len(written)} {'record' if len(written) == 1 else 'records'} to {topic}")


def _send(
    producer: Producer, line: _Line, texts: Iterable[str], options: dict[str, Any]
) -> list[dict[str, Any]]:
    """Write all records in order; records before a line that cannot be encoded stay written."""
    written: list[dict[str, Any]] = []
    failed: list[KafkaError] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            failed.append(error)
        else:
            written.append({"partition": message.partition(), "offset": message.offset()})

    try:
        for number, text in enumerate(texts, 1):
            try:
                key, value = line.parsed(text)
            except InvalidArgumentError as error:
                raise InvalidArgumentError(
                    error.code, error.message, error.fix, at=f"record {number}"
                ) from None
            _enqueue(producer, line.topic, key, value, delivered, options)
    finally:
        producer.flush()
    if failed:
        raise explained(KafkaException(failed[0]), f"write to {line.topic!r}", "the cluster")
    return written


def _enqueue(
    producer: Producer,
    topic: str,
    key: bytes | None,
    value: bytes | None,
    delivered: Any,
    options: dict[str, Any],
) -> None:
    while True:
        try:
            producer.produce(topic, value, key, on_delivery=delivered, **options)
        except BufferError:
            producer.poll(0.1)
        except KafkaException as failure:
            raise KafkaRequestError(
                "kafka-refused", f"cannot write to {topic!r}: {failure.args[0].str()}"
            ) from None
        else:
            producer.poll(0)
            return


def _lines() -> Iterator[str]:
    for text in sys.stdin:
        yield text.rstrip("\r\n")


def _header(text: str) -> tuple[str, bytes]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise typer.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--header")
    return name, value.encode()


def _sendable(time_ms: int) -> int:
    if time_ms < 0:
        raise typer.BadParameter("Kafka has no times before 1970", param_hint="--timestamp")
    sent = sendable_time(time_ms)
    if sent != time_ms:
        print_note(f"Kafka's client cannot write time {time_ms}: the records have {sent} ms")
    return sent


def _time(text: str) -> int:
    if text.isdigit():
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is neither milliseconds nor ISO 8601", param_hint="--timestamp"
        ) from None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return round(aware.timestamp() * 1000)
