"""Rows that a program produces one by one, sent in requests of several rows, for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from penstock.client.inserts import BATCH_ROWS, LINGER_S

Rows = list[Mapping[str, Any]]
_END = object()


async def row_batches(
    rows: AsyncIterable[Mapping[str, Any]] | Iterable[Mapping[str, Any]],
    batch_rows: int = BATCH_ROWS,
    linger_s: float = LINGER_S,
) -> AsyncGenerator[Rows]:
    """Yield the rows in batches; a row never waits longer than the linger time.

    An error of the iterable is raised after the rows that came before it.
    """
    # The queue holds at most two batches, so that a fast producer waits for the server.
    waiting: asyncio.Queue[Any] = asyncio.Queue(2 * batch_rows)
    reader = asyncio.create_task(_read(rows, waiting))
    try:
        while True:
            row = await waiting.get()
            batch: Rows = []
            while row is not _END:
                batch.append(row)
                if len(batch) == batch_rows:
                    break
                try:
                    row = await asyncio.wait_for(waiting.get(), linger_s)
                except TimeoutError:
                    break
            if batch:
                yield batch
            if row is _END:
                break
        await reader
    finally:
        reader.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await reader


async def _read(
    rows: AsyncIterable[Mapping[str, Any]] | Iterable[Mapping[str, Any]],
    waiting: asyncio.Queue[Any],
) -> None:
    try:
        if isinstance(rows, AsyncIterable):
            async for row in rows:
                await waiting.put(row)
        else:
            for row in rows:
                await waiting.put(row)
    finally:
        await waiting.put(_END)
