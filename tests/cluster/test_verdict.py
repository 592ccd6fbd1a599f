"""The verdict notices every kind of difference."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.cluster.expected import LogRecord
from tests.cluster.topology import (
    AMOUNTS,
    COUNTS,
    JOIN_WINDOW_MS,
    LEFT,
    LINES,
    PAIRS,
    RIGHT,
    SUMMARIES,
    SUMMARY_MS,
    SUMS,
)
from tests.cluster.verdict import Check, Written, judge

Records = list[LogRecord]


def text(key: str, value: str, at: int = 0) -> LogRecord:
    return LogRecord(0, at, key.encode(), value.encode())


def number(key: str, value: int, at: int = 0) -> LogRecord:
    return LogRecord(0, at, key.encode(), struct.pack(">q", value))


def right_result() -> Written:
    """The input of a small run, with all outputs as they must be."""
    late = JOIN_WINDOW_MS + 1
    amounts = [number("a", 5, 1), number("b", 7, 0), number("a", 1, 2)]
    closers = [number("closer-0", 1, 3 * SUMMARY_MS), number("closer-0", 1, 6 * SUMMARY_MS)]
    return Written(
        inputs={
            LINES: [text("1", "x y"), text("2", "x x")],
            LEFT: [text("k", "L1", 0), text("k", "L2", 10)],
            RIGHT: [text("k", "R1", 0), text("k", "R2", late), text("other", "R3", 0)],
            AMOUNTS: [*amounts, *closers],
        },
        outputs={
            COUNTS: [number("x", 1), number("y", 1), number("x", 2), number("x", 3)],
            PAIRS: [text("k", "L2+R1"), text("k", "L1+R1"), text("k", "L2+R2")],
            SUMS: [number("a", 5), number("b", 7), number("a", 6), number("closer-0", 1),
                   number("closer-0", 2)],
            SUMMARIES: [number("0@0", 3), number("0@3", 1)],
        },
        count_changelog=[number("x", 3), number("y", 1)],
        sum_changelog=[number("a", 6), number("b", 7), number("closer-0", 2),
                       number("!stretch:0:0", 3), LogRecord(0, 0, b"!stretch:0:0", None),
                       number("!time:0", 9), number("!ticks:0", 4)],
        join_changelogs={
            "pair-this-join-store": [text("1", "L1"), text("2", "L2")],
            "pair-other-join-store": [text("1", "R1"), text("2", "R2"), text("3", "R3")],
        },
    )  # fmt: skip


def changed(topic: str, change: Callable[[Records], None]) -> dict[str, Check]:
    """Return the checks that fail when the records of one output are changed."""
    written = right_result()
    records = list(written.outputs[topic])
    change(records)
    checks = judge(replace(written, outputs={**written.outputs, topic: records}))
    return {check.name: check for check in checks if not check.is_ok}


def swap_first_and_last(records: Records) -> None:
    records[0], records[-1] = records[-1], records[0]


def test_right_result_passes() -> None:
    """Pairs come in any order, and summaries of closing records may be missing."""
    checks = judge(right_result())
    assert [check for check in checks if not check.is_ok] == []
    assert {check.name: check.expected for check in checks} == {
        "word count": 4, "join": 3, "processor sums": 5, "processor summaries": 1,
        "store of word count": 2, "store of processor": 3, "store pair-this-join-store": 2,
        "store pair-other-join-store": 3,
    }  # fmt: skip


OUTPUT_NAMES = [
    (COUNTS, "word count"),
    (PAIRS, "join"),
    (SUMS, "processor sums"),
    (SUMMARIES, "processor summaries"),
]


@pytest.mark.parametrize(("topic", "name"), OUTPUT_NAMES)
def test_lost_record_is_noticed(topic: str, name: str) -> None:
    """A record that is missing counts as lost, in the output that misses it."""
    found = changed(topic, lambda records: records.pop(0))
    assert list(found) == [name]
    assert (found[name].lost, found[name].doubled, found[name].wrong) == (1, 0, 0)


@pytest.mark.parametrize(("topic", "name"), OUTPUT_NAMES)
def test_doubled_record_is_noticed(topic: str, name: str) -> None:
    """A record that came twice counts as doubled, not as out of order."""
    found = changed(topic, lambda records: records.append(records[0]))
    assert list(found) == [name]
    assert (found[name].lost, found[name].doubled, found[name].disordered) == (0, 1, 0)


def test_swapped_counts_are_noticed() -> None:
    """The counts of one word have to rise."""
    found = changed(COUNTS, swap_first_and_last)
    check = found["word count"]
    assert (check.lost, check.doubled, check.wrong) == (0, 0, 0)
    assert check.disordered > 0


def test_swapped_sums_are_noticed() -> None:
    """The sums of one key come in the order of its input."""

    def swap(records: Records) -> None:
        records[0], records[2] = records[2], records[0]

    assert changed(SUMS, swap)["processor sums"].disordered == 1


def test_value_that_no_input_asks_for_is_noticed() -> None:
    """A sum that was computed from lost state is wrong, and the right one is lost."""
    found = changed(SUMS, lambda records: records.__setitem__(2, number("a", 1)))
    check = found["processor sums"]
    assert (check.lost, check.wrong) == (1, 1)


def test_store_that_differs_from_its_output_is_noticed() -> None:
    """The last value of every key in a changelog is compared, and so are leftovers."""
    written = right_result()
    leftover = number("!stretch:0:0", 3)
    wrong = replace(
        written,
        count_changelog=[number("x", 2), number("y", 1)],
        sum_changelog=[*written.sum_changelog, leftover],
        join_changelogs={"pair-this-join-store": [text("1", "L1")]},
    )
    failed = {check.name for check in judge(wrong) if not check.is_ok}
    assert failed == {"store of word count", "store of processor", "store pair-this-join-store"}
