"""Running sum: a processor with a state store of its own, for what the DSL has no operator for.

``init`` looks the store up once, not for each record. Every write also goes to the changelog
``running-sum-my-state-store-changelog``, so a sum survives the loss of its machine.
"""

from penstock import (
    KafkaStreams,
    Processor,
    ProcessorContext,
    Record,
    Stores,
    StreamsBuilder,
    Topology,
)

config = {"application.id": "running-sum"}


class RunningSum(Processor[str, int, str, int]):
    def init(self, context: ProcessorContext[str, int]) -> None:
        self.sums = context.get_state_store("my-state-store")

    def process(self, record: Record[str, int]) -> None:
        total = (self.sums.get(record.key) or 0) + record.value
        self.sums.put(record.key, total)
        self.context.forward(record.with_value(total))


def build() -> Topology:
    builder = StreamsBuilder()
    supplier = Stores.persistent_key_value_store("my-state-store")
    builder.add_state_store(Stores.key_value_store_builder(supplier, str, int))
    (
        builder.stream("amounts", value=int)
        .process(RunningSum, "my-state-store", name="add-up")
        .to("running-sums", value=int)
    )
    return builder.build()


def show(streams: KafkaStreams) -> None:
    for key, total in streams.store("my-state-store").all():
        print(f"{key}: {total}")
