"""Calls to external services: at the same time, in order, repeated when they fail."""

import asyncio
from typing import Any

import pytest

from penstock import StreamsBuilder, Topology
from penstock.errors import InvalidArgumentError, StreamsError
from penstock.testing import TopologyTestDriver, rows
from tests.operators.driver import Driver


async def quick_for_late_letters(value: str) -> str:
    """Answers to ``a`` take longer than those to ``c``."""
    await asyncio.sleep(0.02 * (ord("d") - ord(value)))
    return value.upper()


def called(fn: Any, **options: Any) -> Topology:
    builder = StreamsBuilder()
    builder.stream("in").map_values_async(fn, **options).to("out", value="string")
    return builder.build()


def test_answers_keep_the_order_of_their_records(driver: Driver) -> None:
    """Time and key come along."""
    driver.start(called(quick_for_late_letters))
    driver.pipe("in", "key | value | time\nann | a | 0:01\nbob | b | 0:03\nann | c | 0:02")
    assert driver.read("out") == rows("""
        key | value | time
        ann | A     | 0:01
        bob | B     | 0:03
        ann | C     | 0:02
    """)


def test_plain_function_of_key_and_value_runs_in_a_thread(driver: Driver) -> None:
    """As with clients that know nothing of asyncio."""
    driver.start(called(lambda key, value: f"{key}={value}"))
    driver.pipe("in", "key | value\nann | x")
    assert driver.read("out") == rows("key | value\nann | ann=x")


def test_results_reach_stores_and_leave_caches_before_the_commit(driver: Driver) -> None:
    """Calls behind a cached count, and a count behind the calls."""
    builder = StreamsBuilder()
    counts = builder.stream("in").group_by_key().count().to_stream()
    texts = counts.map_values_async(lambda count: f"{count} times")
    texts.group_by_key(value="string").count("answers").to_stream().to("out")
    driver.start(builder.build())
    driver.pipe("in", "key | value\nann | x\nbob | x")
    assert driver.read("out") == rows("key | value\nann | 1\nbob | 1")


def test_calls_go_on_at_the_same_time() -> None:
    """Each call waits for the other two, so one after the other would never end."""
    meeting = asyncio.Barrier(3)

    async def meet(value: str) -> str:
        await meeting.wait()
        return value

    with TopologyTestDriver(called(meet, concurrency=3, timeout="20s")) as driver:
        driver.pipe_batch({"in": "key | value\na | 1\nb | 2\nc | 3"})
        assert len(driver.read("out")) == 3


def test_failing_call_is_repeated_and_then_an_error_of_its_record() -> None:
    """The error names the record that the call was for, not the one that came last."""
    tries: list[str] = []

    async def refuse_twice(value: str) -> str:
        tries.append(value)
        if tries.count(value) < 3 or value == "never":
            raise ConnectionError("refused")
        return value

    topology = called(refuse_twice, retries=2, backoff=1)
    with TopologyTestDriver(topology) as driver:
        driver.pipe_batch({"in": "key | value\nann | ok"})
        assert driver.read("out") == rows("key | value\nann | ok")
        with pytest.raises(StreamsError, match=r"(?s)ConnectionError.*offset 1\n.*value: 'never'"):
            driver.pipe_batch({"in": "key | value\nann | never\nbob | ok"})
    assert tries.count("never") == 3


def test_handler_may_leave_a_record_out(driver: Driver) -> None:
    """The others are there, in their order."""

    async def refuse_b(value: str) -> str:
        if value == "b":
            raise ValueError(value)
        return value

    driver.start(called(refuse_b), {"processing.exception.handler": "continue"})
    driver.pipe("in", "key | value\nann | a\nann | b\nann | c")
    assert [row.cells["value"] for row in driver.read("out")] == ["a", "c"]
    assert driver.dropped() == {"processing": 1}


def test_call_that_takes_too_long_has_failed() -> None:
    """Nothing waits for a service that does not answer."""

    async def never(value: str) -> str:
        await asyncio.sleep(60)
        return value

    with (
        TopologyTestDriver(called(never, timeout=20)) as driver,
        pytest.raises(StreamsError, match=r"no answer within 0\.02 s"),
    ):
        driver.pipe_batch({"in": "key | value\nann | a"})


@pytest.mark.parametrize("option", [{"concurrency": 0}, {"timeout": 0}, {"retries": -1}])
def test_numbers_without_a_meaning_are_refused(option: dict[str, int]) -> None:
    """Where the operator is added."""
    with pytest.raises(InvalidArgumentError, match="bad-call-option"):
        called(quick_for_late_letters, **option)
