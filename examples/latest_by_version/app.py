"""Latest by version: a topic with the history for a time, and one with the newest value for ever.

``contracts-history`` has every version and forgets after a week: it answers what happened.
``contracts-latest`` is compacted and has one record per contract: it answers what holds. This job
links them. Versions may overtake each other on their way, so the version decides, not the order.
"""

from dataclasses import dataclass

from penstock import (
    FixedKeyProcessor,
    FixedKeyProcessorContext,
    FixedKeyRecord,
    Stores,
    StoreSpec,
    StreamsBuilder,
    Topology,
)
from penstock.kafka.admin import Admin
from penstock.kafka.admin_answers import TopicSpec

config = {"application.id": "latest-by-version"}

WEEK_MS = 7 * 24 * 3600 * 1000


@dataclass(frozen=True)
class Contract:
    version: int
    text: str


class OnlyNewer(FixedKeyProcessor[str, Contract, Contract]):
    """Forwards a version only if it is newer than all before it."""

    @staticmethod
    def stores() -> list[StoreSpec]:
        newest = Stores.persistent_key_value_store("newest-versions")
        return [Stores.key_value_store_builder(newest, str, int)]

    def init(self, context: FixedKeyProcessorContext[str, Contract]) -> None:
        self.newest = context.get_state_store("newest-versions")

    def process(self, record: FixedKeyRecord[str, Contract]) -> None:
        if record.value.version > (self.newest.get(record.key) or 0):
            self.newest.put(record.key, record.value.version)
            self.context.forward(record)


def build() -> Topology:
    builder = StreamsBuilder()
    (
        builder.stream("contracts-history", value=Contract)
        .process_values(OnlyNewer, name="only-newer")
        .to("contracts-latest", value=Contract)
    )
    return builder.build()


def prepare(servers: str) -> None:
    history = TopicSpec("contracts-history", 2, config={"retention.ms": str(WEEK_MS)})
    latest = TopicSpec("contracts-latest", 2, config={"cleanup.policy": "compact"})
    Admin({"bootstrap.servers": servers}).create_topics([history, latest])
