"""Which queries a cut of the server covers, and in which order it comes to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from penstock.kafka.topic_reader import Positions
from penstock.server.reading import Place


class Part(Protocol):
    """The part of a running query in a cut; see ``runtime.spark.driver.lanes.cut_part``."""

    @property
    def topics(self) -> frozenset[str]: ...

    def freeze(self, topics: frozenset[str]) -> Positions: ...

    def stop(self, offsets: Mapping[Place, int]) -> None: ...

    def hold(self, timeout_s: float) -> AbstractContextManager[int | None]: ...

    def lift(self) -> None: ...


@dataclass(frozen=True, slots=True)
class QueryPlace:
    """A persistent query: what it reads, where it writes, and its part in a cut.

    Without a part, ``why`` says why it has none.
    """

    id: str
    reads: frozenset[str]
    sink: str
    part: Part | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Coverage:
    """The queries of a cut by their sinks, those first that others read from.

    ``left_out`` has the topics that depend on a query which has no part, each with the reason.
    """

    stages: tuple[tuple[str, tuple[QueryPlace, ...]], ...]
    left_out: Mapping[str, str]

    @property
    def queries(self) -> list[QueryPlace]:
        return [query for _, writers in self.stages for query in writers]


def coverage(queries: Sequence[QueryPlace]) -> Coverage:
    """Order queries by who reads whom; leave out those that depend on a query without a part."""
    writers: dict[str, list[QueryPlace]] = {}
    for query in queries:
        writers.setdefault(query.sink, []).append(query)
    left_out: dict[str, str] = {}
    stages: list[tuple[str, tuple[QueryPlace, ...]]] = []
    waiting = dict(writers)
    while waiting:
        found = [sink for sink, of in waiting.items() if not (_reads(of) & waiting.keys())]
        if not found:
            left_out |= {sink: _cycle(waiting) for sink in waiting}
            break
        for sink in sorted(found):
            of = tuple(sorted(waiting.pop(sink), key=lambda each: each.id))
            why = next((each.why for each in of if each.part is None), None)
            behind = next((topic for topic in sorted(_reads(of)) if topic in left_out), None)
            if why is None and behind is not None:
                why = left_out[behind]
            if why is None:
                stages.append((sink, of))
            else:
                left_out[sink] = why
    return Coverage(tuple(stages), left_out)


def _reads(queries: Sequence[QueryPlace]) -> frozenset[str]:
    return frozenset[str]().union(*(query.reads for query in queries))


def _cycle(waiting: Mapping[str, Sequence[QueryPlace]]) -> str:
    names = ", ".join(sorted(query.id for of in waiting.values() for query in of))
    return f"what {names} write goes round in a circle"
