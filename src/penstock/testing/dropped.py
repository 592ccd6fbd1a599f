"""Records that a topology dropped in a test: which one, at which line of the program, and why."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.kernel.record_queue import RawRecord
from penstock.topology.nodes import Node
from penstock.topology.titles import title

_MOST_SHOWN = 60


@dataclass(frozen=True, slots=True)
class DroppedRecord:
    """A record that was dropped: the node and the reason, and the record as it was read.

    ``at`` names the operator and its line. Behind a repartition topic the record is the one of that
    topic. A timer has no record: its ``topic`` is None.
    """

    node: str
    reason: str
    at: str
    topic: str | None
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None

    def __str__(self) -> str:
        where = f"{self.reason} in {self.at}: "
        if self.topic is None:
            return where + "in a punctuation"
        return (
            f"{where}topic {self.topic!r} partition {self.partition} offset {self.offset}"
            f" time {self.timestamp} key {_shown(self.key)} value {_shown(self.value)}"
        )


def dropped_record(node: Node, reason: str, raw: RawRecord | None) -> DroppedRecord:
    """Return what is known of a dropped record; without ``raw``, a punctuation has dropped it."""
    if raw is None:
        return DroppedRecord(node.name, reason, title(node), None, 0, 0, 0, None, None)
    topic, partition, offset, timestamp, key, value = raw[:6]
    return DroppedRecord(
        node.name, reason, title(node), topic, partition, offset, timestamp, key, value
    )


def _shown(part: bytes | None) -> str:
    if part is None:
        return "null"
    try:
        text = repr(part.decode())
    except UnicodeDecodeError:
        text = repr(part)
    return text if len(text) <= _MOST_SHOWN else text[: _MOST_SHOWN - 1] + "…"
