"""Compares a staged run of a case with its golden, or a disturbed run with an undisturbed one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from penstock.errors import PenstockError
from penstock.kernel.columns import column_task
from tests.oracle.cases import Case
from tests.oracle.compare import Difference, compare, java_name, record_text
from tests.oracle.exceptions import partition_reason, reason_for, restart_reason, shows_expired
from tests.oracle.run import Outcome
from tests.oracle.staged import StagedOutcome, Staging, execute_staged


def check_staged(
    case: Case, staging: Staging, timeout_s: float
) -> tuple[list[Difference], str | None]:
    """Gives the differences, and the reason if they are excepted."""
    outcome = execute_staged(case.data, staging, timeout_s=timeout_s)
    if staging.disturbance:
        calm = execute_staged(case.data, replace(staging, disturbance=""), timeout_s=timeout_s)
        return _disturbed_differences(calm, outcome), restart_reason(case.data)
    is_batched = staging.batches != "1"
    if staging.partitions > 1:
        threads = _slot_differences(case, staging, outcome, timeout_s)
        if threads:
            return threads, None
        small = replace(staging, partitions=1, slots=1)
        one = execute_staged(case.data, small, timeout_s=timeout_s)
        reason = partition_reason(case.data, outcome.plan, is_batched=is_batched)
        return _partition_differences(one, outcome), reason
    reason = reason_for(case.data, outcome.plan, is_batched=is_batched)
    if is_batched and case.golden.get("exception", {}).get("phase") == "run":
        return _failure_differences(case, outcome), reason
    aspects = ("exception", "stores") if is_batched else ("exception", "outputs", "stores")
    differences = compare(case.golden, outcome, aspects)
    if is_batched:
        differences += committed_differences(case.golden.get("outputs"), outcome.outputs)
    return differences, reason


def check_columns(case: Case, staging: Staging, timeout_s: float) -> list[Difference] | None:
    """Compare a run over columns with one by record; None if nothing ran over columns."""
    if shows_expired(case.data):
        # Both ways restart at the end, which empties the cache. Columns do not fill it.
        staging = replace(staging, disturbance="restart")
    over_columns = replace(staging, vectorize="strict")
    with pytest.MonkeyPatch.context() as patches:
        # However short the turns are that the inputs of a join take.
        patches.setattr(column_task, "_SHORT_RUN", 0)
        outcome = execute_staged(case.data, over_columns, timeout_s=timeout_s)
    if not outcome.column_batches:
        # A fault of the column path ends the run before its first batch over columns.
        is_fault = outcome.failure and not isinstance(outcome.failure.error, PenstockError)
        return compare({}, outcome, ("exception",)) if is_fault else None
    by_record = replace(staging, vectorize="off")
    expected = execute_staged(case.data, by_record, timeout_s=timeout_s)
    return _disturbed_differences(expected, outcome)


def _disturbed_differences(calm: StagedOutcome, disturbed: StagedOutcome) -> list[Difference]:
    """Whatever happens to the processes: the committed records and the stores stay the same."""
    errors = [None if o.failure is None else _code(o.failure.error) for o in (calm, disturbed)]
    if errors[0] != errors[1]:
        return compare({}, disturbed, ("exception",)) or [
            Difference("exception", f"expected {errors[0]}, got {errors[1]}")
        ]
    differences = committed_differences(calm.outputs, disturbed.outputs)
    if calm.stores is not None:
        differences += compare({"stores": calm.stores}, disturbed, ("stores",))
    return differences


def _code(error: BaseException) -> str:
    """Texts name partitions and offsets, which may differ."""
    return f"{type(error).__name__} {getattr(error, 'code', '')}"


def _slot_differences(
    case: Case, staging: Staging, outcome: StagedOutcome, timeout_s: float
) -> list[Difference]:
    """How many slots share the tasks changes nothing, but for the order between tasks."""
    single = execute_staged(case.data, replace(staging, slots=1), timeout_s=timeout_s)
    if single.failure is not None and outcome.failure is not None:
        # A slot commits its own tasks, whatever becomes of the others.
        return _disturbed_differences(
            replace(single, outputs=None, stores=None), replace(outcome, outputs=None)
        )
    sides = [replace(each, outputs=_sorted(each.outputs)) for each in (single, outcome)]
    return _disturbed_differences(*sides)


def _sorted(records: list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    return sorted(records or [], key=record_text)


def _partition_differences(one: StagedOutcome, many: StagedOutcome) -> list[Difference]:
    """Every key has the same records in the same order; records without a key have no order."""
    for outcome in (one, many):
        outcome.outputs = sorted(outcome.outputs or [], key=null_keys_by_text)
    return _disturbed_differences(one, many)


def null_keys_by_text(record: Mapping[str, Any]) -> str:
    """An order that leaves records with a key where they are."""
    return "" if record["key"] is not None else record_text(record)


def _failure_differences(case: Case, outcome: Outcome) -> list[Difference]:
    """The batch of the failing record fails: the same error, and nothing of the batch is left."""
    expected, failure = case.golden["exception"], outcome.failure
    if failure is None or (failure.phase, java_name(failure.error)) != ("run", expected["class"]):
        return [Difference("exception", f"expected {expected['class']}, got {failure}")]
    wanted, found = by_key(case.golden["outputs"]), by_key(outcome.outputs or [])
    wrong = [key for key, values in found.items() if wanted.get(key, [])[: len(values)] != values]
    return [Difference("outputs", f"{key} is no part of the golden") for key in wrong]


def committed_differences(
    expected: Sequence[Mapping[str, Any]] | None, got: Sequence[Mapping[str, Any]] | None
) -> list[Difference]:
    """Compares the sequence of records of each key in each topic."""
    if expected is None or got is None:
        return []
    wanted, found = by_key(expected), by_key(got)
    for key in wanted | found:
        if wanted.get(key) != found.get(key):
            lists = f"\n  expected {wanted.get(key)}\n       got {found.get(key)}"
            return [Difference("outputs", f"{key}{lists}")]
    return []


def by_key(records: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Gives the records of each key in each topic, as text."""
    keys: dict[str, list[str]] = {}
    for record in records:
        head, _, tail = record_text(record).partition(" -> ")
        keys.setdefault(f"{record['topic']}: {head}", []).append(tail)
    return keys
