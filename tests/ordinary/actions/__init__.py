"""What operators and other programs do on an ordinary day: one function per kind of action."""

from __future__ import annotations

from collections.abc import Callable

from tests.ordinary.actions import network, surroundings, topics
from tests.ordinary.actions.day import Act, Day

#: Kinds that the command line offers. A function returns None if it cannot act now.
ACTIONS: dict[str, Callable[[Day], Act | None]] = {
    "setting": topics.setting,
    "compaction": topics.compaction,
    "retention": topics.retention,
    "records": topics.records,
    "unread": topics.unread,
    "transaction": topics.transaction,
    "partitions": topics.partitions,
    "pattern": topics.pattern,
    "broker": network.broker,
    "rights": network.rights,
    "quota": network.quota,
    "link": network.link,
    "away": network.away,
    "clock": surroundings.clock,
    "disk": surroundings.disk,
    "producer": surroundings.producer,
    "burst": surroundings.burst,
    "restart": surroundings.restart,
    "idle": surroundings.idle,
}
KINDS = tuple(ACTIONS)
#: Kinds that get in each other's way: of each group, one at a time.
_GROUPS = (
    {"link", "away", "unread"},
    {"compaction", "retention", "records", "unread"},
    {"restart", "idle"},
    # Offsets expire only while nothing is written.
    *({"idle", writer} for writer in ("producer", "burst", "transaction", "pattern", "quota")),
)


def excluded(kind: str) -> set[str]:
    """Return the kinds that do not begin while one of this kind is under way, itself included."""
    return {kind}.union(*(group for group in _GROUPS if kind in group))
