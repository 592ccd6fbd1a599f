"""The command: ``python -m tests.storm``. Exit 0: every answer was right, and in time.

A server in a process of its own gets 10,000 fuzzed statements and bodies over some connections,
one after the other without a pause. Beside them fifty clients ask for ``/info`` and for a row by
its key. No answer may be 500, ``/info`` must be answered within 100 ms in 99 of 100 cases, and
the memory of the server must not grow with the number of requests.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

import orjson

from tests.storm.texts import Sent, requests

#: A push query that answers is left after this time.
_LEAVE_S = 0.2
_ANSWER_S = 60.0
#: Caches and the catalog grow: the storm creates streams and tables.
_GROWTH = 1.25
_SMALL_MB = 100


@dataclass
class Seen:
    """What clients have seen."""

    statuses: Counter[int] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    info_ms: list[float] = field(default_factory=list)
    pull_ms: list[float] = field(default_factory=list)
    slowest: list[tuple[float, str]] = field(default_factory=list)
    memory: list[tuple[int, int]] = field(default_factory=list)
    is_over: bool = False


class Connection:
    """HTTP/1.1 over one socket, which is opened again when an answer was left."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, method: str, path: str, body: bytes, leave_s: float = _ANSWER_S) -> int:
        """Send a request, read its answer, and return the status."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port, limit=1 << 24)
        reader, writer = self._streams
        head = f"{method} {path} HTTP/1.1\r\nhost: {self._host}\r\ncontent-length: {len(body)}\r\n"
        writer.write(head.encode() + b"content-type: application/json\r\n\r\n" + body)
        await writer.drain()
        async with asyncio.timeout(_ANSWER_S):
            lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        try:
            async with asyncio.timeout(leave_s):
                await _read_body(reader, {line.lower() for line in lines[1:]})
        except TimeoutError:
            await self.close()
        return int(lines[0].split()[1])

    async def close(self) -> None:
        if self._streams is not None:
            writer, self._streams = self._streams[1], None
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


async def _read_body(reader: asyncio.StreamReader, headers: set[str]) -> None:
    if "transfer-encoding: chunked" not in headers:
        length = next((each for each in headers if each.startswith("content-length:")), ":0")
        await reader.readexactly(int(length.partition(":")[2]))
        return
    while size := int(await reader.readline(), 16):
        await reader.readexactly(size + 2)
    await reader.readline()


async def _send(connection: Connection, texts: Iterator[Sent], seen: Seen) -> None:
    """Send what is left of the texts, one after the other."""
    for sent in texts:
        before = time.perf_counter()
        try:
            status = await connection.ask("POST", sent.path, sent.body, _LEAVE_S)
        except (OSError, EOFError, TimeoutError) as error:
            seen.failures.append(f"{error!r}: {sent.path} {sent.body[:200]!r}")
            await connection.close()
            continue
        seen.statuses[status] += 1
        seen.slowest.append((time.perf_counter() - before, f"{sent.path} {sent.body[:60]!r}"))
        if status >= 500 and status != 503:
            seen.failures.append(f"{status}: {sent.path} {sent.body[:2000]!r}")
    await connection.close()


async def _client(connection: Connection, pause_s: float, seen: Seen) -> None:
    """Ask for ``/info``, then for a row, until the storm is over."""
    # Clients that ask all at the same moment would wait for each other.
    await asyncio.sleep(random.random() * pause_s)
    pull = orjson.dumps({"ksql": "SELECT * FROM users WHERE id = 'ann';"})
    while not seen.is_over:
        for times, method, path, body in (
            (seen.info_ms, "GET", "/info", b""),
            (seen.pull_ms, "POST", "/query", pull),
        ):
            before = time.perf_counter()
            status = await connection.ask(method, path, body)
            times.append((time.perf_counter() - before) * 1000)
            if status != 200:
                seen.failures.append(f"{status}: {path} of a client")
            await asyncio.sleep(pause_s * (0.5 + random.random()))
    await connection.close()


async def _watch(process: int, seen: Seen) -> None:
    while not seen.is_over:
        seen.memory.append((sum(seen.statuses.values()), _memory_mb(process)))
        await asyncio.sleep(1.0)


def _memory_mb(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    return int(status.partition("VmRSS:")[2].split()[0]) // 1024


async def _storm(url: str, process: int, options: argparse.Namespace, seen: Seen) -> None:
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or 0
    beside = [
        asyncio.create_task(_client(Connection(host, port), options.pause, seen))
        for _ in range(options.clients)
    ]
    beside.append(asyncio.create_task(_watch(process, seen)))
    texts = islice(requests(options.seed), options.requests)
    await asyncio.gather(
        *(_send(Connection(host, port), texts, seen) for _ in range(options.senders))
    )
    seen.is_over = True
    for error in await asyncio.gather(*beside, return_exceptions=True):
        if error is not None:
            seen.failures.append(f"a client has ended: {error!r}")


def percentile(values: list[float], share: float) -> float:
    """Return the value below which a share of all values is."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def _report(seen: Seen, seconds: float, load: float, limit_ms: float) -> bool:
    print(f"{sum(seen.statuses.values())} answers in {seconds:.0f} s: {dict(seen.statuses)}")
    for name, times in (("/info", seen.info_ms), ("row by key", seen.pull_ms)):
        found = ", ".join(f"p{p} {percentile(times, p / 100):.0f}" for p in (50, 90, 99))
        print(f"{name}: {len(times)} answers, {found}, longest {max(times):.0f} ms")
    for took, what in sorted(seen.slowest)[-5:]:
        print(f"slow: {took:.2f} s {what}")
    first, last = _settled_memory(seen.memory)
    print(f"memory of the server: {first} MB after a third of the requests, {last} MB in the end")
    print(f"load of the machine before and after: {load:.1f}, {os.getloadavg()[0]:.1f}")
    for failure in seen.failures[:10]:
        print(f"failure: {failure}")
    is_right = not seen.failures and last <= first * _GROWTH + _SMALL_MB
    return is_right and percentile(seen.info_ms, 0.99) < limit_ms


def _settled_memory(memory: list[tuple[int, int]]) -> tuple[int, int]:
    """Return the memory after a third of the requests, when all caches are full, and at the end."""
    last = memory[-1]
    return next(size for done, size in memory if done * 3 >= last[0]), last[1]


def main() -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.storm", description=__doc__)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--clients", type=int, default=50, help="how many ask beside the storm")
    parser.add_argument("--senders", type=int, default=8, help="connections of the storm")
    parser.add_argument("--pause", type=float, default=0.5, help="between questions of a client")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=100.0, help="for /info, in ms")
    options = parser.parse_args()
    command = [sys.executable, "-m", "tests.storm.served"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        url, seen, load = server.stdout.readline().decode().strip(), Seen(), os.getloadavg()[0]
        before = time.monotonic()
        try:
            asyncio.run(_storm(url, server.pid, options, seen))
        finally:
            server.stdin.close()
        is_right = _report(seen, time.monotonic() - before, load, options.limit)
    print("storm: right" if is_right else "storm: FAILED")
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
