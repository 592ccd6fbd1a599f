"""Heartbeat watchdog: says when a machine has been silent for 30 seconds, and when it is back.

Silence is the absence of records, so no record can trigger the alert: the processor asks for
a call every five seconds of wall-clock time, which comes with and without input.
"""

import time
from dataclasses import dataclass

from penstock import (
    KafkaStreams,
    Processor,
    ProcessorContext,
    PunctuationType,
    Record,
    Stores,
    StoreSpec,
    StreamsBuilder,
    Topology,
)

config = {"application.id": "heartbeat-watchdog", "commit.interval.ms": 500}

SILENT_AFTER_MS = 30_000


@dataclass(frozen=True)
class Machine:
    """What is known of one machine."""

    last_seen: int
    is_silent: bool = False


@dataclass(frozen=True)
class Alert:
    kind: str
    since: int


class Watchdog(Processor[str, str, str, Alert]):
    @staticmethod
    def stores() -> list[StoreSpec]:
        supplier = Stores.persistent_key_value_store("last-seen")
        return [Stores.key_value_store_builder(supplier, str, Machine)]

    def init(self, context: ProcessorContext[str, Alert]) -> None:
        self.machines = context.get_state_store("last-seen")
        context.schedule("5s", PunctuationType.WALL_CLOCK_TIME, self.alert_silent)

    def process(self, record: Record[str, str]) -> None:
        known = self.machines.get(record.key)
        if known is not None and known.is_silent:
            alert = Alert("back", since=record.timestamp)
            self.context.forward(Record(record.key, alert, record.timestamp))
        # Heartbeats may overtake each other on their way; the newest one counts.
        last_seen = max(record.timestamp, known.last_seen if known else 0)
        self.machines[record.key] = Machine(last_seen)

    def alert_silent(self, now: int) -> None:
        for name, machine in self.machines.all():
            if not machine.is_silent and now - machine.last_seen > SILENT_AFTER_MS:
                self.machines[name] = Machine(machine.last_seen, is_silent=True)
                self.context.forward(Record(name, Alert("silent", machine.last_seen), now))


def build() -> Topology:
    builder = StreamsBuilder()
    (builder.stream("heartbeats").process(Watchdog, name="watchdog").to("alerts", value=Alert))
    return builder.build()


def show(streams: KafkaStreams) -> None:
    """Waits for the watchdog to look: two machines of the sample have been silent for long."""
    machines = streams.store("last-seen")
    deadline = time.monotonic() + 60
    while sum(machine.is_silent for _, machine in machines.all()) < 2:
        if time.monotonic() > deadline:
            break
        time.sleep(0.5)
    for name, machine in sorted(machines.all()):
        print(f"{name:8} {'silent' if machine.is_silent else 'alive'}")
