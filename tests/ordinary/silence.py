"""Judge what the application says about itself: does it say what it waits for?"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.ordinary.app import MARK

LONGEST_SILENCE_S = 60.0


@dataclass
class Silence:
    """Finds stretches with work to do, no progress and no word about the reason."""

    done: int = 0
    since_s: float = 0.0
    longest_s: float = 0.0
    problems: list[str] = field(default_factory=list)

    def note(self, now_s: float, *, due: int, done: int, waiting_for: str | None) -> None:
        """Take one observation: results that are due, results that are there, and the reason."""
        if done != self.done or done >= due or waiting_for is not None or not self.since_s:
            self.done, self.since_s = done, now_s
            return
        length_s = now_s - self.since_s
        if self.longest_s <= LONGEST_SILENCE_S < length_s:
            self.problems.append(f"silent for {length_s:.0f} s with {due - done} results due")
        self.longest_s = max(self.longest_s, length_s)


def said(log: Path) -> list[dict[str, Any]]:
    """Return all that the application has said in its log."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    whole = (each for each in lines if each.startswith(MARK) and each.endswith("}"))
    return [json.loads(each[len(MARK) :]) for each in whole]


def wrong_answers(sayings: list[dict[str, Any]]) -> list[str]:
    """Name keys that ``all`` has listed and ``get`` has not found, or found with too little."""
    found = {
        f"{store}: get differs from all() for {key!r}"
        for saying in sayings
        for store, answer in saying["answers"].items()
        for key in answer["wrong"]
    }
    return sorted(found)
