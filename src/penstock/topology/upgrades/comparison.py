"""What changed between two fingerprints, line by line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher

from penstock.topology.upgrades.fingerprint import (
    Line,
    PlanFingerprint,
    Rule,
    Section,
    strictest,
)

#: The end of a generated name: the number of the operator.
GENERATED = re.compile(r"-\d{10}")


@dataclass(frozen=True, slots=True)
class Change:
    """Lines of one section that went, the lines in their place, and what that does to state."""

    section: str
    removed: tuple[str, ...]
    added: tuple[str, ...]
    rule: Rule
    note: str = ""

    def words(self) -> list[str]:
        """Return the change as lines of text, the old ones marked ``-`` and the new ones ``+``."""
        head = f"{self.section}: {self.note}" if self.note else f"{self.section}:"
        return [head, *(f"  - {text}" for text in self.removed),
                *(f"  + {text}" for text in self.added)]  # fmt: skip


def changes_between(
    old: PlanFingerprint, new: PlanFingerprint, *, kept: frozenset[str] = frozenset()
) -> tuple[Change, ...]:
    """Compare two fingerprints, section by section.

    Args:
        kept: Sections of orphans whose changelogs still exist.
    """
    before, after = old.by_name, new.by_name
    found = [
        change
        for name, section in before.items()
        if name in after
        for change in _changed_lines(section, after[name])
    ]
    gone = {name: section for name, section in before.items() if name not in after}
    come = {name: section for name, section in after.items() if name not in before}
    for was, becomes in _renumbered(gone, come):
        del gone[was], come[becomes]
        found.append(_moved(was, becomes))
    found += map(_gone, gone.values())
    orphans = {section.name for section in old.orphans} & kept
    for name, section in come.items():
        found.append(_back(section) if name in orphans else _come(section, old))
    if new.is_one_of_several and found:
        found.append(_mistakable(old, new))
    return tuple(found)


def _changed_lines(old: Section, new: Section) -> Iterator[Change]:
    for i1, i2, j1, j2 in _hunks(old.texts, new.texts):
        removed, added = old.lines[i1:i2], new.lines[j1:j2]
        is_growth = not removed and i1 == len(old.lines)
        growth = new.growth if is_growth else None
        rule = growth or _rule(removed + added)
        if rule is Rule.REPLACE and _is_read_otherwise(old, new):
            rule = Rule.FIXED
        yield Change(new.name, _texts(removed), _texts(added), rule)


def _is_read_otherwise(old: Section, new: Section) -> bool:
    """Tell whether the serdes of the topics changed; topics may come and go with theirs."""
    before, after = set(old.formats), set(new.formats)
    return not (before <= after or after <= before)


def _hunks(old: list[str], new: list[str]) -> list[tuple[int, int, int, int]]:
    """Return the places that differ; one place for all if lines have moved, to show their order."""
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    places = [place[1:] for place in matcher.get_opcodes() if place[0] != "equal"]
    removed = {text for i1, i2, _, _ in places for text in old[i1:i2]}
    added = {text for _, _, j1, j2 in places for text in new[j1:j2]}
    if len(places) < 2 or removed.isdisjoint(added):
        return places
    return [(places[0][0], places[-1][1], places[0][2], places[-1][3])]


def _rule(lines: tuple[Line, ...]) -> Rule:
    return strictest(*(line.rule for line in lines))


def _texts(lines: tuple[Line, ...]) -> tuple[str, ...]:
    return tuple(line.text for line in lines)


def _renumbered(gone: Mapping[str, Section], come: Mapping[str, Section]) -> list[tuple[str, str]]:
    """Pair stores whose generated names have other numbers than before."""
    left = {name: section for name, section in come.items() if GENERATED.search(name)}
    found = []
    for name, section in gone.items():
        same = next((n for n, s in left.items() if s.texts == section.texts), None)
        if same is not None and GENERATED.search(name):
            del left[same]
            found.append((name, same))
    return found


def _moved(was: str, becomes: str) -> Change:
    note = f"its state would be lost: steps in front of it changed, and it is {becomes} now"
    return Change(was, (), (), Rule.FIXED, note)


def _gone(section: Section) -> Change:
    is_orphan = section.presence is Rule.FREE and section.name.startswith("store ")
    note = "removed; its changelog stays as an orphan" if is_orphan else "removed"
    return Change(section.name, (), (), section.presence, note)


def _come(section: Section, old: PlanFingerprint) -> Change:
    read = [topic for topic in section.topics if topic in old.topics]
    note = "added"
    if read:
        names = ", ".join(map(repr, read))
        note = f"added; it starts empty in the middle of {names}, with the records from now on"
    return Change(section.name, (), (), section.presence, note)


def _back(section: Section) -> Change:
    note = (
        "added again; its changelog is that of an earlier plan and misses what was processed since"
    )
    return Change(section.name, (), (), Rule.FIXED, note)


def _mistakable(old: PlanFingerprint, new: PlanFingerprint) -> Change:
    note = "one of several that read and write the same, so it may be another one than before"
    return Change("INSERT INTO", (old.sql,), (new.sql,), Rule.FIXED, note)
