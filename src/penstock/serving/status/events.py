"""What happened between two samples: states, moved tasks, lost threads, restores, leaders."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from penstock.serving.status.values import ApplicationStatus

_MOST = 60


class EventKind(StrEnum):
    """What an event is about."""

    STATE = "state"
    THREAD = "thread"
    MOVE = "move"
    RESTORE = "restore"


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened, in words."""

    at_ms: int
    kind: EventKind
    text: str


class EventLog:
    """Keeps the last events."""

    def __init__(self) -> None:
        self._kept: deque[Event] = deque(maxlen=_MOST)
        self._before: ApplicationStatus | None = None

    def add(self, status: ApplicationStatus) -> tuple[Event, ...]:
        """Compare a sample with the one before; return all events that are kept, newest last."""
        if self._before is not None:
            self._kept.extend(happened(self._before, status))
        self._before = status
        return tuple(self._kept)


def happened(before: ApplicationStatus, after: ApplicationStatus) -> Iterator[Event]:
    """Return what changed from one sample to the next."""
    at_ms = after.at_ms
    if before.state != after.state:
        yield Event(at_ms, EventKind.STATE, f"{before.state} → {after.state}")
    if before.is_leader != after.is_leader:
        text = "this instance processes now" if after.is_leader else "another instance processes"
        yield Event(at_ms, EventKind.STATE, text)
    lived = {thread.name: thread.is_alive for thread in before.threads}
    for thread in after.threads:
        if lived.get(thread.name, thread.is_alive) != thread.is_alive:
            what = "is back" if thread.is_alive else "is gone"
            yield Event(at_ms, EventKind.THREAD, f"{thread.name} {what}")
    homes = {task.id: task.thread for task in before.tasks}
    for task in after.tasks:
        home = homes.get(task.id, task.thread)
        if home != task.thread:
            yield Event(at_ms, EventKind.MOVE, f"task {task.id} moved from {home} to {task.thread}")
    yield from _restores(before, after)


def _restores(before: ApplicationStatus, after: ApplicationStatus) -> Iterator[Event]:
    began = {(each.store, each.partition): each for each in before.restoring}
    now = {(each.store, each.partition): each for each in after.restoring}
    for place in now.keys() - began.keys():
        records = now[place].end - now[place].start
        text = f"{place[0]}-{place[1]} is being restored: {records:,} changes"
        yield Event(after.at_ms, EventKind.RESTORE, text)
    for store, partition in began.keys() - now.keys():
        yield Event(after.at_ms, EventKind.RESTORE, f"{store}-{partition} is restored")
