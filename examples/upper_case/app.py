"""Upper case: the smallest topology there is, one source, two steps and one sink."""

from penstock import StreamsBuilder, Topology

config = {"application.id": "upper-case"}


def build() -> Topology:
    builder = StreamsBuilder()
    (
        builder.stream("input-topic")
        # A record without a value is legal in Kafka; str.upper would fail on it.
        .filter(lambda _, text: text is not None)
        .map_values(str.upper)
        .to("output-topic")
    )
    return builder.build()


if __name__ == "__main__":
    print(build().describe())
