"""Rows that a thread makes while the event loop sends them."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from penstock.server.rest.threaded import ThreadedRows


def test_rows_come_in_bunches_and_in_order() -> None:
    """All of them, and then the end."""

    async def test() -> None:
        with ThreadPoolExecutor(1) as threads:
            rows = ThreadedRows(threads, lambda: range(1200))
            bunches = [bunch async for bunch in rows.bunches()]
            await rows.close()
        assert [len(bunch) for bunch in bunches] == [500, 500, 200]
        assert [row for bunch in bunches for row in bunch] == list(range(1200))

    asyncio.run(test())


@pytest.mark.parametrize("after", [0, 600])
def test_an_error_is_raised_where_rows_are_awaited(after: int) -> None:
    """Before the first row, too."""

    def failing() -> Iterator[int]:
        yield from range(after)
        raise ValueError("broken")

    async def test() -> None:
        with ThreadPoolExecutor(1) as threads:
            rows = ThreadedRows(threads, failing)
            with pytest.raises(ValueError, match="broken"):
                async for _ in rows.bunches():
                    pass
            await rows.close()

    asyncio.run(test())


def test_the_thread_does_not_run_ahead_and_stops_when_closed() -> None:
    """Without a reader, a few bunches are made and no more."""
    made = []

    def endless() -> Iterator[int]:
        while True:
            made.append(1)
            yield 1

    async def test() -> None:
        with ThreadPoolExecutor(1) as threads:
            rows = ThreadedRows(threads, endless)
            await anext(rows.bunches())
            await asyncio.sleep(0.3)
            count = len(made)
            assert count <= 12 * 500
            await asyncio.wait_for(rows.close(), 20)

    asyncio.run(test())


def test_a_loop_that_ends_does_not_hold_the_thread() -> None:
    """A server that stops leaves no thread that waits for its event loop."""
    threads = ThreadPoolExecutor(1, "orphan")

    async def test() -> None:
        ThreadedRows(threads, lambda: iter(int, 1))
        await asyncio.sleep(0.2)

    asyncio.run(test())
    threads.shutdown(wait=False)
    deadline = time.monotonic() + 20
    while any(thread.name.startswith("orphan") for thread in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_reader_that_comes_back_too_late_is_not_left_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The thread has given up; the reader gets what was made before, and then an error."""
    monkeypatch.setattr("penstock.server.rest.threaded._WAIT_S", 0.1)
    monkeypatch.setattr("penstock.server.rest.threaded._LOOK_S", 0.05)

    async def test() -> None:
        with ThreadPoolExecutor(1) as threads:
            rows = ThreadedRows(threads, lambda: iter(int, 1), together=1)
            await asyncio.wait((rows._work,), timeout=20)
            with pytest.raises(TimeoutError):
                async for _ in rows.bunches():
                    pass
            await rows.close()

    asyncio.run(asyncio.wait_for(test(), 20))
