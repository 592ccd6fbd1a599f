"""Which copies of a partition may answer a question, in the order in which they are asked."""

from __future__ import annotations

from penstock.serving.application import Instance, NotAvailableError, Queryable, StoreInfo

#: A place: another instance, or None for this one.
Place = Instance | None


def places(
    application: Queryable,
    info: StoreInfo,
    partition: int,
    *,
    allows_stale: bool,
    is_forwarded: bool,
) -> list[Place]:
    """Return the places to ask, best first; without staleness only the owner is one.

    A global store is asked here first: every instance that runs tasks or keeps copies has it.
    A question that another instance has forwarded is answered here or not at all, so that two
    instances which take each other for the owner do not send it back and forth.

    Raises:
        NotAvailableError: ``partition-moving``: there is no such place right now.
    """
    location = application.location(info.name, partition)
    here, owner = application.instance_id, location.owner
    found: list[Place] = []
    owns = owner is not None and owner.id == here
    if (
        info.is_global
        or owns
        or (allows_stale and any(copy.id == here for copy in location.copies))
    ):
        found.append(None)
    if not is_forwarded:
        others = (owner, *(location.copies if allows_stale else ()))
        found += [each for each in others if each and each.id != here and each.address]
    if not found:
        raise moving(info.name, partition)
    return found


def moving(store: str, partition: int) -> NotAvailableError:
    return NotAvailableError(
        "partition-moving",
        f"partition {partition} of store {store!r} is on its way to another instance",
        fix="ask again in a moment, or accept a copy that may be behind with stale=true",
    )
