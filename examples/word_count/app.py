"""Word count, the short form: lines of text in, the count of every word out.

``penstock run examples/word_count/app.py --demo`` counts the words of ``data.txt`` on a private
broker; ``--bootstrap kafka:9092`` instead of ``--demo`` counts yours.
"""

import re

from penstock import KafkaStreams, StreamsBuilder, Topology

config = {"application.id": "wordcount-app"}


def build() -> Topology:
    builder = StreamsBuilder()
    (
        builder.stream("text-input")
        .flat_map_values(lambda line: re.split(r"\W+", line.lower()))
        .group_by(lambda _, word: word)
        .count("word-count-store")
        .to_stream()
        .to("wordcount-output")
    )
    return builder.build()


def show(streams: KafkaStreams) -> None:
    counts = streams.store("word-count-store")
    print("water:", counts["water"])
    for word, count in sorted(counts.all(), key=lambda entry: -entry[1])[:5]:
        print(f"{count:4}  {word}")
