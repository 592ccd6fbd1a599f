"""What a start would do, as data: one entry for each application, one part for each store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from penstock.topology.upgrades.comparison import Change
from penstock.topology.upgrades.fingerprint import PlanFingerprint, Rule
from penstock.topology.upgrades.settle import compare, is_acceptable, is_refused, refusal

Status = Literal["unchanged", "added", "changed", "removed", "accepted", "refused"]

_OLDER = "its state has no fingerprint that this version can read; it is accepted as it is"
_ORPHAN = "it is not in the script; its state stays in Kafka until it is reset"


@dataclass(frozen=True, slots=True)
class Part:
    """A store, a sink or a query of an application, and what a start would do to it."""

    name: str
    status: Status
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """One application: a program, or a query of a script."""

    name: str
    application_id: str
    status: Status
    parts: tuple[Part, ...] = ()
    note: str = ""
    fix: str | None = None
    is_running: bool = False
    #: The name of the new plan, by which a person accepts it.
    digest: str = ""
    #: Whether a person may say that the state still fits.
    is_acceptable: bool = False

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "application_id": self.application_id,
            "status": self.status,
            "running": self.is_running,
            "note": self.note,
            "fix": self.fix,
            "plan": self.digest,
            "acceptable": self.is_acceptable,
            "parts": [
                {
                    "name": part.name,
                    "status": part.status,
                    "changes": [
                        {"removed": c.removed, "added": c.added, "note": c.note}
                        for c in part.changes
                    ],
                }
                for part in self.parts
            ],
        }


def new_entry(
    name: str,
    application_id: str,
    fingerprint: PlanFingerprint,
    *,
    stored: bytes | None,
    has_run: bool,
    kept: frozenset[str] = frozenset(),
    is_running: bool = False,
    accepted: str | None = None,
) -> Entry:
    """Return what the start of an application would do to its state.

    Args:
        stored: The fingerprint in Kafka, if there is one.
        has_run: Whether the application has a batch log.
        kept: Sections of stores whose changelogs exist.
        accepted: The digest of the plan that a person has accepted.
    """
    digest = fingerprint.digest
    settled = compare(stored, fingerprint, kept=kept)
    if settled is None:
        status: Status = "accepted" if has_run else "added"
        parts = tuple(Part(section.name, status) for section in fingerprint.sections)
        note = _OLDER if has_run else ""
        return Entry(
            name, application_id, status, parts, note, is_running=is_running, digest=digest
        )  # fmt: skip
    is_wanted = fingerprint.replaces if fingerprint.sql else accepted == digest
    parts = tuple(_parts(fingerprint, settled.changes, replaces=is_wanted))
    if is_refused(settled, fingerprint, accepted):
        error = refusal(settled.changes, fingerprint, application_id, accepted)
        return Entry(
            name, application_id, "refused", parts, fix=error.fix, is_running=is_running,
            digest=digest, is_acceptable=is_acceptable(settled, fingerprint),
        )  # fmt: skip
    status = "changed" if settled.changes else "unchanged"
    return Entry(name, application_id, status, parts, is_running=is_running, digest=digest)


def orphan_entry(name: str, application_id: str, *, is_running: bool = False) -> Entry:
    """Return the entry of an application in Kafka that has no query in the script any more."""
    fix = f"delete its state with: penstock reset --application-id {application_id}"
    return Entry(name, application_id, "removed", (), _ORPHAN, fix, is_running)


def _parts(
    fingerprint: PlanFingerprint, changes: Iterable[Change], *, replaces: bool
) -> Iterable[Part]:
    by_section: dict[str, list[Change]] = {}
    for change in changes:
        by_section.setdefault(change.section, []).append(change)
    for section in fingerprint.sections:
        found = tuple(by_section.pop(section.name, ()))
        yield Part(section.name, _status(found, replaces=replaces), found)
    for name, left in by_section.items():
        status = _status(tuple(left), replaces=replaces)
        yield Part(name, "removed" if status == "changed" else status, tuple(left))


def _status(changes: tuple[Change, ...], *, replaces: bool) -> Status:
    if not changes:
        return "unchanged"
    rules = {change.rule for change in changes}
    if Rule.FIXED in rules or (Rule.REPLACE in rules and not replaces):
        return "refused"
    return "added" if all(change.note.startswith("added") for change in changes) else "changed"


def summary(entries: Iterable[Entry]) -> str:
    """Return the number of entries by status as text, with refused ones first.

    >>> summary([Entry("a", "a", "unchanged"), Entry("b", "b", "refused")])
    '1 refused, 1 unchanged'
    """
    counted: Mapping[str, int] = Counter(entry.status for entry in entries)
    order = ("refused", "changed", "added", "removed", "accepted", "unchanged")
    return ", ".join(f"{counted[status]} {status}" for status in order if status in counted)
