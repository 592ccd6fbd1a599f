"""The program behind ``ShutdownDeadlockTest``: its exception handler ends the process."""

from __future__ import annotations

import sys

from confluent_kafka import Producer

import penstock as ps

APPLICATION = "shouldNotDeadlock"
SOURCE = "source"
#: What the handler prints before it ends the process.
CALLED = "HANDLER-CALLED"


def build() -> ps.Topology:
    """Fail for every record."""
    builder = ps.StreamsBuilder()
    builder.stream(SOURCE, key="string", value="string").for_each(_fail)
    return builder.build()


def handle(error: Exception) -> ps.ExceptionResponse:
    """End the process with status 1, as Java's test does with ``Exit.exit(1)``."""
    print(CALLED, flush=True)
    sys.exit(1)


def send_one(bootstrap: str) -> None:
    """Send the record for which the program fails."""
    producer = Producer({"bootstrap.servers": bootstrap})
    producer.produce(SOURCE, "a", "a")
    producer.flush(60)


def _fail(key: str, value: str) -> None:
    raise RuntimeError("KABOOM!")
