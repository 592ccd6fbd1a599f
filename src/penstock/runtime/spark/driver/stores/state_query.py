"""``streams.query(…)``: one question to the partitions of a store, each with its position."""

from __future__ import annotations

import time

from penstock.errors import PenstockError
from penstock.model.remedies import declared
from penstock.query import (
    FailureReason,
    Position,
    QueryResult,
    StateQueryRequest,
    StateQueryResult,
)
from penstock.runtime.spark.driver.stores.store_view import StoreView


def run_query(
    view: StoreView, request: StateQueryRequest, position: Position, *,
    is_active: bool, is_global: bool,
) -> StateQueryResult:  # fmt: skip
    """Ask every partition that the request names.

    Args:
        position: the offsets that this instance's state contains before the query; answers may
            contain more.
        is_active: whether tasks answer; otherwise, standby copies do.
    """
    if is_global:
        return StateQueryResult({}, _result(view, request, 0, position, is_active=True))
    wanted = request.partitions
    key = request.query.key
    if wanted is None:
        wanted = frozenset(range(view.partitions) if key is None else view.partitions_of(key))
    results = {
        number: _result(view, request, number, position, is_active=is_active)
        for number in sorted(wanted)
    }
    if key is None or request.partitions is not None:
        return StateQueryResult(results)
    return StateQueryResult(_of_key(results, view.partition_of(key)))


def _of_key(results: dict[int, QueryResult], likeliest: int) -> dict[int, QueryResult]:
    """Keep the answers of the partitions that have a key, all of which were asked.

    If none has it, one answer stands for all: a failure where there is one, because the key may be
    in the partition that failed, and preferably that of the likeliest partition.
    """
    with_rows = {
        n: each for n, each in results.items() if each.is_success and _has_rows(each.result)
    }
    if with_rows:
        return with_rows
    failed = [n for n, each in results.items() if each.is_failure]
    shown = likeliest if likeliest in failed or not failed else failed[0]
    return {shown: results[shown]}


def _has_rows(result: object) -> bool:
    return result is not None and result != []


def _result(
    view: StoreView, request: StateQueryRequest, partition: int, position: Position, *,
    is_active: bool,
) -> QueryResult:  # fmt: skip
    query, kind = request.query, view.spec.kind
    refused = _refusal(view, request, partition, position, is_active=is_active)
    if refused is not None:
        reason, message = refused
        return QueryResult(None, position, reason, message)
    began = time.monotonic()
    method, arguments = query.call(kind)
    try:
        found = query.shaped(kind, view.call(partition, method, arguments))
    except PenstockError as error:
        is_away = declared(error).is_momentary
        reason = FailureReason.NOT_PRESENT if is_away else FailureReason.STORE_EXCEPTION
        return QueryResult(None, position, reason, str(error))
    info: tuple[str, ...] = ()
    if request.wants_execution_info:
        took = (time.monotonic() - began) * 1000
        info = (f"{method} on partition {partition} of {view.name!r} took {took:.2f} ms",)
    return QueryResult(found, position, execution_info=info)


def _refusal(
    view: StoreView, request: StateQueryRequest, partition: int, position: Position, *,
    is_active: bool,
) -> tuple[FailureReason, str] | None:  # fmt: skip
    name = view.name
    if not 0 <= partition < view.partitions:
        told = f"store {name!r} has {view.partitions} partitions, not one of number {partition}"
        return FailureReason.DOES_NOT_EXIST, told
    if request.is_active_required and not is_active:
        return FailureReason.NOT_ACTIVE, f"this instance has a standby copy of {name!r} only"
    if not request.query.fits(view.spec.kind):
        told = f"a store of kind {view.spec.kind.value!r} does not answer this query"
        return FailureReason.UNKNOWN_QUERY_TYPE, f"{type(request.query).__name__}: {told}"
    if not position.dominates(request.bound.position):
        return FailureReason.NOT_UP_TO_BOUND, f"store {name!r} has not seen that much yet"
    return None
