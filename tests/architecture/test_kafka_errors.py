"""The reference page of Kafka's errors is the table of the code."""

from tests.architecture import kafka_errors_page


def test_kafka_errors_page_says_what_the_code_says() -> None:
    """Every error is on the reference page; `make docs` writes the page."""
    assert kafka_errors_page.PAGE.read_text(encoding="utf-8") == kafka_errors_page.render()
