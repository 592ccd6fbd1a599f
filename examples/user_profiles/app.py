"""A compacted topic is a table: the newest profile of each user, and nothing for one that left.

Kafka keeps the last record of each key of a compacted topic, however old it is. A service that
starts with nothing reads the topic from its beginning and has every profile.
"""

from dataclasses import dataclass

from penstock import KafkaStreams, StreamsBuilder, Topology
from penstock.kafka.admin import Admin
from penstock.kafka.admin_answers import TopicSpec

config = {"application.id": "user-profiles"}

#: Small segments and an eager cleaner, so that compaction can be watched. Real topics use neither.
COMPACTED = {
    "cleanup.policy": "compact",
    "segment.ms": "100",
    "min.cleanable.dirty.ratio": "0.01",
    "min.compaction.lag.ms": "0",
}


@dataclass(frozen=True)
class Profile:
    name: str
    age: int


def build() -> Topology:
    builder = StreamsBuilder()
    profiles = builder.table("user-profiles", value=Profile, materialized="profiles")
    profiles.filter(lambda _, profile: profile.age >= 18).to_stream().to("adults", value=Profile)
    return builder.build()


def prepare(servers: str) -> None:
    topics = [TopicSpec("user-profiles", 1, config=COMPACTED), TopicSpec("adults", 1)]
    Admin({"bootstrap.servers": servers}).create_topics(topics)


def show(streams: KafkaStreams) -> None:
    print("profiles:", dict(streams.store("profiles").all()))
