"""Source topics that were deleted and created again: what was committed of them counts no more."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

from penstock.errors import TopologyError
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.exchange.stage_request import Report

log = logging.getLogger(__name__)


class IdLog(Protocol):
    """Keeps the ids of topics between runs."""

    def note_topics(self, ids: Mapping[str, str]) -> None: ...


class MadeAnew:
    """The partitions of such topics, until a batch has committed where reading of them is now.

    Until then the log keeps the old ids. Otherwise a run that ends early would leave offsets of
    the old topic behind, and nothing would say that they are of another one.
    """

    def __init__(
        self, parts: Iterable[TopicPartition] = (), ids: Mapping[str, str] | None = None
    ) -> None:
        self.parts = frozenset(parts)
        self._ids = dict(ids or {})

    def reached(self, reports: Iterable[Report]) -> dict[TopicPartition, int]:
        """Return how far partitions were read; a marker of an old batch may mean the old topic."""
        return {
            part: at
            for report in reports
            for part, at in report.positions.items()
            if not (report.is_repeated and part in self.parts)
        }

    def committed(self, reached: Collection[TopicPartition], batch_log: IdLog) -> None:
        """Note that a batch has committed these positions."""
        if self.parts and self.parts <= set(reached):
            batch_log.note_topics(self._ids)
            self.parts = frozenset()


def find_made_anew(
    known: Mapping[str, str],
    found: Mapping[str, str],
    sizes: Mapping[str, int],
    own: Collection[str],
    batch_log: IdLog,
    prefix: str,
) -> MadeAnew:
    """Compare the ids of topics with those that the log has.

    Args:
        known: the ids of the last run.
        found: the ids that the topics have now.
        sizes: the number of partitions of each source topic.
        own: the application's own topics, besides the batch log.
        prefix: the first part of the names of its own topics. A changelog that no store has any
            more may be deleted.

    Raises:
        TopologyError: ``internal-topic-lost``, if one of the application's own topics was deleted:
            its records cannot be found anywhere else.
    """
    changed = [name for name in found if known.get(name, found[name]) != found[name]]
    for name in changed:
        if name in own:
            raise TopologyError(
                "internal-topic-lost",
                f"internal topic {name!r} was deleted and created again: records or state that"
                " only it had are lost",
                fix="start over with penstock reset, which also deletes the local state; or"
                " give the application another application.id",
            )
        if name in sizes:
            log.error(
                "source topic %r was deleted and created again: its committed offsets do not"
                " count any more, auto.offset.reset decides where to begin", name,
            )  # fmt: skip
    anew = [name for name in changed if name in sizes]
    kept = {name: each for name, each in known.items() if not name.startswith(prefix)}
    ids = {**kept, **found}
    batch_log.note_topics({**ids, **{name: known[name] for name in anew}})
    return MadeAnew(((name, number) for name in anew for number in range(sizes[name])), ids)
