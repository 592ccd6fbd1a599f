"""Ranges of topics by offset and by time: ``penstock.runtime.spark.topic_ranges``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import pytest

from penstock.errors import ConfigError
from penstock.kafka.admin import Admin
from penstock.kafka.admin_answers import Partition
from penstock.runtime.spark.topic_ranges import EARLIEST, LATEST, Edge

PARTS: list[Partition] = [("orders", 0), ("orders", 1)]
ENDS: dict[Partition, int] = {("orders", 0): 20, ("orders", 1): 30}


class Answers:
    """A broker on which offset 12 of each partition is the first at its time."""

    def begin_offsets(self, parts: Iterable[Partition]) -> dict[Partition, int]:
        return dict.fromkeys(parts, 5)

    def offsets_at(self, parts: Iterable[Partition], time_ms: int) -> dict[Partition, int]:
        return {part: 12 if time_ms <= 1_000 + part[1] else -1 for part in parts}


def found(**options: str) -> list[int]:
    named = {name.replace("_", "."): value for name, value in options.items()}
    edge = Edge.of(named, "starting", EARLIEST)
    offsets = edge.of_partitions(cast("Admin", cast("Any", Answers())), PARTS, ENDS)
    return [offsets[part] for part in PARTS]


@pytest.mark.parametrize(
    ("options", "offsets"),
    [
        ({}, [5, 5]),
        ({"starting_offsets": EARLIEST}, [5, 5]),
        ({"starting_offsets": LATEST}, [20, 30]),
        ({"starting_offsets": '{"orders": {"1": 7}}'}, [5, 7]),
        ({"starting_offsets": '{"0": 6}'}, [6, 5]),
        ({"starting_time": "1000"}, [12, 12]),
        ({"starting_time": "1970-01-01T00:00:01.001Z"}, [20, 12]),
    ],
)
def test_a_range_starts_where_the_options_say(options: dict[str, str], offsets: list[int]) -> None:
    """A time after the last record is the end; what is not named keeps the default."""
    assert found(**options) == offsets


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"starting_offsets": "soon"}, "it cannot be read"),
        ({"starting_offsets": '{"orders": {"9": 7}}'}, "no partition orders-9"),
        ({"starting_offsets": '{"orders": {"0": "x"}}'}, "it cannot be read"),
        ({"starting_time": "soon"}, "neither a time nor a duration"),
        ({"starting_time": "1", "starting_offsets": EARLIEST}, "both"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, str], text: str) -> None:
    """The error names the option and what may stand there."""
    with pytest.raises(ConfigError, match="bad-option") as raised:
        found(**options)
    assert text in str(raised.value)
