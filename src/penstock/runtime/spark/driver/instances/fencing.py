"""End the transactions that drivers before this one have left open."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from penstock.kafka.clients import new_producer
from penstock.runtime.spark.exchange.batch_log import LogState, leader_producer
from penstock.runtime.spark.exchange.stage_request import Application

log = logging.getLogger(__name__)

_ANSWER_S = 30.0
_AT_ONCE = 8


def fence_slots(application: Application, state: LogState) -> None:
    """Abort the open transactions of all slots that the batch log has ever named.

    An instance that commits without transactions fences as well, if any before it had them: a
    driver with transactions that was paused must not commit after this one has begun.
    """
    if not (application.exactly_once or state.had_transactions):
        return
    names = [slot_producer(application, number) for number in range(state.slots)]
    if not application.exactly_once:
        names.append(leader_producer(application.batches_topic))
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(lambda name: _fence(application.producer, name), names))


def fence_slot(application: Application, number: int) -> None:
    """Abort the open transaction of a slot, so that its records hold up no reader."""
    if application.exactly_once:
        _fence(application.producer, slot_producer(application, number))


def slot_producer(application: Application, number: int) -> str:
    """Return the transactional id of a slot."""
    return f"{application.id}-slot-{number}"


def warn_of_other_guarantee(application: Application, state: LogState) -> None:
    """Warn that exactly once holds only if every instance is set to it."""
    if state.had_transactions and not application.exactly_once:
        log.warning(
            "%s was led with exactly_once_v2 before, and this instance commits at least once:"
            " give all instances the same processing.guarantee", application.id,
        )  # fmt: skip


def _fence(settings: Mapping[str, Any], name: str) -> None:
    new_producer({**settings, "transactional.id": name}).init_transactions(_ANSWER_S)
