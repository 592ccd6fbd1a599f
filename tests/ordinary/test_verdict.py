"""What the model calls lost, and what it lets operators delete."""

from __future__ import annotations

import struct

from tests.cluster.expected import LogRecord
from tests.cluster.topology import LINES
from tests.ordinary.actions.day import Deleted
from tests.ordinary.notes import Life, NoteFeeder, judge_notes
from tests.ordinary.verdict import judge_reading

PLACE = (LINES, 0)
RECORDED = {PLACE: [(at, LogRecord(0, 1_000, b"k", b"word")) for at in range(4)]}


def seen(*offsets: int) -> list[LogRecord]:
    return [LogRecord(0, 1_000, b"lines:0", struct.pack(">q", each)) for each in offsets]


def test_record_that_nobody_deleted_is_lost_if_it_was_not_read() -> None:
    """A gap in what the application has read counts, and results without it are wrong."""
    reading = judge_reading(RECORDED, seen(0, 1, 3), [], {})
    assert (reading.check.lost, reading.unread, len(reading.inputs[LINES])) == (1, 0, 4)


def test_record_deleted_before_it_was_read_is_left_out() -> None:
    """Retention may take a record that was not read; then no result has it."""
    reading = judge_reading(RECORDED, seen(0, 1, 3), [Deleted(PLACE, 1, 3)], {PLACE: {1, 2}})
    assert (reading.check.lost, reading.unread, len(reading.inputs[LINES])) == (0, 1, 3)


def test_record_that_the_log_still_has_must_be_read() -> None:
    """What an operator might have deleted and did not is lost like any other record."""
    reading = judge_reading(RECORDED, seen(0, 1, 3), [Deleted(PLACE, 1, 3)], {PLACE: {1}})
    assert reading.check.lost == 1


def test_record_read_twice_or_too_late_is_told() -> None:
    """Each partition is read in its order, and each record once."""
    reading = judge_reading(RECORDED, seen(0, 2, 1, 3, 3), [], {})
    assert (reading.check.doubled, reading.check.disordered) == (1, 1)


def test_only_the_last_notes_of_a_deleted_topic_may_be_missing() -> None:
    """A topic goes as a whole: what was committed before, or lies before a read note, counts."""
    feeder = NoteFeeder("127.0.0.1:1")
    life = Life("notes-a", 1)
    feeder.written[life, 0] += [(at, f"n{at}") for at in range(5)]
    feeder.deleted[life, 0] = 1
    check, missed = judge_notes(feeder, ["n0", "n2"])
    assert (check.lost, missed) == (1, 2)
