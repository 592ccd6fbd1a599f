"""Blocking questions of the routes to the application, in a thread and in time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def in_thread(call: Callable[[], T], within_s: float) -> T:
    """Call a function in a thread outside the pool of store readers, which may all be busy.

    Raises:
        TimeoutError: the function has not returned in time; it goes on, and nobody waits for it.
    """
    async with asyncio.timeout(within_s):
        return await asyncio.to_thread(call)
