"""EX-06: the query between the two connectors. With them: ``tests/integration/connect``."""

from tests.examples.play import assert_sql_test_passes


def test_products_that_run_low_are_ordered() -> None:
    """What there is enough of is left out."""
    assert_sql_test_passes("connect_pipeline")
