"""Ask for a word: the count of a key, and which instance has it, without a topic in between."""

import re

from penstock import KafkaStreams, StreamsBuilder, Topology

config = {"application.id": "word-lookup"}


def build() -> Topology:
    builder = StreamsBuilder()
    (
        builder.stream("text-input")
        .flat_map_values(lambda line: re.findall(r"\w+", line.lower()))
        .group_by(lambda _, word: word)
        .count("word-count-store")
    )
    return builder.build()


def show(streams: KafkaStreams) -> None:
    word = "kafka"
    print(f"{word}: {streams.store('word-count-store').get(word)}")
    place = streams.query_metadata_for_key("word-count-store", word)
    # Without application.server an instance has no address that others could ask.
    print(f"partition {place.partition}, at {place.active_host.host or 'this instance'}")
    print("from a to l:", dict(streams.store("word-count-store").range("a", "l")))
