"""Runs calls of a user's function beside the task, in an event loop with its own thread.

Used by ``map_values_async``.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

_CLOSE_S = 5.0


class AsyncCalls:
    """Runs at most ``concurrency`` calls at a time; a caller that wants more waits.

    The event loop runs in its own thread. The thread of the task may have a loop already, as it
    does in a notebook.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        *,
        concurrency: int,
        timeout_s: float,
        retries: int = 0,
        backoff_s: float = 0.1,
    ) -> None:
        self._fn = fn
        self._is_coroutine = inspect.iscoroutinefunction(fn)
        self._timeout_s, self._retries, self._backoff_s = timeout_s, retries, backoff_s
        self._places = threading.Semaphore(concurrency)
        self._threads = ThreadPoolExecutor(concurrency, "penstock-call")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="penstock-calls", daemon=True
        )
        self._thread.start()

    def submit(self, *args: Any) -> Future[Any]:
        """Start a call, once fewer than ``concurrency`` are running, and return its future."""
        self._places.acquire()
        answer = asyncio.run_coroutine_threadsafe(self._call(args), self._loop)
        answer.add_done_callback(lambda _: self._places.release())
        return answer

    async def _call(self, args: tuple[Any, ...]) -> Any:
        pause_s = self._backoff_s
        for _ in range(self._retries):
            try:
                return await self._once(args)
            except Exception:  # noqa: BLE001 - user code; the last failure is the caller's
                await asyncio.sleep(pause_s)
                pause_s *= 2
        return await self._once(args)

    async def _once(self, args: tuple[Any, ...]) -> Any:
        try:
            async with asyncio.timeout(self._timeout_s):
                if self._is_coroutine:
                    return await self._fn(*args)
                answer = await self._loop.run_in_executor(self._threads, self._fn, *args)
                return await answer if inspect.isawaitable(answer) else answer
        except TimeoutError as error:
            if str(error):
                raise
            raise TimeoutError(f"no answer within {self._timeout_s:g} s") from error

    def close(self) -> None:
        """Cancel the calls that are under way, and end the threads."""
        asyncio.run_coroutine_threadsafe(_cancel_others(), self._loop).result(_CLOSE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CLOSE_S)
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._loop.close()


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
