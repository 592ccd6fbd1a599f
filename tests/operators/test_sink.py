"""Writing topics."""

import pytest

from penstock import Serdes, StreamsBuilder, java
from penstock.errors import StreamsError, UnavailableError
from penstock.testing import rows
from tests.operators.driver import Driver


def test_topic_may_depend_on_the_record(driver: Driver) -> None:
    """The extractor sees key, value and context."""
    builder = StreamsBuilder()
    builder.stream("in").to(lambda key, value, context: f"{context.topic}-{key}")
    driver.start(builder.build())
    driver.pipe("in", "key | value\na | 1\nb | 2")
    assert driver.read("in-a") == rows("key | value\na | 1")
    assert driver.read("in-b") == rows("key | value\nb | 2")


def test_through_goes_on_with_what_was_written(driver: Driver) -> None:
    """XX-15: a topic of the user's own between two parts of the program."""
    builder = StreamsBuilder()
    java.through(builder.stream("in"), "between").map_values(str.upper).to("out")
    driver.start(builder.build())
    driver.pipe("in", "key | value | time\na | x | 0:05")
    assert driver.read("between") == rows("key | value | time\na | x | 0:05")
    assert driver.read("out") == rows("key | value | time\na | X | 0:05")


def test_partitioner_that_chooses_nothing_drops_the_record(driver: Driver) -> None:
    """An empty set is a choice; None leaves it to the key."""
    builder = StreamsBuilder()
    builder.stream("in").to(
        "out", partitioner=lambda topic, key, value, count: set() if value == "-" else None
    )
    driver.start(builder.build())
    driver.pipe("in", "key | value\na | x\na | -")
    assert driver.read("out") == rows("key | value\na | x")


def test_record_is_not_left_out_when_what_it_needs_cannot_be_reached(driver: Driver) -> None:
    """A handler that goes on without bad records would lose good ones."""

    def away(value: str) -> bytes:
        raise UnavailableError("registry-unavailable", "the registry is away", "start it")

    builder = StreamsBuilder()
    builder.stream("in").to("out", value=Serdes.serde_from(away, bytes.decode))
    names = ("production.exception.handler", "processing.exception.handler")
    driver.start(builder.build(), dict.fromkeys(names, lambda *_: "continue"))
    with pytest.raises(StreamsError, match="the registry is away") as error:
        driver.pipe("in", "key | value\nk | v")
    assert (error.value.code, error.value.fix) == ("registry-unavailable", "start it")


def test_advice_fits_what_a_serde_refuses(driver: Driver) -> None:
    """A value of the wrong type needs another serde; a value that is bad needs a handler."""

    def refuse(value: str) -> bytes:
        raise ValueError("no room for this value") if value == "bad" else TypeError("not mine")

    builder = StreamsBuilder()
    builder.stream("in").to("out", value=Serdes.serde_from(refuse, bytes.decode))
    driver.start(builder.build())
    with pytest.raises(StreamsError, match="no room") as error:
        driver.pipe("in", "key | value\nk | bad")
    assert "production.exception.handler" in (error.value.fix or "")
    with pytest.raises(StreamsError, match="not mine") as error:
        driver.pipe("in", "key | value\nk | other")
    assert "value=" in (error.value.fix or "")
