"""Follows one record: finds it, finds the state of its time, and runs it beside the application."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.errors import InvalidArgumentError
from penstock.serving.application import Queryable
from penstock.serving.journey.app_state import AppState
from penstock.serving.journey.values import Journeys, TopicRecord, Trace
from penstock.serving.past.values import Commit

#: How many records between the commit and the record are run first.
MOST_BEFORE = 500
#: How many offsets are searched for records to pick.
_MOST_SEARCHED = 5_000
_NOW = (
    "The stores were read as they are now, so they have what this record and later ones have done"
    " to them already."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Journey:
    """A record with its trace, and on which state it was run."""

    record: TopicRecord
    trace: Trace
    #: The commit whose state it was run on; None for the present.
    commit: Commit | None
    #: How many records of its partition came after that commit and were run before it.
    run_before: int
    #: Whether the application has processed it, as far as the newest commit tells.
    is_processed: bool | None


def follow(application: Queryable, tools: Journeys, place: tuple[str, int, int]) -> Journey:
    """Run a record of a source topic again, on the state of its time as far as it can be had.

    Raises:
        InvalidArgumentError: ``not-a-source``, ``no-such-record``.
    """
    topic, partition, offset = place
    check_source(tools, topic)
    found = tools.read(topic, partition, offset, offset + 1)
    if not found or found[0].offset != offset:
        raise InvalidArgumentError(
            "no-such-record",
            f"topic {topic!r} partition {partition} has no record at offset {offset}",
            fix="pick one of /journeys/{topic}: retention may have deleted this one",
        )
    record, notes = found[0], []
    commits = application.commits()
    newest = _position(commits[-1], topic, partition) if commits else None
    is_processed = None if newest is None else offset < newest
    commit = _before(commits, topic, partition, offset)
    between: Sequence[TopicRecord] = ()
    if commit is not None:
        start = _position(commit, topic, partition) or 0
        between = tools.read(topic, partition, max(start, offset - MOST_BEFORE), offset)
        if start < offset - MOST_BEFORE:
            notes.append(
                f"{offset - start:,} records of this partition lie between the commit and this"
                f" one: only the last {MOST_BEFORE} of them were run."
            )
        notes.append(
            "Records of other partitions and topics that came after the commit were not run."
        )
    elif is_processed is not False:
        notes.append(_NOW)
    trace = tools.run(between, record, AppState(application, commit))
    trace.notes[:0] = notes
    return Journey(
        record=record,
        trace=trace,
        commit=commit,
        run_before=len(between),
        is_processed=is_processed,
    )


def newest_records(
    tools: Journeys, topic: str, key: str | None, limit: int
) -> tuple[list[TopicRecord], bool]:
    """Return the newest records of a source topic, newest first, and whether all were searched.

    ``key`` is the beginning of the serialized key.
    """
    check_source(tools, topic)
    bounds = tools.bounds(topic)
    # Without a key, the newest of each partition are enough.
    reach = limit if key is None else _MOST_SEARCHED // max(len(bounds), 1)
    found: list[TopicRecord] = []
    is_whole = True
    for partition, (begin, end) in bounds.items():
        start = max(begin, end - reach)
        is_whole = is_whole and start == begin
        found += tools.read(topic, partition, start, end)
    if key is not None:
        wanted = key.encode()
        found = [
            record for record in found if record.key is not None and record.key.startswith(wanted)
        ]
    found.sort(key=lambda each: (each.timestamp, each.partition, each.offset), reverse=True)
    return found[:limit], is_whole and len(found) <= limit


def check_source(tools: Journeys, topic: str) -> None:
    """Refuse a topic that the application does not read from others."""
    known = tools.sources()
    if topic not in known:
        raise InvalidArgumentError(
            "not-a-source",
            f"the application does not read topic {topic!r} from others",
            fix=f"pick a record of {', '.join(map(repr, sorted(known))) or 'no topic'}",
        )


def _before(commits: Sequence[Commit], topic: str, partition: int, offset: int) -> Commit | None:
    """Return the newest commit whose state does not have the record yet."""
    for commit in reversed(commits):
        position: Any = _position(commit, topic, partition)
        if position is not None and position <= offset:
            return commit
    return None


def _position(commit: Commit, topic: str, partition: int) -> int | None:
    return commit.positions.get(topic, {}).get(partition)
