"""Heartbeat watchdog: says when a machine has been silent for 30 seconds, and when it is back.

Silence is the absence of records, so no record can trigger the alert: the processor asks for
a call every five seconds of wall-clock time, which comes with and without input.
"""

import time
from dataclasses import dataclass

from samples import fill, read_samples, read_topic, sandbox

from penstock import (
    KafkaStreams,
    Processor,
    PunctuationType,
    Record,
    Stores,
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
    def stores():
        supplier = Stores.persistent_key_value_store("last-seen")
        return [Stores.key_value_store_builder(supplier, str, Machine)]

    def init(self, context):
        self.machines = context.get_state_store("last-seen")
        context.schedule("5s", PunctuationType.WALL_CLOCK_TIME, self.alert_silent)

    def process(self, record):
        known = self.machines.get(record.key)
        if known is not None and known.is_silent:
            alert = Alert("back", since=record.timestamp)
            self.context.forward(Record(record.key, alert, record.timestamp))
        # Heartbeats may overtake each other on their way; the newest one counts.
        last_seen = max(record.timestamp, known.last_seen if known else 0)
        self.machines[record.key] = Machine(last_seen)

    def alert_silent(self, now):
        for name, machine in self.machines.all():
            if not machine.is_silent and now - machine.last_seen > SILENT_AFTER_MS:
                self.machines[name] = Machine(machine.last_seen, is_silent=True)
                self.context.forward(Record(name, Alert("silent", machine.last_seen), now))


def build() -> Topology:
    builder = StreamsBuilder()
    (
        builder.stream("heartbeats")
        .process(Watchdog, name="watchdog")
        .to("alerts", value_serde=Alert)
    )
    return builder.build()


def prepare(servers: str) -> None:
    """Fills a private broker with sample data: two machines that live, two that do not."""
    fill(servers, read_samples("heartbeat_watchdog.jsonl"), topics=("alerts",))


def main() -> None:
    with sandbox(prepare) as here, KafkaStreams(build(), config | here):
        print("waiting for the watchdog to look …")
        alerts: list[tuple[str, Alert]] = []
        while len(alerts) < 2:
            time.sleep(0.5)
            alerts = read_topic(here["bootstrap.servers"], "alerts", value=Alert)
        for machine, alert in alerts:
            print(f"{machine} has been {alert.kind} since {time.ctime(alert.since / 1000)}")


if __name__ == "__main__":
    main()
