"""Made-up people, auctions and bids, in the proportions of the Nexmark benchmark.

The same count and seed give the same events on every machine: only ``Random.random`` is used.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeVar

Kind = Literal["person", "auction", "bid"]
_Choice = TypeVar("_Choice")

#: 2026-01-05 07:59:00 UTC: an hour, a minute and a window end within a small run.
FIRST_MS = 1_767_599_940_000
#: Of 50 events, the first is a person, the next three are auctions, and the others are bids.
_CYCLE, _PEOPLE, _AUCTIONS = 50, 1, 3
_FIRST_ID = 1_000
_FIRST_CATEGORY, _CATEGORIES = 10, 5
#: So many of the last people sell and bid, and so many of the last auctions are open.
_ACTIVE_PEOPLE, _OPEN_AUCTIONS = 50, 20
#: One bid of two is for a hot auction; three of four sales and bids are those of hot people.
_HOT_AUCTIONS, _HOT_PEOPLE = 0.5, 0.75
_HOT_EVERY = 10

_FIRST_NAMES = ("Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gil", "Hana", "Ivo", "June", "Kai")
_LAST_NAMES = ("Abel", "Brandt", "Cole", "Dietz", "Ebert", "Ford", "Gruber", "Hahn", "Ito")
_TOWNS = (
    ("Phoenix", "AZ"), ("Los Angeles", "CA"), ("San Francisco", "CA"), ("Boise", "ID"),
    ("Portland", "OR"), ("Bend", "OR"), ("Seattle", "WA"), ("Kent", "WA"), ("Cheyenne", "WY"),
)  # fmt: skip
_HOT_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
_COLD_CHANNELS = 10_000
_SITE = "https://www.nexmark.com"


@dataclass(frozen=True, slots=True)
class Event:
    """A row of one of the three topics; ``time_ms`` is its ``dateTime``."""

    kind: Kind
    time_ms: int
    row: dict[str, str | int]


@dataclass(slots=True)
class _Generator:
    seed: int
    gap_ms: float
    people: int = 0
    auctions: int = 0
    chance: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)

    def event(self, number: int) -> Event:
        time_ms = FIRST_MS + int(number * self.gap_ms)
        place = number % _CYCLE
        if place < _PEOPLE:
            return Event("person", time_ms, self._person(time_ms))
        if place < _PEOPLE + _AUCTIONS:
            return Event("auction", time_ms, self._auction(time_ms))
        return Event("bid", time_ms, self._bid(time_ms))

    def _person(self, time_ms: int) -> dict[str, str | int]:
        number, self.people = self.people, self.people + 1
        first, last = self._one_of(_FIRST_NAMES), self._one_of(_LAST_NAMES)
        city, state = self._one_of(_TOWNS)
        return {
            "id": _FIRST_ID + number,
            "name": f"{first} {last}",
            "emailAddress": f"{first}.{last}@{self._letters(6)}.com".lower(),
            "creditCard": " ".join(f"{self._below(10_000):04}" for _ in range(4)),
            "city": city,
            "state": state,
            "dateTime": time_ms,
            "extra": self._letters(20),
        }

    def _auction(self, time_ms: int) -> dict[str, str | int]:
        number, self.auctions = self.auctions, self.auctions + 1
        price = self._price()
        # An auction is open for about as long as it takes until it is none of the last ones.
        length_ms = _OPEN_AUCTIONS * self.gap_ms * _CYCLE / _AUCTIONS
        return {
            "id": _FIRST_ID + number,
            "itemName": self._letters(12),
            "description": self._letters(40),
            "initialBid": price,
            "reserve": price + self._price(),
            "dateTime": time_ms,
            "expires": time_ms + 1 + int(self.chance.random() * 2 * length_ms),
            "seller": _FIRST_ID + self._recent(self.people, _ACTIVE_PEOPLE, _HOT_PEOPLE),
            "category": _FIRST_CATEGORY + self._below(_CATEGORIES),
            "extra": self._letters(20),
        }

    def _bid(self, time_ms: int) -> dict[str, str | int]:
        channel, url = self._channel()
        return {
            "auction": _FIRST_ID + self._recent(self.auctions, _OPEN_AUCTIONS, _HOT_AUCTIONS),
            "bidder": _FIRST_ID + self._recent(self.people, _ACTIVE_PEOPLE, _HOT_PEOPLE),
            "price": self._price(),
            "channel": channel,
            "url": url,
            "dateTime": time_ms,
            "extra": self._letters(20),
        }

    def _channel(self) -> tuple[str, str]:
        """Return a channel and its address; only some of the rare ones have an id in it."""
        path = "/".join(self._letters(4) for _ in range(3))
        address = f"{_SITE}/{path}/item.htm?query=1"
        if self.chance.random() < 0.5:
            return self._one_of(_HOT_CHANNELS), address
        number = self._below(_COLD_CHANNELS)
        if self.chance.random() < 0.9:
            address += f"&channel_id={number * 7919 % 1_000_003}"
        return f"channel-{number}", address

    def _recent(self, count: int, active: int, hot: float) -> int:
        """Return one of the last ``active`` numbers below ``count``, often the hot one of them."""
        if self.chance.random() < hot:
            return (count - 1) // _HOT_EVERY * _HOT_EVERY
        return count - 1 - self._below(min(count, active))

    def _price(self) -> int:
        return round(10 ** (self.chance.random() * 6) * 100)

    def _letters(self, length: int) -> str:
        return "".join(chr(97 + self._below(26)) for _ in range(length))

    def _below(self, end: int) -> int:
        return int(self.chance.random() * end)

    def _one_of(self, choices: tuple[_Choice, ...]) -> _Choice:
        return choices[self._below(len(choices))]


def events(count: int, *, per_second: float = 10_000.0, seed: int = 42) -> Iterator[Event]:
    """Yield ``count`` events in the order of their time, ``per_second`` of them in a second."""
    generator = _Generator(seed, 1_000 / per_second)
    return (generator.event(number) for number in range(count))
