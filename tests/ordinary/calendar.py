"""Draw actions, see whether they take effect, and undo them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from penstock.errors import PenstockError
from tests.ordinary.actions import ACTIONS, excluded
from tests.ordinary.actions.day import Act, Day

#: Between two looks for the effect of one action.
_LOOK_S = 2.0
_PAUSE_S = (4.0, 14.0)


@dataclass
class _Entry:
    """An action that is under way."""

    number: int
    kind: str
    act: Act
    ends_s: float
    look_s: float = 0.0
    evidence: str | None = None


@dataclass
class Calendar:
    """The actions of one day. An action counts if something shows that it took effect."""

    day: Day
    kinds: tuple[str, ...]
    say: Callable[[str], None]
    effective: Counter[str] = field(default_factory=Counter)
    without_effect: list[str] = field(default_factory=list)
    _under_way: list[_Entry] = field(default_factory=list)
    _drawn: Counter[str] = field(default_factory=Counter)
    _begun: int = 0
    _next_s: float = 0.0

    @property
    def problems(self) -> list[str]:
        """Name the kinds of action that never took effect: they have tested nothing."""
        return [
            f"no action took effect: {text}"
            for text in self.without_effect
            if not self.effective[text.partition(":")[0]]
        ]

    def run_due(self) -> None:
        """Look for effects, undo what has lasted long enough, and begin what is due."""
        now_s = time.monotonic()
        for entry in list(self._under_way):
            if now_s >= entry.look_s and entry.evidence is None:
                self._look(entry)
            if now_s >= entry.ends_s or (entry.evidence and entry.act.ends_when_seen):
                self._end(entry)
        if self.kinds and now_s >= self._next_s:
            self._begin()
            self._next_s = time.monotonic() + self.day.chance.uniform(*_PAUSE_S)

    def end_all(self) -> None:
        """Undo everything now."""
        for entry in list(self._under_way):
            self._end(entry)

    def _begin(self) -> None:
        if not (free := self._free()):
            return
        kind = self.day.chance.choice(free)
        self._drawn[kind] += 1
        act = ACTIONS[kind](self.day)
        if act is None:
            return
        self._begun += 1
        self.say(f"action {self._begun}: {kind}: {act.what}")
        entry = _Entry(self._begun, kind, act, time.monotonic() + act.seconds)
        self._under_way.append(entry)

    def _free(self) -> list[str]:
        """Return the kinds that may begin now: the rarest, or those that keep none of them away."""
        busy = set().union(*(excluded(entry.kind) for entry in self._under_way))
        free = [kind for kind in self.kinds if kind not in busy]
        fewest = min(self._drawn[kind] for kind in self.kinds)
        rarest = [kind for kind in self.kinds if self._drawn[kind] == fewest]
        if due := [kind for kind in rarest if kind in free]:
            return due
        awaited = set().union(*map(excluded, rarest))
        return [kind for kind in free if kind not in awaited]

    def _look(self, entry: _Entry) -> None:
        with suppress(PenstockError):
            # The cluster may be away, or too busy to answer. It is asked again.
            entry.evidence = entry.act.evidence()
        entry.look_s = time.monotonic() + _LOOK_S
        if entry.evidence is not None:
            self.effective[entry.kind] += 1
            self.say(f"    action {entry.number} took effect: {entry.evidence}")

    def _end(self, entry: _Entry) -> None:
        if entry.evidence is None:
            self._look(entry)
        if entry.evidence is None:
            self.without_effect.append(f"{entry.kind}: {entry.act.what}")
            self.say(f"    action {entry.number} took no effect that shows")
        self._under_way.remove(entry)
        entry.act.undo()
