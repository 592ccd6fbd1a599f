"""A program to try the image with: it counts words. Mount your own over /app."""

from penstock import StreamsBuilder, Topology

config = {
    "application.id": "word-count",
    "processing.guarantee": "exactly_once_v2",
    "state.dir": "/state",
}


def build() -> Topology:
    builder = StreamsBuilder()
    (
        builder.stream("text-input")
        .flat_map_values(lambda line: line.lower().split())
        .group_by(lambda _, word: word)
        .count("word-counts")
        .to_stream()
        .to("word-counts")
    )
    return builder.build()
