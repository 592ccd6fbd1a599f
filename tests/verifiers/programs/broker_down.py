"""The program behind ``StreamsBrokerDownResilienceTest``: it copies each record."""

from __future__ import annotations

import penstock as ps

APPLICATION = "kafka-streams-resilience"
SOURCE, SINK = "streamsResilienceSource", "streamsResilienceSink"
TOPICS = {SOURCE: 3, SINK: 1}
#: The clients' settings of Kafka's own run: shorter than the time for which the broker is away.
CLIENTS = {
    "consumer.max.poll.interval.ms": 50_000,
    "producer.retries": 2,
    "producer.request.timeout.ms": 15_000,
    "producer.max.block.ms": 60_000,
}


def build() -> ps.Topology:
    """Copy every record to the sink."""
    builder = ps.StreamsBuilder()
    stream = builder.stream(SOURCE, key="string", value="string")
    stream.peek(_look).to(SINK, key="string", value="string")
    return builder.build()


def _look(key: str | None, value: str) -> None:
    print(f"received key {key} and value {value}", flush=True)
