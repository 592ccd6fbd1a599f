"""The new offsets of ``penstock reset``: each of Kafka's ways to name a position."""

from __future__ import annotations

import csv
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import typer

from penstock.errors import InvalidArgumentError
from penstock.kafka.admin import Admin
from penstock.kafka.admin_answers import Partition
from penstock.model.time.duration import to_ms

Offsets = dict[Partition, int]

_ISO_DURATION = re.compile(
    r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,3})\d*)?S)?)?", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Places:
    """The partitions to move: their first and last offsets, and the group's present offsets."""

    begin: Mapping[Partition, int]
    end: Mapping[Partition, int]
    now: Mapping[Partition, int]

    def within(self, wanted: Mapping[Partition, int]) -> Offsets:
        """Replace offsets that do not exist by the nearest that do, as Kafka's own tool does."""
        return {part: min(max(at, self.begin[part]), self.end[part]) for part, at in wanted.items()}


#: A function that returns the new offsets of all partitions.
Position = Callable[[Admin, Places], Offsets]


def earliest(admin: Admin, places: Places) -> Offsets:
    return dict(places.begin)


def latest(admin: Admin, places: Places) -> Offsets:
    return dict(places.end)


def at_offset(offset: int) -> Position:
    return lambda admin, places: places.within(dict.fromkeys(places.begin, offset))


def shifted_by(count: int) -> Position:
    """Return a position ``count`` records after the group's offset, or after the beginning."""
    return lambda admin, places: places.within(
        {part: places.now.get(part, first) + count for part, first in places.begin.items()}
    )


def at_time(time_ms: int) -> Position:
    """Return a position at the first record of this time or later, or at the end."""

    def find(admin: Admin, places: Places) -> Offsets:
        found = admin.offsets_at(places.begin, time_ms)
        return {part: places.end[part] if at < 0 else at for part, at in found.items()}

    return find


def from_file(file: Path) -> Position:
    """Return positions from lines of ``topic,partition,offset``; other partitions stay."""
    listed: Offsets = {}
    with file.open(encoding="utf-8", newline="") as lines:
        for number, line in enumerate(csv.reader(lines), 1):
            try:
                topic, partition, offset = (cell.strip() for cell in line)
                listed[topic, int(partition)] = int(offset)
            except ValueError:
                raise InvalidArgumentError(
                    "bad-line",
                    f"{','.join(line)!r} is not TOPIC,PARTITION,OFFSET",
                    at=f"{file}:{number}",
                ) from None

    def find(admin: Admin, places: Places) -> Offsets:
        unknown = [
            f"{topic}-{number}" for topic, number in listed if (topic, number) not in places.begin
        ]
        if unknown:
            raise InvalidArgumentError(
                "unknown-partition",
                f"{str(file)!r} names {', '.join(unknown)}, not among the input topics",
                fix="add the topic to --input-topics, or remove the line",
            )
        return places.within(listed)

    return find


def at_datetime(text: str) -> Position:
    """Return the position of a time in ISO 8601, which is in UTC unless it names a zone."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not ISO 8601", param_hint="--to-datetime") from None
    aware = found if found.tzinfo else found.replace(tzinfo=UTC)
    return at_time(round(aware.timestamp() * 1000))


def before_now(text: str) -> Position:
    """Return the position a duration ago: Kafka's ``PT1H30M`` or Penstock's ``1h 30m``."""
    return at_time(time.time_ns() // 1_000_000 - duration_ms(text))


def duration_ms(text: str) -> int:
    iso = _ISO_DURATION.fullmatch(text.strip())
    if iso is None or not any(iso.groups()):
        return to_ms(text, "--by-duration")
    days, hours, minutes, seconds = (int(group or 0) for group in iso.groups()[:4])
    millis = int((iso[5] or "0").ljust(3, "0"))
    return ((days * 24 + hours) * 60 + minutes) * 60_000 + seconds * 1000 + millis


def chosen(ways: Mapping[str, Position | None]) -> Position:
    """Return the position that the user asked for; the beginning if there is none."""
    asked = {name: way for name, way in ways.items() if way is not None}
    if len(asked) > 1:
        raise typer.BadParameter("only one position can be given", param_hint=" and ".join(asked))
    return next(iter(asked.values()), earliest)
