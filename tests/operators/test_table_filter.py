"""Filters of tables: a row that no longer passes is gone."""

from penstock import StreamsBuilder, Topology
from penstock.testing import rows
from tests.operators.driver import Driver


def small(*, stored: bool) -> Topology:
    builder = StreamsBuilder()
    table = builder.table("in", materialized="rows" if stored else None, key=str, value=int)
    table.filter(lambda key, value: value < 5).to_stream().to("out")
    return builder.build()


def test_row_that_no_longer_passes_is_deleted(driver: Driver) -> None:
    """KS-05: where the table is stored the filter knows the old row: one tombstone, if needed."""
    driver.start(small(stored=True))
    driver.pipe("in", "key | value\nann | 3\nann | 7\nann | 8\nbob | 9")
    assert driver.read("out") == rows("key | value\nann | 3\nann | null")


def test_without_a_store_tombstones_cannot_be_spared(driver: Driver) -> None:
    """KS-05: who does not know whether a row passed before has to say that it does not now."""
    driver.start(small(stored=False))
    driver.pipe("in", "key | value\nann | 3\nann | 7\nbob | 9")
    assert driver.read("out") == rows("key | value\nann | 3\nann | null\nbob | null")


def test_result_may_be_kept_under_the_serdes_of_the_table(driver: Driver) -> None:
    """A name is enough: rows that pass are what they were."""
    builder = StreamsBuilder()
    builder.table("in", key=str, value=int).filter(lambda key, value: value < 5, "small")
    driver.start(builder.build())
    driver.pipe("in", "key | value\nann | 3\nbob | 7")
    assert [(key, row.value) for key, row in driver.store("small").all()] == [("ann", 3)]


def test_predicate_never_sees_deleted_rows(driver: Driver) -> None:
    """A predicate on None would fail here."""
    driver.start(small(stored=True))
    driver.pipe("in", "key | value\nann | 3\nann | null")
    assert driver.read("out") == rows("key | value\nann | 3\nann | null")
