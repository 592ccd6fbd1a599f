"""Typed topics of the test driver: how records are written."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from penstock import StreamsBuilder, TopologyTestDriver
from penstock.errors import InvalidArgumentError, InvalidStateError, StreamsError


@pytest.fixture
def driver() -> Iterator[TopologyTestDriver]:
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    with TopologyTestDriver(builder.build()) as driver:
        yield driver


def test_key_comes_before_value_as_in_java(driver: TopologyTestDriver) -> None:
    """Whoever ports a test writes ``pipeInput(key, value)``, and the driver does so, too."""
    topic = driver.create_input_topic("in")
    topic.pipe_input("k", "v")
    topic.pipe_input("k", "w", 5)
    driver.pipe_input("in", "k", "x", 6)
    records = driver.read_records("out")
    assert [(each.key, each.value, each.timestamp) for each in records] == [
        ("k", "v", 0), ("k", "w", 5), ("k", "x", 6),
    ]  # fmt: skip


def test_a_single_argument_is_the_value_and_the_key_may_be_named(
    driver: TopologyTestDriver,
) -> None:
    topic = driver.create_input_topic("in")
    topic.pipe_input("a")
    topic.pipe_input("b", key="k")
    topic.pipe_input(value="c", key="k", timestamp=datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    topic.pipe_input("k", value="d")
    assert driver.read_key_values("out") == [(None, "a"), ("k", "b"), ("k", "c"), ("k", "d")]


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ((), {"key": "k"}),
        (("k", "v"), {"key": "k"}),
        (("k", "v"), {"value": "v"}),
        (("v",), {"time": 3}),
        (("k", "v", 1, (), 0, "more"), {}),
    ],
)
def test_arguments_that_make_no_record_are_refused(
    driver: TopologyTestDriver, given: tuple[Any, ...], named: dict[str, Any]
) -> None:
    with pytest.raises(InvalidArgumentError, match="bad-record") as raised:
        driver.create_input_topic("in").pipe_input(*given, **named)
    assert raised.value.at is not None
    assert raised.value.at.startswith("test_topics.py:")
    assert "pipe_input(key, value)" in (raised.value.fix or "")


def test_a_closed_driver_takes_no_records_and_still_shows_its_output() -> None:
    """A record that is piped behind the with block would vanish."""
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe("in", "a")
    for act in (
        lambda: driver.pipe("in", "b"),
        lambda: driver.pipe_batch({"in": ["b"]}),
        lambda: driver.advance_wall_clock_time("1s"),
    ):
        with pytest.raises(InvalidStateError) as caught:
            act()
        assert caught.value.code == "closed-driver"
        assert str(caught.value.at).startswith("test_topics.py:")
    assert driver.read_values("out") == ["a"]


def test_headers_of_input_are_pairs(driver: TopologyTestDriver) -> None:
    """A dictionary would become a tuple of its names."""
    with pytest.raises(StreamsError, match="bad-header"):
        driver.pipe_input("in", "k", "v", headers={"a": b"1"})  # type: ignore[arg-type]
