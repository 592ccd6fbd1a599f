"""Choose which fault happens when, and remember what was done."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tests.cluster.faults import Faults
from tests.cluster.watch import Watch

#: How often each kind comes, next to the others. Stream threads and executors die most often.
_WEIGHTS = {
    "executor": 4, "thread": 5, "worker": 2, "jvm": 2, "driver": 3, "broker": 3, "brokers": 1,
    "pause": 5, "task": 3, "decommission": 2, "application_master": 1, "manager": 1,
}  # fmt: skip
_DRIVER_KINDS = ("driver", "jvm")
#: The share of drawn kills that hit a driver which is still starting.
_EARLY_KILLS = 0.05
#: After so many faults without a commit the next one waits for a commit, but not for ever.
_MOST_WITHOUT_COMMIT = 3
_RECOVERY_S = 90.0


@dataclass(frozen=True)
class Done:
    """One fault that was done, and when by the monotonic clock."""

    time_s: float
    kind: str
    what: str


@dataclass
class Injector:
    """Does faults with a pause of a few seconds between them.

    It draws from ``kinds`` by weight for as long as the run lasts. With ``is_script`` it does
    each of the kinds once, in their order, and each time waits for a commit first: then every
    fault meets an application that runs, however slow the machine is.
    """

    faults: Faults
    chance: random.Random
    kinds: Sequence[str]
    report: Callable[[str], None]
    watch: Watch
    pause_s: tuple[float, float] = (3.0, 12.0)
    is_script: bool = False
    done: list[Done] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._next_s = time.monotonic() + self.chance.uniform(*self.pause_s)

    @property
    def by_kind(self) -> Counter[str]:
        return Counter(each.kind for each in self.done)

    @property
    def is_finished(self) -> bool:
        """Whether a script has been played to its end and the application has recovered."""
        return self.is_script and len(self.done) == len(self.kinds) and self._has_recovered

    def tick(self) -> None:
        """Do the next fault if its time has come."""
        if not self.kinds or time.monotonic() < self._next_s:
            return
        kind = self._next_of_script() if self.is_script else self._draw()
        what = None if kind is None else getattr(self.faults, kind)()
        if kind is None or what is None:
            # The target is away or resting. A draw tries another one at the next tick.
            return
        self.done.append(Done(time.monotonic(), kind, what))
        self.report(f"fault {len(self.done)}: {what}")
        self._next_s = time.monotonic() + self.chance.uniform(*self.pause_s)

    def around(self, start_s: float, end_s: float) -> list[Done]:
        """Return the faults from shortly before a stretch of time to its end."""
        return [each for each in self.done if start_s - 5.0 <= each.time_s <= end_s]

    @property
    def _has_recovered(self) -> bool:
        """Whether there was a commit after the last fault, and all it did is undone."""
        last = self.done[-1].time_s if self.done else 0.0
        return self.watch.has_committed(last) and not len(self.faults.parts.schedule)

    @property
    def _is_too_much(self) -> bool:
        """Whether several faults came without a commit between, and time may still help.

        On a slow machine an executor needs longer to start than two faults are apart.
        """
        recent = self.done[-_MOST_WITHOUT_COMMIT:]
        if len(recent) < _MOST_WITHOUT_COMMIT or self.watch.has_committed(recent[0].time_s):
            return False
        return time.monotonic() - recent[-1].time_s < _RECOVERY_S

    def _next_of_script(self) -> str | None:
        is_ready = len(self.done) < len(self.kinds) and self._has_recovered
        return self.kinds[len(self.done)] if is_ready else None

    def _draw(self) -> str | None:
        """Draw a kind; a driver that has not committed yet is spared most of the time.

        A start takes longer than the pause between two faults, so without this rule a run with
        many kills of the driver would process nothing at all.
        """
        if self._is_too_much:
            return None
        kind = self.chance.choices(self.kinds, [_WEIGHTS.get(kind, 1) for kind in self.kinds])[0]
        started_s = self.faults.parts.application.started_s
        if kind not in _DRIVER_KINDS or self.watch.has_committed(started_s):
            return kind
        self._next_s = time.monotonic() + 1.0
        return kind if self.chance.random() < _EARLY_KILLS else None
