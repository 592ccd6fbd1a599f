"""Which offsets of which topics ``format("penstock")`` reads: by offset, by time, or all."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.errors import ConfigError, InvalidArgumentError
from penstock.kafka.admin import Admin
from penstock.kafka.admin_answers import Partition
from penstock.model.time.moment import moment_ms

EARLIEST, LATEST = "earliest", "latest"


@dataclass(frozen=True)
class Edge:
    """Where a range starts or ends: at offsets, at a time, or at an end of the topic."""

    name: str
    default: str
    offsets: str | None = None
    time: str | None = None

    @staticmethod
    def of(options: Mapping[str, str], name: str, default: str) -> Edge:
        """Read the options ``<name>.offsets`` and ``<name>.time``."""
        offsets, time = options.get(f"{name}.offsets"), options.get(f"{name}.time")
        if offsets is not None and time is not None:
            raise ConfigError(
                "bad-option",
                f"both {name}.offsets and {name}.time are set",
                fix="set one of the two",
            )
        return Edge(name, default, offsets, time)

    def of_partitions(
        self, admin: Admin, parts: list[Partition], ends: Mapping[Partition, int]
    ) -> dict[Partition, int]:
        """Return an offset for each partition; ``ends`` are the ends of the partitions."""
        if self.time is not None:
            found = admin.offsets_at(parts, self._moment(self.time))
            # Kafka answers -1 for a time after the last record.
            return {p: ends[p] if at < 0 else min(at, ends[p]) for p, at in found.items()}
        text = self.offsets or self.default
        if text == EARLIEST:
            return admin.begin_offsets(parts)
        if text == LATEST:
            return {part: ends[part] for part in parts}
        return self._given(text, admin, parts, ends)

    def _given(
        self, text: str, admin: Admin, parts: list[Partition], ends: Mapping[Partition, int]
    ) -> dict[Partition, int]:
        """Return the given offsets; what is not named starts or ends where it does by default."""
        named = _offsets(text, self.name, {topic for topic, _ in parts})
        unknown = sorted(named.keys() - set(parts))
        if unknown:
            listed = ", ".join(f"{topic}-{number}" for topic, number in unknown)
            raise self._bad(text, f"there is no partition {listed}")
        rest = Edge(self.name, self.default).of_partitions(admin, parts, ends)
        return {part: named.get(part, rest[part]) for part in parts}

    def _moment(self, text: str) -> int:
        if text.isdecimal():
            return int(text)
        try:
            return moment_ms(text, time.time_ns() // 1_000_000)
        except InvalidArgumentError as error:
            raise ConfigError(
                "bad-option", f"option {self.name}.time: {error.message}", error.fix
            ) from error

    def _bad(self, text: str, why: str) -> ConfigError:
        return _bad_offsets(self.name, text, why)


def _offsets(text: str, name: str, topics: set[str]) -> dict[Partition, int]:
    """Read ``{"orders": {"0": 17}}``, or ``{"0": 17}`` if there is only one topic."""
    try:
        given: Any = json.loads(text)
        if not all(isinstance(each, dict) for each in given.values()):
            (only,) = topics
            given = {only: given}
        return {
            (topic, int(number)): int(offset)
            for topic, offsets in given.items()
            for number, offset in offsets.items()
        }
    except (ValueError, AttributeError, TypeError) as error:
        raise _bad_offsets(name, text, "it cannot be read") from error


def _bad_offsets(name: str, text: str, why: str) -> ConfigError:
    return ConfigError(
        "bad-option",
        f"option {name}.offsets={text!r}: {why}",
        fix=f"set it to {EARLIEST}, to {LATEST}, or to offsets such as"
        ' {"orders": {"0": 17}}; a topic may be left out if it is the only one',
    )
