"""Rows that expire: each order once, although the shop's app sends it again when it is in doubt.

The store remembers the ids it has seen, for ten minutes: with a time to live its size depends on
how many orders there are in ten minutes, not on how many there have ever been.
"""

from penstock import (
    KafkaStreams,
    Processor,
    ProcessorContext,
    Record,
    Stores,
    StoreSpec,
    StreamsBuilder,
    Topology,
)

config = {"application.id": "key-value-ttl"}

REMEMBERED_FOR = "10m"


class OnlyNew(Processor[str, str, str, str]):
    @staticmethod
    def stores() -> list[StoreSpec]:
        seen = Stores.persistent_key_value_store("seen")
        return [Stores.key_value_store_builder(seen, str, int).with_ttl(REMEMBERED_FOR)]

    def init(self, context: ProcessorContext[str, str]) -> None:
        self.seen = context.get_state_store("seen")

    def process(self, record: Record[str, str]) -> None:
        if self.seen.get(record.key) is None:
            self.seen.put(record.key, record.timestamp)
            self.context.forward(record)


def build() -> Topology:
    builder = StreamsBuilder()
    builder.stream("orders").process(OnlyNew, name="only-new").to("new-orders")
    return builder.build()


def show(streams: KafkaStreams) -> None:
    print("remembered now:", ", ".join(sorted(key for key, _ in streams.store("seen").all())))
