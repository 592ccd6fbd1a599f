"""The outcome of a run, and the table that is printed at its end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.cluster.application import Application
from tests.cluster.injector import Injector
from tests.cluster.verdict import Check
from tests.cluster.watch import CommitWatch


@dataclass(frozen=True)
class Outcome:
    """Everything that is known after a run."""

    checks: Sequence[Check]
    injector: Injector
    watch: CommitWatch
    application: Application
    problems: Sequence[str]

    @property
    def is_ok(self) -> bool:
        """Whether nothing differs and the application has never ended by itself."""
        is_right = all(check.is_ok for check in self.checks)
        return is_right and not self.problems and not self.application.own_ends

    @property
    def has_done_all(self) -> bool:
        """Whether each fault of a script was done before the time was over."""
        return len(self.injector.done) == len(self.injector.kinds)

    def text(self) -> str:
        """Write the final table."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        heads = ("output", "expected", "lost", "doubled", "disordered", "wrong")
        yield f"{heads[0]:30}" + "".join(f"{head:>12}" for head in heads[1:])
        for check in self.checks:
            numbers = (check.expected, check.lost, check.doubled, check.disordered, check.wrong)
            yield f"{check.name:30}" + "".join(f"{number:12}" for number in numbers)
            yield from (f"    {example}" for example in check.examples)
        kinds = self.injector.by_kind
        listed = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items())) or "none"
        yield f"faults: {kinds.total()} ({listed})"
        yield from self._gap_lines()
        yield from self._end_lines()
        yield from (f"problem: {problem}" for problem in self.problems)
        yield "verdict: " + ("exactly once" if self.is_ok else "FAILED")

    def _gap_lines(self) -> Iterator[str]:
        gap = self.watch.longest
        yield f"longest time without a commit: {gap.length_s:.1f} s, with these faults around it:"
        events = [(e.time_s, e.what) for e in self.injector.around(gap.start_s, gap.end_s)]
        for each in self.application.ends:
            if gap.start_s <= each.time_s <= gap.end_s:
                why = "was killed" if each.was_killed else "ended by itself"
                events.append((each.time_s, f"(the application {why})"))
        for time_s, what in sorted(events):
            yield f"    {time_s - gap.start_s:+.1f} s {what}"
        if not events:
            yield "    none"

    def _end_lines(self) -> Iterator[str]:
        ends, own = self.application.ends, self.application.own_ends
        yield f"restarts of the application: {len(ends)}, of which {len(own)} ended by itself"
        for each in own:
            yield f"    exit code {each.code}: {each.last_error}"
