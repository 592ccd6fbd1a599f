"""Looking at records: peek, for_each, print."""

import pytest

from penstock import StreamsBuilder
from penstock.testing import rows
from tests.operators.driver import Driver


def test_peek_hands_on_and_for_each_ends(driver: Driver) -> None:
    """What the function returns does not matter."""
    seen: list[str] = []
    builder = StreamsBuilder()
    stream = builder.stream("in").peek(lambda key, value: seen.append(f"peek {value}"))
    stream.for_each(lambda key, value: seen.append(f"end {value}"))
    stream.to("out")
    driver.start(builder.build())
    driver.pipe("in", "key | value\nann | a")
    assert seen == ["peek a", "end a"]
    assert driver.read("out") == rows("key | value\nann | a")


def test_print_shows_label_key_and_value(
    driver: Driver, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line per record."""
    builder = StreamsBuilder()
    builder.stream("in").print(label="seen")
    driver.start(builder.build())
    driver.pipe("in", "key | value\nann | a\nnull | b")
    assert capsys.readouterr().out == "[seen]: ann, a\n[seen]: None, b\n"
