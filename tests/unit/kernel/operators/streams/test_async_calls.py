"""Calls beside a task: how many there are at a time, and how they end."""

from __future__ import annotations

import asyncio
import threading

import pytest

from penstock.kernel.operators.streams.async_calls import AsyncCalls


def test_no_more_calls_than_places() -> None:
    """Who wants more waits; the most that were under way is the number of places."""
    now: list[int] = []
    most = 0

    async def call(number: int) -> int:
        nonlocal most
        now.append(number)
        most = max(most, len(now))
        await asyncio.sleep(0.01)
        now.remove(number)
        return number

    calls = AsyncCalls(call, concurrency=3, timeout_s=10)
    answers = [calls.submit(number) for number in range(12)]
    assert [answer.result(10) for answer in answers] == list(range(12))
    assert most == 3
    calls.close()


def test_function_may_return_what_is_to_be_awaited() -> None:
    """As a lambda around a coroutine function does."""

    async def double(number: int) -> int:
        return 2 * number

    calls = AsyncCalls(lambda number: double(number), concurrency=1, timeout_s=10)
    assert calls.submit(4).result(10) == 8
    calls.close()


def test_own_time_limit_of_a_function_keeps_its_words() -> None:
    """Only the limit of the operator says how long it was."""

    def fail() -> None:
        raise TimeoutError("the pool is empty")

    calls = AsyncCalls(fail, concurrency=1, timeout_s=10)
    with pytest.raises(TimeoutError, match="the pool is empty"):
        calls.submit().result(10)
    calls.close()


def test_closing_ends_calls_that_are_under_way() -> None:
    """And the thread of the loop with them."""
    before = set(threading.enumerate())

    async def never() -> None:
        await asyncio.sleep(60)

    calls = AsyncCalls(never, concurrency=2, timeout_s=60)
    answer = calls.submit()
    calls.close()
    assert answer.cancelled()
    assert set(threading.enumerate()) <= before
