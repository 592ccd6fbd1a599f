"""Input from Kafka's ``VerifiableProducer``, output to its ``VerifiableConsumer``."""

from __future__ import annotations

import json

from tests.verifiers.java_program import JavaProgram, write_properties
from tests.verifiers.trial import Trial, TrialError

_DRAIN_S = 180.0
#: What Java writes while things are killed, at least, and in how much time.
_RECORDS = 5_000
_RATE = 250
_ROUND_S = 300.0
_ACKNOWLEDGED = "producer_send_success"


def feed_through_kills(trial: Trial, topic: str) -> None:
    """Let Java write until each kind has been killed once, and the program has read it all."""
    producer = start_producer(trial, topic, -1, _RATE)
    trial.disturb()
    trial.wait(
        lambda: trial.rounds() >= 1 and producer.text.count(_ACKNOWLEDGED) >= _RECORDS,
        _ROUND_S,
        f"a round of kills, and {_RECORDS} records",
    )
    trial.calm()
    producer.ask_to_end()
    trial.wait(lambda: not producer.is_running, 150.0, "Java's producer to end")
    drain(trial, topic)


def start_producer(
    trial: Trial, topic: str, records: int, rate: int, prefix: int | None = None
) -> JavaProgram:
    """Let Java write the numbers from 0 on, so many in a second; -1 records for no end."""
    arguments = [
        "--topic", topic, "--max-messages", str(records), "--throughput", str(rate),
        "--bootstrap-server", trial.servers,
    ]  # fmt: skip
    if prefix is not None:
        arguments += ["--value-prefix", str(prefix)]
    return trial.java("VerifiableProducer", *arguments, where="tools")


def acknowledged(producer: JavaProgram) -> list[str]:
    """Return the values that Kafka has acknowledged to a producer."""
    return [each["value"] for each in _events(producer) if each["name"] == _ACKNOWLEDGED]


def consume(trial: Trial, topic: str, records: int, timeout_s: float) -> list[str]:
    """Let Java read so many records of a topic from its beginning; return their values."""
    folder = trial.folder / "java"
    settings = write_properties(
        folder / "consumer.properties", {"isolation.level": "read_committed"}
    )
    group = f"verifiers-{topic}-{records}"
    consumer = trial.java(
        "VerifiableConsumer", "--topic", topic, "--group-id", group, "--verbose",
        "--max-messages", str(records), "--bootstrap-server", trial.servers,
        "--command-config", str(settings), where="tools",
    )  # fmt: skip
    try:
        trial.wait(lambda: not consumer.is_running, timeout_s, f"{records} records of {topic}")
    except TrialError:
        found = len(_values(consumer))
        consumer.kill()
        raise TrialError(f"Java read {found} of {records} records of {topic}") from None
    return _values(consumer)


def drain(trial: Trial, topic: str) -> None:
    """Wait until the program has committed everything that is in a topic."""
    ends = trial.end_offsets(topic)
    trial.wait(
        lambda: all(trial.committed().get(each, 0) >= end for each, end in ends.items()),
        _DRAIN_S,
        f"the rest of {topic}",
    )


def _values(consumer: JavaProgram) -> list[str]:
    return [each["value"] for each in _events(consumer) if each["name"] == "record_data"]


def _events(program: JavaProgram) -> list[dict[str, str]]:
    """Return the lines of JSON that a tool has written."""
    return [json.loads(line) for line in program.text.splitlines() if line.startswith("{")]
