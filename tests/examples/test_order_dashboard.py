"""The SQL example passes ``penstock sql test``, as its comments say."""

from tests.examples.play import assert_sql_test_passes


def test_dashboard_gives_the_expected_records() -> None:
    """Joined orders, sales per minute and exact numbers of customers."""
    assert_sql_test_passes("order_dashboard")
