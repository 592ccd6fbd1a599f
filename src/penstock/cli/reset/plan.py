"""Plan and carry out the reset of an application: offsets, internal topics, local state."""

from __future__ import annotations

import difflib
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.cli.reset.position import Offsets, Places, Position
from penstock.errors import InvalidArgumentError, InvalidStateError, StoreError
from penstock.kafka.admin import Admin
from penstock.kafka.admin_answers import Partition
from penstock.kafka.clients import new_producer
from penstock.runtime.spark.driver.removal import owned_topics
from penstock.runtime.spark.driver.state_lock import StateLock
from penstock.runtime.spark.driver.topics import batches_topic

_MEMBERS_LEAVE_WITHIN_S = 60.0


@dataclass(frozen=True, slots=True)
class ResetPlan:
    """Everything that a reset would change; making a plan changes nothing."""

    application_id: str
    #: The group's present offset, None if it has none, and its new offset.
    moves: Mapping[Partition, tuple[int | None, int]]
    topics: tuple[str, ...]
    folder: Path | None
    #: Other topics that the group has read; their offsets stay as they are.
    kept: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.moves or self.topics or self.folder)

    def to_json(self) -> dict[str, Any]:
        return {
            "application_id": self.application_id,
            "offsets": [
                {"topic": topic, "partition": number, "from": before, "to": after}
                for (topic, number), (before, after) in sorted(self.moves.items())
            ],
            "topics": list(self.topics),
            "state": None if self.folder is None else str(self.folder),
        }


def make_reset_plan(
    admin: Admin,
    application_id: str,
    *,
    inputs: Sequence[str] | None,
    internal: Sequence[str] | None,
    position: Position,
    state_dir: Path,
) -> ResetPlan:
    """Find out what belongs to the application, and return the plan of its reset.

    If ``inputs`` is None, the input topics are those for which the group has committed offsets.

    Raises:
        UnknownTopicError: an input topic does not exist.
        InvalidArgumentError: ``unknown-application``, or ``internal`` names a topic that is not
            the application's.
    """
    topics = admin.topics()
    owned = owned_topics(application_id, topics)
    committed = admin.group_offsets(application_id)
    folder = state_dir.expanduser() / application_id
    known = sorted({topic for topic, _ in committed} & topics.keys() - set(owned))
    if not (owned or committed or folder.exists() or inputs):
        raise _unknown_application(application_id, admin)
    chosen = known if inputs is None else list(inputs)
    return ResetPlan(
        application_id,
        _moves(admin, chosen, committed, position),
        _among(owned, internal),
        folder if folder.exists() else None,
        tuple(name for name in known if name not in chosen),
    )


def check_stopped(admin: Admin, application_id: str, *, waits: bool) -> None:
    """Raise an error if the application's group has members.

    Args:
        waits: whether to wait until the members have left the group.

    Raises:
        InvalidStateError: ``application-running``.
    """
    deadline = time.monotonic() + (_MEMBERS_LEAVE_WITHIN_S if waits else 0)
    while members := admin.group(application_id).members:
        if time.monotonic() >= deadline:
            raise _running(application_id, f"its group has members: {', '.join(members)}")
        time.sleep(0.5)


def apply_reset(admin: Admin, plan: ResetPlan, client: Mapping[str, Any]) -> None:
    """Carry the plan out; doing it again changes nothing more.

    Raises:
        InvalidStateError: ``application-running`` if a process holds the local state.
    """
    lock = None if plan.folder is None else _locked(plan.application_id, plan.folder)
    try:
        log = batches_topic(plan.application_id)
        if log in plan.topics:
            # This fences a leader that still runs somewhere. It cannot begin a batch any more.
            fence = new_producer({**client, "transactional.id": f"{log}-leader"})
            fence.init_transactions(30.0)
        admin.delete_topics(plan.topics, missing_ok=True)
        admin.alter_group_offsets(
            plan.application_id, {part: after for part, (_, after) in plan.moves.items()}
        )
        if plan.folder is not None:
            shutil.rmtree(plan.folder, ignore_errors=True)
    finally:
        if lock is not None:
            lock.release()


def check_unlocked(plan: ResetPlan) -> None:
    """Raise an error if the application's local state is in use, as ``apply_reset`` would."""
    if plan.folder is not None:
        _locked(plan.application_id, plan.folder).release()


def _locked(application_id: str, folder: Path) -> StateLock:
    lock = StateLock(folder)
    try:
        lock.acquire()
    except StoreError as error:
        raise _running(application_id, error.message) from None
    return lock


def _moves(
    admin: Admin, inputs: Sequence[str], committed: Offsets, position: Position
) -> dict[Partition, tuple[int | None, int]]:
    parts = [(name, state.id) for name in inputs for state in admin.topic(name).partitions]
    now = {part: at for part, at in committed.items() if part in parts}
    found = position(admin, Places(admin.begin_offsets(parts), admin.end_offsets(parts), now))
    return {part: (now.get(part), at) for part, at in found.items()}


def _among(owned: list[str], named: Sequence[str] | None) -> tuple[str, ...]:
    strangers = [name for name in named or () if name not in owned]
    if strangers:
        raise InvalidArgumentError(
            "not-internal",
            f"{', '.join(map(repr, strangers))} is not an internal topic of this application",
            fix=f"name some of {', '.join(owned) or 'none'}, or leave --internal-topics out",
        )
    return tuple(owned if named is None else named)


def _running(application_id: str, why: str) -> InvalidStateError:
    return InvalidStateError(
        "application-running",
        f"application {application_id!r} runs: {why}",
        fix="stop all its instances first; --force waits a minute for members that crashed",
    )


def _unknown_application(application_id: str, admin: Admin) -> InvalidArgumentError:
    groups = [group.id for group in admin.groups()]
    close = difflib.get_close_matches(application_id, groups, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return InvalidArgumentError(
        "unknown-application",
        f"nothing is known of application {application_id!r}: no offsets, topics or state{hint}",
        fix="give the application.id that it runs with, and --state-dir if it has its own",
    )
