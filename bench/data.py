"""The peers' input, record by record: 100k users, amounts in quarters, lines of 8 skewed words."""

from __future__ import annotations

import random
from collections.abc import Iterator

USERS, SPAN_MS, LINE_WORDS, VOCABULARY = 100_000, 600_000, 8, 20_000
COUNTRIES = ("DE", "FR", "US", "GB", "IN", "BR", "JP", "CN")

#: Key, value and timestamp.
Pair = tuple[bytes, bytes, int]


def events(count: int, base_ms: int, seed: int = 7, keys: int = USERS) -> Iterator[Pair]:
    chance = random.Random(seed)
    for number in range(count):
        user = f"u{chance.randrange(keys)}"
        at = base_ms + number * SPAN_MS // count
        amount, country = chance.randrange(400) / 4, COUNTRIES[chance.randrange(8)]
        value = f'{{"user":"{user}","amount":{amount},"country":"{country}","ts":{at}}}'
        yield user.encode(), value.encode(), at


def lines(count: int, base_ms: int) -> Iterator[Pair]:
    chance = random.Random(7)
    for number in range(count):
        words = (f"word{int(VOCABULARY * chance.random() ** 3)}" for _ in range(LINE_WORDS))
        yield str(number).encode(), " ".join(words).encode(), base_ms + number


def users(base_ms: int, count: int = USERS) -> Iterator[Pair]:
    for number in range(count):
        value = f'{{"user":"u{number}","name":"Name {number}","tier":"t{number % 5}"}}'
        yield f"u{number}".encode(), value.encode(), base_ms - 60_000


def inputs(workload: str, count: int, base_ms: int, keys: int = USERS) -> dict[str, Iterator[Pair]]:
    """Return the records of a workload by kind of topic: ``input``, for w4 and w6 also ``table``.

    ``keys`` is the number of users; the lines of w5 do not have any.
    """
    found = {
        "input": lines(count, base_ms) if workload == "w5" else events(count, base_ms, keys=keys)
    }
    if workload == "w4":
        found["table"] = users(base_ms, keys)
    elif workload == "w6":
        found["table"] = events(count, base_ms, seed=8, keys=keys)
    return found
