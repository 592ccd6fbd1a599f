"""New values of rows with the help of state."""

from typing import Any

from penstock import Stores, StreamsBuilder, ValueTransformer
from penstock.testing import rows
from tests.operators.driver import Driver


class Numbered(ValueTransformer):
    """Puts in front of each value how many the transformer has seen."""

    def init(self, context: Any) -> None:
        self.store = context.get_state_store("seen")

    def transform(self, key: Any, value: Any) -> Any:
        count = (self.store.get("all") or 0) + 1
        self.store.put("all", count)
        return f"{count}:{value}"


def test_transformer_uses_its_store_and_sees_deleted_rows(driver: Driver) -> None:
    """What becomes of a deleted row is the transformer's choice."""
    builder = StreamsBuilder()
    supplier = Stores.in_memory_key_value_store("seen")
    builder.add_state_store(Stores.key_value_store_builder(supplier, "string", "long"))
    table = builder.table("in").transform_values(Numbered, "seen", materialized="numbered")
    table.to_stream().to("out")
    driver.start(builder.build())
    driver.pipe("in", "key | value\nann | a\nann | null")
    assert driver.read("out") == rows("key | value\nann | 1:a\nann | 2:None")
