"""The topologies of ``tests.cluster``, a source with a pattern, and a list of what was read."""

from __future__ import annotations

import re
from typing import Any

import penstock as ps
from tests.cluster.topology import OUTPUTS, add_all

NOTES, NOTED, SEEN = ("notes-a", "notes-b", "notes-c"), "noted", "seen"
ALL_OUTPUTS = (*OUTPUTS, NOTED, SEEN)


def build() -> ps.Topology:
    """Build the topology; ``SEEN`` has the offset of each input record that was processed.

    Operators may delete records before they are read. This output tells which ones: the others
    have to be in every result.
    """
    builder = ps.StreamsBuilder()
    for source in add_all(builder).values():
        source.process(Seen).to(SEEN, key="string", value="long")
    notes = builder.stream(re.compile("notes-[a-z]"), key="string", value="string")
    notes.to(NOTED, key="string", value="string")
    return builder.build()


class Seen(ps.Processor[Any, Any, str, int]):
    """Forwards where a record was read from: topic and partition as the key, then the offset."""

    def process(self, record: ps.Record[Any, Any]) -> None:
        place = self.context.record_metadata
        assert place is not None
        key = f"{place.topic}:{place.partition}"
        self.context.forward(ps.Record(key, place.offset, record.timestamp))
