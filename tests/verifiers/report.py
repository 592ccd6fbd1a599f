"""What came of the verifiers, and the table that says so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass
class Verdict:
    """The result of one verifier with one guarantee."""

    name: str
    guarantee: str
    #: What was killed, by kind, and the kinds that should have been.
    kills: Counter[str] = field(default_factory=Counter)
    wanted: Sequence[str] = ()
    #: The line with which the judge has said that all is right.
    said: str = ""
    problems: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def missing(self) -> list[str]:
        """The kinds that were asked for and never came: then the run has not shown what it says."""
        return [kind for kind in self.wanted if not self.kills[kind]]

    @property
    def is_ok(self) -> bool:
        return bool(self.said) and not self.problems and not self.missing


def table(verdicts: Sequence[Verdict]) -> str:
    """Write a line for each verdict, and below it what was wrong."""
    lines = [_line("verifier", "guarantee", "kills", "s", "verdict")]
    for each in verdicts:
        kills = " ".join(f"{kind} {count}" for kind, count in sorted(each.kills.items())) or "none"
        verdict = f"ok: {each.said}" if each.is_ok else "FAILED"
        lines.append(_line(each.name, each.guarantee, kills, f"{each.seconds:.0f}", verdict))
        lines += [f"    {problem}" for problem in each.problems]
        if each.missing:
            lines.append(f"    never killed: {', '.join(each.missing)}")
        if not each.said and not each.problems:
            lines.append("    the judge has not said that all is right")
    failed = sum(not each.is_ok for each in verdicts)
    end = f"{failed} of {len(verdicts)} FAILED" if failed else f"all {len(verdicts)} passed"
    return "\n".join([*lines, end])


def differences(
    expected: Mapping[str, int], found: Mapping[str, int], *, may_double: bool
) -> dict[str, tuple[int | None, int | None]]:
    """Return what was found and what was expected, for each key that is wrong.

    Args:
        may_double: at least once may count a record twice, so that a sum is too great.
    """
    wrong = {}
    for key in sorted({*expected, *found}):
        wanted, actual = expected.get(key), found.get(key)
        is_doubled = may_double and None not in (wanted, actual) and (actual or 0) > (wanted or 0)
        if actual != wanted and not is_doubled:
            wrong[key] = (actual, wanted)
    return wrong


def _line(name: str, guarantee: str, kills: str, seconds: str, verdict: str) -> str:
    return f"{name:18}{guarantee:17}{kills:38}{seconds:>5}  {verdict}"
