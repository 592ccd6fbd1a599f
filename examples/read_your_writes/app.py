"""Read your own writes: an answer that contains what was just sent, or none yet.

A store shows committed state, and that is a moment behind what producers have sent. Who has sent a
record knows its partition and offset, and asks with a bound: the answer must have seen offset 42.
Until the store is there, the answer is a refusal and not an old value.
"""

import time

from confluent_kafka import Message, Producer

from penstock import KafkaStreams, StreamsBuilder, Topology
from penstock.query import KeyQuery, Position, PositionBound, StateQueryRequest

config = {"application.id": "read-your-writes", "commit.interval.ms": 100}


def build() -> Topology:
    builder = StreamsBuilder()
    builder.stream("votes").group_by_key().count("votes-per-candidate")
    return builder.build()


def votes_after(
    streams: KafkaStreams, candidate: str, partition: int, offset: int, timeout_s: float = 30.0
) -> int | None:
    """Returns the count as soon as it contains the record at ``offset``, never an older one."""
    bound = PositionBound.at(Position.empty().with_component("votes", partition, offset))
    request = StateQueryRequest.in_store("votes-per-candidate").with_query(
        KeyQuery.with_key(candidate)
    )
    deadline = time.monotonic() + timeout_s
    while True:
        answer = streams.query(request.with_position_bound(bound)).only_partition_result()
        if answer.is_success:
            count: int | None = answer.result
            return count
        if time.monotonic() > deadline:
            raise TimeoutError(f"offset {offset} was not processed within {timeout_s} s")
        time.sleep(0.05)


#: The broker of the demonstration; a real producer knows its own.
SERVERS: list[str] = []


def prepare(servers: str) -> None:
    SERVERS.append(servers)


def vote(servers: str, candidate: str) -> tuple[int, int]:
    """Sends a vote, and returns the partition and offset that Kafka gave it."""
    told: list[Message] = []
    producer = Producer({"bootstrap.servers": servers, "partitioner": "murmur2_random"})
    producer.produce(
        "votes",
        "ballot",
        candidate,
        on_delivery=lambda _, message: told.append(message),
    )
    producer.flush()
    partition, offset = told[0].partition(), told[0].offset()
    if partition is None or offset is None:
        raise RuntimeError(f"the vote was not written: {told[0].error()}")
    return partition, offset


def show(streams: KafkaStreams) -> None:
    before = streams.store("votes-per-candidate").get("ann")
    partition, offset = vote(SERVERS[-1], "ann")
    after = votes_after(streams, "ann", partition, offset)
    print(f"ann had {before} votes; with the one at offset {offset} she has {after}")
