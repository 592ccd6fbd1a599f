"""How a cut over several queries is taken: each is brought to what the ones before have written.

All readers of a source stop at one offset. When a query has come there and nothing of it is on its
way, it is held for a moment: the end of its sink is where its readers stop. Then it goes on, and
the next one is waited for. So a cut goes along the graph once, and no query waits for those behind.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from contextlib import ExitStack
from typing import Protocol

from penstock.kafka.topic_reader import Positions
from penstock.server.cuts.coverage import Coverage, QueryPlace
from penstock.server.cuts.server_cut import NoCutError, ServerCut
from penstock.server.reading import Place
from penstock.sql.catalog.catalog import DataSource
from penstock.sql.pull.table_rows import TableRows


class Copy(Protocol):
    """The copy of a table, as ``pull.kept_rows`` keeps it."""

    @property
    def source(self) -> DataSource: ...

    def freeze(self) -> Positions: ...

    def stop(self, positions: Mapping[Place, int]) -> None: ...

    def as_of_stop(self, timeout_s: float) -> TableRows | None: ...

    def lift(self) -> None: ...


class Written(Protocol):
    """Where topics end."""

    def places(self, topics: Iterable[str]) -> list[Place]: ...

    def written(self, places: Iterable[Place]) -> Positions:
        """Return the offsets after the last records, also of transactions that are open."""


class Taking:
    """Takes one cut. Whatever comes of it, all queries and copies go on afterwards.

    Args:
        covered: The queries.
        copies: The copies of tables whose rows the cut should have.
        streams: Further topics whose ends the cut should have.
        topics: The topics of the cluster.
        timeout_s: How long it may take.
    """

    def __init__(
        self,
        covered: Coverage,
        copies: Collection[Copy],
        streams: Collection[str],
        topics: Written,
        timeout_s: float,
    ) -> None:
        self._covered = covered
        self._copies = [each for each in copies if each.source.topic not in covered.left_out]
        self._streams = frozenset(streams) - covered.left_out.keys()
        self._topics = topics
        self._deadline = time.monotonic() + timeout_s
        self._positions: Positions = {}

    def take(self, number: int) -> ServerCut:
        """Take the cut.

        Raises:
            NoCutError: ``no-cut``: a query or a copy did not come to it in time.
            PenstockError: Kafka does not answer.
        """
        covered = self._covered
        numbers: dict[str, int] = {}
        try:
            self._agree_on_sources()
            for sink, writers in covered.stages:
                with ExitStack() as held:
                    for query in writers:
                        numbers[query.id] = self._held(held, query)
                    self._agree(sink, self._written(sink))
                for query in writers:
                    assert query.part is not None
                    query.part.lift()
            tables = {each.source.name: self._rows(each) for each in self._copies}
            return ServerCut(number, self._positions, numbers, tables, covered.left_out)
        finally:
            for query in covered.queries:
                assert query.part is not None
                query.part.lift()
            for each in self._copies:
                each.lift()

    def _agree_on_sources(self) -> None:
        written = {sink for sink, _ in self._covered.stages}
        read = frozenset[str]().union(*(query.reads for query in self._covered.queries))
        followed = {each.source.topic for each in self._copies}
        # A stream that only a question reads ends where it ends now.
        for topic in sorted(self._streams - read - followed - written):
            self._positions |= self._written(topic)
        for topic in sorted((read | followed) - written):
            self._agree(topic, {})

    def _agree(self, topic: str, least: Positions) -> None:
        """Let all readers of a topic stop at the same offsets, none of which one has passed."""
        parts = [q.part for q in self._covered.queries if q.part is not None and topic in q.reads]
        copies = [each for each in self._copies if each.source.topic == topic]
        agreed = dict(least)
        frozen = [part.freeze(frozenset((topic,))) for part in parts]
        for at in (*frozen, *(each.freeze() for each in copies)):
            for place, offset in at.items():
                agreed[place] = max(agreed.get(place, 0), offset)
        for part in parts:
            part.stop(agreed)
        for each in copies:
            each.stop(agreed)
        self._positions |= agreed

    def _held(self, held: ExitStack, query: QueryPlace) -> int:
        assert query.part is not None
        number = held.enter_context(query.part.hold(self._left_s()))
        if number is None:
            raise _late(f"query {query.id} did not come to it in time")
        return number

    def _rows(self, copy: Copy) -> TableRows:
        rows = copy.as_of_stop(self._left_s())
        if rows is None:
            raise _late(f"the copy of table {copy.source.name} did not come to it in time")
        return rows

    def _written(self, topic: str) -> Positions:
        # Records that a query has committed may be behind an open transaction of somebody else.
        return self._topics.written(self._topics.places([topic]))

    def _left_s(self) -> float:
        return max(self._deadline - time.monotonic(), 0.0)


def _late(why: str) -> NoCutError:
    return NoCutError(
        "no-cut",
        f"no cut of all queries could be taken: {why}",
        fix="ask again in a moment, or without penstock.read.cut; SHOW QUERIES tells what a query"
        " waits for",
    )
