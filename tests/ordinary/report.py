"""Everything that is known after a run, and its text."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from tests.cluster.verdict import Check


@dataclass
class Outcome:
    """The result of a run."""

    checks: list[Check]
    problems: list[str]
    #: Actions that took effect, by kind, and those that did not show any.
    effective: Counter[str]
    without_effect: list[str]
    #: How many keys were asked for, by store.
    asked: Counter[str]
    #: Records that operators had deleted before they were read.
    unread: int
    longest_silence_s: float
    #: Output may have been written twice, because a batch was run again.
    may_double: bool

    @property
    def is_ok(self) -> bool:
        return not self.problems and all(self._is_right(check) for check in self.checks)

    def text(self) -> str:
        """Write the final table."""
        heads = ("output", "expected", "lost", "doubled", "disordered", "wrong")
        lines = [f"{heads[0]:30}" + "".join(f"{head:>12}" for head in heads[1:])]
        for check in self.checks:
            numbers = (check.expected, check.lost, check.doubled, check.disordered, check.wrong)
            lines.append(f"{check.name:30}" + "".join(f"{number:12}" for number in numbers))
            lines += [f"    {example}" for example in check.examples]
        listed = ", ".join(f"{kind} {count}" for kind, count in sorted(self.effective.items()))
        lines.append(f"actions that took effect: {self.effective.total()} ({listed or 'none'})")
        lines += [f"no effect was seen: {text}" for text in self.without_effect]
        asked = ", ".join(f"{store} {count}" for store, count in sorted(self.asked.items()))
        lines.append(f"keys asked for while it ran: {asked}")
        lines.append(f"records deleted before they were read: {self.unread}")
        lines.append(f"longest silence: {self.longest_silence_s:.0f} s")
        lines.append("a batch was run again" if self.may_double else "no output may be doubled")
        lines += [f"problem: {problem}" for problem in self.problems]
        return "\n".join([*lines, "verdict: " + ("right" if self.is_ok else "FAILED")])

    def _is_right(self, check: Check) -> bool:
        doubled = 0 if self.may_double else check.doubled
        return not (check.lost or check.disordered or check.wrong or doubled)
