"""Word count, the short form: lines of text in, the count of every word out.

``python examples/word_count.py`` runs it on a private broker, ``penstock run`` shows it live.
"""

import re

from samples import fill, read_samples, sandbox

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


def prepare(servers: str) -> None:
    """Fills a private broker with sample data."""
    fill(servers, read_samples("text.txt", "text-input"), topics=("wordcount-output",))


def main() -> None:
    with sandbox(prepare) as here, KafkaStreams(build(), config | here) as streams:
        streams.run_until_idle()
        counts = streams.store("word-count-store")
        print("water:", counts["water"])
        for word, count in sorted(counts.all(), key=lambda entry: -entry[1])[:10]:
            print(f"{count:4}  {word}")


if __name__ == "__main__":
    main()
