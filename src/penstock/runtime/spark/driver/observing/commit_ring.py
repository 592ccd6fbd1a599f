"""The commits of the last minutes: where every changelog stood after each of them."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.driver.observing.failure_log import now_ms
from penstock.serving.past.values import Commit

#: How many commits are kept. The newest ones are all there; older ones are thinned out.
_MOST = 400


class CommitRing:
    """Keeps commits, the more sparsely the older they are. Any thread may use it."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._kept: list[Commit] = []
        self._lock = threading.Lock()

    def note(
        self,
        number: int,
        ends: Mapping[TopicPartition, int],
        at_ms: int | None = None,
        positions: Mapping[TopicPartition, int] | None = None,
    ) -> None:
        """Keep a commit; one that is not newer than the last begins anew."""
        commit = Commit(
            number=number,
            at_ms=at_ms or now_ms(),
            ends=_by_topic(ends),
            positions=_by_topic(positions or {}),
        )
        with self._lock:
            if self._kept and self._kept[-1].number >= number:
                self._kept.clear()
            self._kept.append(commit)
            if len(self._kept) > self._most:
                # Of the older half every second one: each time this halves what is old already.
                half = self._most // 2
                self._kept = self._kept[:half:2] + self._kept[half:]

    def latest(self) -> tuple[Commit, ...]:
        """Return the commits, the newest last."""
        with self._lock:
            return tuple(self._kept)


def _by_topic(offsets: Mapping[TopicPartition, int]) -> dict[str, dict[int, int]]:
    found: dict[str, dict[int, int]] = {}
    for (topic, partition), offset in offsets.items():
        found.setdefault(topic, {})[partition] = offset
    return found
