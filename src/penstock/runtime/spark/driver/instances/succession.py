"""Decides which instance takes over from a leader that the group has not replaced yet.

The choice of the group: ``membership``. The state of other instances: ``beacon``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from penstock.runtime.spark.driver.instances.beacon import Life
from penstock.runtime.spark.exchange.batch_log import InstanceRecord

#: How long an instance waits to take over, for each instance that is before it in line.
_TURN_S = 1.5
#: An instance that took the newest generation and says that it does not lead has lost the group's
#: partition. The group's new choice takes the next generation within this time, if there is one.
_IDLE_S = 4.0
#: How long an instance that says that it leads may take to write its generation.
_TAKEOVER_S = 8.0
#: How often other instances are asked while this one waits for its turn.
_LOOK_S = 0.3


class LastLeader(NamedTuple):
    """The instance that took the newest generation, as another instance sees it."""

    generation: int
    id: str
    #: None if it is the instance itself, or if there was no leader.
    life: Life | None
    #: When ``life`` was noticed, by the monotonic clock; None if the leader was not watched.
    since: float | None = None


@dataclass(frozen=True, slots=True)
class _Vacancy:
    generation: int
    life: Life | None
    #: When it was noticed.
    since: float


class Succession:
    """Tells whether this instance has to take over from a leader that is gone.

    Instances take over in the order in which they started. Each one first waits for those before
    it, unless they are gone as well. A leader counts as gone if its process has ended, or if it
    says for a while that it does not lead: then the group has taken the lead from it and cannot
    choose another instance, because it waits for a member that has ended.

    Args:
        own: the id of this instance.
        leads: tells whether this instance leads, or has taken over already.
        look: returns the current states of other instances.
    """

    def __init__(
        self,
        own: str,
        leads: Callable[[], bool],
        look: Callable[[Sequence[InstanceRecord]], Mapping[str, Life]],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._own = own
        self._leads = leads
        self._look = look
        self._now = now
        self._vacancy: _Vacancy | None = None
        self._seen: Mapping[str, Life] = {}
        self._seen_at = float("-inf")

    def is_next(self, leader: LastLeader, candidates: Sequence[InstanceRecord]) -> bool:
        """Tell whether this instance should take over now.

        Args:
            candidates: all registered instances that may lead.
        """
        since = self._vacant_since(leader)
        if since is None or self._now() < since:
            return False
        if leader.id == self._own and self._leads():
            # It has taken over already, and has only failed meanwhile.
            return True
        is_gone = leader.life is Life.GONE
        line = sorted(
            (each for each in candidates if not (is_gone and each.id == leader.id)),
            # A leader that is alive and has lost the lead is the first to know that none leads.
            key=lambda each: (each.id != leader.id, each.started_ms, each.id),
        )
        return self._now() - since >= self._patience_s(line)

    def _vacant_since(self, leader: LastLeader) -> float | None:
        """Return when the lead became, or becomes, free to take; None if it is not free."""
        known = self._vacancy
        if known is None or (known.generation, known.life) != (leader.generation, leader.life):
            known = self._vacancy = _Vacancy(leader.generation, leader.life, self._now())
        since = known.since if leader.since is None else leader.since
        if leader.life is Life.GONE:
            return since
        if leader.id == self._own:
            return since + (0.0 if self._leads() else _IDLE_S)
        return since + _IDLE_S if leader.life is Life.FOLLOWS else None

    def _patience_s(self, line: Sequence[InstanceRecord]) -> float:
        """Return how long this instance waits for others in its line to take over."""
        names = [each.id for each in line]
        place = names.index(self._own) if self._own in names else len(names)
        lives = self._lives([each for each in line if each.id != self._own])
        before = sum(lives.get(name) is not Life.GONE for name in names[:place])
        is_taken = Life.LEADS in lives.values()
        return before * _TURN_S + (_TAKEOVER_S if is_taken else 0.0)

    def _lives(self, others: Sequence[InstanceRecord]) -> Mapping[str, Life]:
        if self._now() - self._seen_at >= _LOOK_S or any(e.id not in self._seen for e in others):
            self._seen = self._look(others)
            self._seen_at = self._now()
        return {each.id: self._seen.get(each.id, Life.SILENT) for each in others}
