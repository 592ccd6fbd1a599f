"""Judge whether the application stands still without a word about the reason."""

from __future__ import annotations

from dataclasses import dataclass, field

LONGEST_SILENCE_S = 60.0


@dataclass
class Silence:
    """Finds stretches with records due, no progress and no word about the reason."""

    done: int = 0
    since_s: float = 0.0
    longest_s: float = 0.0
    problems: list[str] = field(default_factory=list)
    _is_told: bool = False

    def note(self, now_s: float, *, due: int, done: int, waiting_for: str | None) -> None:
        """Take one observation: records that are due, records that are done, and the reason."""
        if done != self.done or not due or waiting_for is not None or not self.since_s:
            self.done, self.since_s, self._is_told = done, now_s, False
            return
        length_s = now_s - self.since_s
        if length_s > LONGEST_SILENCE_S and not self._is_told:
            self._is_told = True
            self.problems.append(f"silent for {length_s:.0f} s with {due} records due")
        self.longest_s = max(self.longest_s, length_s)
