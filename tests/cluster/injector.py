"""Decides which fault comes when, and remembers what was done."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tests.cluster.faults import Faults

#: How often each kind comes, next to the others. Slots and executors die most often in practice.
_WEIGHTS = {
    "executor": 4, "slot": 5, "worker": 2, "jvm": 2, "driver": 3, "broker": 3, "brokers": 1,
    "pause": 5,
}  # fmt: skip


@dataclass(frozen=True)
class Done:
    """One fault that was done, and when by the monotonic clock."""

    time_s: float
    kind: str
    what: str


@dataclass
class Injector:
    """Does faults with a pause of a few seconds between them.

    With a ``script`` it does each of its kinds once, in that order; otherwise it draws from
    ``kinds`` by weight for as long as the run lasts.
    """

    faults: Faults
    chance: random.Random
    kinds: Sequence[str]
    report: Callable[[str], None]
    pause_s: tuple[float, float] = (3.0, 12.0)
    script: list[str] | None = None
    done: list[Done] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._next_s = time.monotonic() + self.chance.uniform(*self.pause_s)

    @property
    def by_kind(self) -> Counter[str]:
        return Counter(each.kind for each in self.done)

    @property
    def is_finished(self) -> bool:
        """Whether a script has been played to its end."""
        return self.script is not None and not self.script

    def tick(self) -> None:
        """Do the next fault if its time has come."""
        if not self.kinds or self.is_finished or time.monotonic() < self._next_s:
            return
        kind = self.script[0] if self.script else self._draw()
        what = getattr(self.faults, kind)()
        if what is None:
            # The target is away or resting. A draw tries another one at the next tick.
            return
        if self.script:
            self.script.pop(0)
        self.done.append(Done(time.monotonic(), kind, what))
        self.report(f"fault {len(self.done)}: {what}")
        self._next_s = time.monotonic() + self.chance.uniform(*self.pause_s)

    def around(self, start_s: float, end_s: float) -> list[Done]:
        """Return the faults from shortly before a stretch of time to its end."""
        return [each for each in self.done if start_s - 5.0 <= each.time_s <= end_s]

    def _draw(self) -> str:
        return self.chance.choices(self.kinds, [_WEIGHTS[kind] for kind in self.kinds])[0]
