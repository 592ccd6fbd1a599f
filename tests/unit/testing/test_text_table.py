"""Text tables: what their cells mean as records and as expected rows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import Serdes
from penstock.errors import InvalidArgumentError
from penstock.testing import Row, TestRecord, rows
from penstock.testing.text_table import TextTable


def test_cells_become_keys_values_times_and_partitions() -> None:
    """A comment ends a line, null is None, and a value is of the type that its serde writes."""
    table = TextTable("""
        key  | value | time     | partition
        ann  | 1     | 0:10     | 0          # ten seconds
        null | 2     | 1:02:03  | 1
        bob  | null  | 0:00.250 | 0
    """)
    records = list(table.records(Serdes.string(), Serdes.long()))
    assert records == [
        TestRecord("ann", 1, 10_000), TestRecord(None, 2, 3_723_000), TestRecord("bob", None, 250),
    ]  # fmt: skip
    assert [record.partition for record in records] == [0, 1, 0]


@pytest.mark.parametrize("text", ["plain", "a\nb", "key | amount\n1 | 2"])
def test_other_text_is_not_a_table(text: str) -> None:
    """A line of text is a value, also with a bar in it."""
    assert not TextTable.is_one(text)


def test_rows_are_compared_by_the_columns_that_both_have() -> None:
    """An expectation names what matters."""
    assert rows("key | value\na | 1") == [Row({"key": "a", "value": 1, "time": 5})]
    assert rows("key | window\na | 0:10") == [Row({"key": "a", "window": (10_000, 20_000)})]
    assert rows("key | window\na | 0:10-0:30") != [Row({"key": "a", "window": (10_000, 20_000)})]


@given(ms=st.integers(0, 10**9))
def test_every_time_is_read_as_it_was_written(ms: int) -> None:
    """As milliseconds, and as a clock."""
    seconds, fraction = divmod(ms, 1_000)
    clock = f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}.{fraction:03}"
    for text in (str(ms), clock):
        assert rows(f"key | time\na | {text}")[0].cells["time"] == ms


def test_wrong_number_of_cells_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="has 1 columns, the header 2"):
        rows("key | value\na")
