"""Processors over columns: only those that say how."""

from typing import Any

import pytest

from penstock import FixedKeyProcessor, StreamsBuilder, TopologyTestDriver
from penstock.processor.supplier import ColumnSupplier


class Stamped(FixedKeyProcessor[Any, Any, Any]):
    def process(self, record: Any) -> None:
        self.context.forward(record.with_value([record.value, record.timestamp]))


class StampedColumns(ColumnSupplier):
    """A supplier with a column form; it cannot treat records without a value."""

    reads_origins = True

    def __call__(self) -> Stamped:
        return Stamped()

    def over_columns(self, batch: Any) -> list[Any] | None:
        if batch.values.has_nulls():
            return None
        assert batch.origins.partition == 0
        return [
            [*pair] for pair in zip(batch.values.values(), batch.timestamps.tolist(), strict=True)
        ]


def driven(supplier: Any, records: list[Any]) -> tuple[list[Any], list[str | None]]:
    builder = StreamsBuilder()
    stream = builder.stream("in", key="string", value="json").process_values(supplier)
    stream.to("out", key="string", value="json")
    with TopologyTestDriver(builder.build(), engine="columns") as driver:
        driver.pipe_batch({"in": records})
        values = [record.value for record in driver.read_records("out")]
        return values, [batch.why_not for batch in driver.batches]


def test_processor_with_a_column_form_runs_over_columns() -> None:
    """The supplier does to a batch what its processors do to each record."""
    records = [("a", 1, 10), ("b", 2, 20)]
    assert driven(StampedColumns(), records) == ([[1, 10], [2, 20]], [None])
    assert driven(Stamped, records)[0] == [[1, 10], [2, 20]]


@pytest.mark.parametrize(
    ("supplier", "records", "reason"),
    [
        (Stamped, [("a", 1, 10)], "None"),
        (StampedColumns(), [("a", None, 10)], "a record of the batch alone"),
    ],
)
def test_other_processors_see_records_one_by_one(
    supplier: Any, records: list[Any], reason: str
) -> None:
    """Without a form, in an island; or where the form gives up, the processor itself is asked."""
    values, (why_not,) = driven(supplier, records)
    assert len(values) == 1
    assert reason in str(why_not)
