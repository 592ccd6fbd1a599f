"""Read what the application says about itself in its log."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.ordinary.app import MARK

#: What was said longer ago says nothing about now.
_FRESH_S = 20.0


@dataclass
class Sayings:
    """All sayings of all lives of the application; ``read`` takes in the new ones."""

    log: Path
    states: list[dict[str, Any]] = field(default_factory=list)
    wrong: set[str] = field(default_factory=set)
    #: How many keys were asked for, and why keys were not asked for, by store.
    asked: Counter[str] = field(default_factory=Counter)
    not_asked: Counter[str] = field(default_factory=Counter)
    has_rerun: bool = False
    _read_to: int = 0

    def read(self) -> None:
        """Take in the lines that are whole by now."""
        if not self.log.exists():
            return
        with self.log.open("rb") as log:
            log.seek(self._read_to)
            new = log.read()
        whole = new[: new.rfind(b"\n") + 1]
        self._read_to += len(whole)
        for line in whole.decode(errors="replace").splitlines():
            if line.startswith(MARK):
                self._note(json.loads(line[len(MARK) :]))

    def _note(self, said: dict[str, Any]) -> None:
        if "state" in said:
            self.states.append(said)
            return
        self.has_rerun = self.has_rerun or said["reruns"] > 0
        for store, answer in said["answers"].items():
            self.asked[store] += answer["keys"]
            self.wrong |= {f"{store}: get differs from all() for {k!r}" for k in answer["wrong"]}
            if "not_asked" in answer:
                self.not_asked[f"{store}: {answer['not_asked']}"] += 1

    @property
    def reason(self) -> str | None:
        """What the application says now that it waits for."""
        if not self.states or time.monotonic() - self.states[-1]["at"] > _FRESH_S:
            return None
        reason: str | None = self.states[-1]["waiting_for"]
        return reason

    def since(self, at_s: float) -> list[dict[str, Any]]:
        """Return what was said about the state after a moment of the monotonic clock."""
        found = []
        for said in reversed(self.states):
            if said["at"] < at_s:
                break
            found.append(said)
        return found[::-1]

    def has_run_since(self, at_s: float) -> bool:
        return any(said["state"] == "RUNNING" for said in self.since(at_s))
