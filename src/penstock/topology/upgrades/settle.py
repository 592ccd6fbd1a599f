"""Decides whether a plan can continue with the state that exists. Every runtime asks it first."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from penstock.config import ACCEPTED_PLAN
from penstock.errors import TopologyError
from penstock.topology.upgrades.comparison import GENERATED, Change, changes_between
from penstock.topology.upgrades.fingerprint import PlanFingerprint, Rule, strictest

log = logging.getLogger(__name__)

_REPLACE = (
    "write CREATE OR REPLACE, which keeps what is there and applies the change to rows from now on"
)
_NAME = (
    "name the stores in the program: under the former name a store keeps its state, and a name"
    " of its own keeps it through later changes"
)


@dataclass(frozen=True, slots=True)
class Settlement:
    """The fingerprint to keep from now on, what changed, and whether it has to be written.

    ``renames`` has the new name of each node that fills a store, by its old one.
    """

    fingerprint: PlanFingerprint
    changes: tuple[Change, ...]
    must_write: bool
    renames: Mapping[str, str] = field(default_factory=dict)

    @property
    def changed_sections(self) -> frozenset[str]:
        """The sections that both plans have, with other lines."""
        return frozenset(c.section for c in self.changes if c.removed or c.added)

    @property
    def rule(self) -> Rule:
        return strictest(*(change.rule for change in self.changes))


def settle(
    stored: bytes | None,
    new: PlanFingerprint,
    *,
    application_id: str,
    has_state: bool,
    kept: frozenset[str] = frozenset(),
    accepted: str | None = None,
) -> Settlement:
    """Compare a plan with the one that the state belongs to, and refuse what does not fit.

    Args:
        stored: The fingerprint that was kept beside the state, if there is one.
        has_state: Whether the application has run before.
        kept: Sections of stores whose changelogs existed before this start.
        accepted: The digest of the plan that a person has accepted, if any.

    Raises:
        TopologyError: ``plan-changed``, with what changed and the ways out.
    """
    settled = check(stored, new, application_id, kept=kept, accepted=accepted)
    if settled is None:
        if has_state:
            log.warning(
                "the state of %s has no fingerprint that this version can read: it is accepted"
                " as it is, and compared from now on", application_id,
            )  # fmt: skip
        return Settlement(new, (), must_write=True)
    for change in settled.changes:
        log.warning("%s: %s", application_id, "\n".join(change.words()))
    return settled


def check(
    stored: bytes | None,
    new: PlanFingerprint,
    application_id: str,
    *,
    kept: frozenset[str] = frozenset(),
    accepted: str | None = None,
) -> Settlement | None:
    """Refuse as ``settle`` does, without a log line; None if there is nothing to compare with.

    Raises:
        TopologyError: ``plan-changed``, with what changed and the ways out.
    """
    settled = compare(stored, new, kept=kept)
    if settled is not None and is_refused(settled, new, accepted):
        raise refusal(settled.changes, new, application_id, accepted)
    return settled


def compare(
    stored: bytes | None, new: PlanFingerprint, *, kept: frozenset[str] = frozenset()
) -> Settlement | None:
    """Return what changed, refused or not; None if there is nothing to compare with."""
    old = None if stored is None else PlanFingerprint.from_json(stored)
    if old is None:
        return None
    changes = changes_between(old, new, kept=kept)
    present = new.by_name
    gone = [
        section
        for section in (*old.sections, *old.orphans)
        if section.name not in present and section.name.startswith("store ")
    ]
    settled = replace(new, orphans=tuple({section.name: section for section in gone}.values()))
    must_write = settled.to_json() != stored
    return Settlement(settled, changes, must_write=must_write, renames=_renames(old, new))


def _renames(old: PlanFingerprint, new: PlanFingerprint) -> dict[str, str]:
    after = new.by_name
    return {
        was: becomes
        for section in old.sections
        if section.name in after and len(section.nodes) == len(after[section.name].nodes)
        for was, becomes in zip(section.nodes, after[section.name].nodes, strict=True)
    }


def is_refused(settled: Settlement, new: PlanFingerprint, accepted: str | None = None) -> bool:
    """Tell whether the state cannot be used.

    A person may say that it still fits: with CREATE OR REPLACE in SQL, and for a program with the
    digest of its plan. Neither helps where the state cannot be read or would be wrong.
    """
    is_wanted = new.replaces if new.sql else accepted == new.digest
    return settled.rule is Rule.FIXED or (settled.rule is Rule.REPLACE and not is_wanted)


def is_acceptable(settled: Settlement, new: PlanFingerprint) -> bool:
    """Tell whether the plan of a program is refused only until a person accepts it."""
    return settled.rule is Rule.REPLACE and not new.sql


def refusal(
    changes: tuple[Change, ...],
    new: PlanFingerprint,
    application_id: str,
    accepted: str | None = None,
) -> TopologyError:
    """Return the error that names what changed, old and new, and the ways out."""
    told = [change for change in changes if change.rule is not Rule.FREE]
    if accepted == new.digest:
        # What could be accepted has been. The rest is what keeps it from starting.
        told = [change for change in told if change.rule is Rule.FIXED]
    lines = [f"    {line}" for change in told for line in change.words()]
    acceptance = _of_acceptance(new, accepted)
    return TopologyError(
        "plan-changed",
        f"application {application_id!r}: its state in Kafka belongs to another plan, and would"
        f" give wrong results with this one{acceptance}\n" + "\n".join(lines),
        fix=", or ".join(_ways_out(told, new, application_id)),
    )


def _of_acceptance(new: PlanFingerprint, accepted: str | None) -> str:
    if accepted is None or new.sql:
        return ""
    if accepted == new.digest:
        return "; accepting the plan does not change that, as this state cannot be used with it"
    return f"; the accepted plan is {accepted!r}, and this one is {new.digest!r}"


def _ways_out(told: list[Change], new: PlanFingerprint, application_id: str) -> list[str]:
    reset = f"start over with: penstock reset --application-id {application_id}"
    is_replaceable = all(change.rule is Rule.REPLACE for change in told)
    if new.is_one_of_several:
        query_id = application_id.partition("query_")[2]
        return [f"say which one it is with WITH (QUERY_ID='{query_id}') behind its target", reset]
    if new.sql:
        renamed = "give the stream or table another name or the script another ksql.service.id"
        return [_REPLACE, renamed, reset] if is_replaceable else [renamed, reset]
    ways = ["give the program another application.id", reset]
    if is_replaceable:
        accept = (
            "if what is in the stores may stay, accept the plan: penstock run --accept-plan, or"
            f" {ACCEPTED_PLAN.name}={new.digest}"
        )
        return [accept, *ways]
    if any(GENERATED.search(change.section) for change in told):
        return [_NAME, *ways]
    return ways
