"""Judges what a case made on Spark: against its golden, or a staged run of the same layout."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tests.oracle.cases import Case
from tests.oracle.compare import Difference, compare, record_text
from tests.oracle.exceptions import may_meet, reason_for
from tests.oracle.run import Outcome
from tests.oracle.staged import StagedOutcome, Staging, execute_staged
from tests.oracle.staged_check import by_key, committed_differences, null_keys_by_text

_TIMEOUT_S = 60.0


def judge(
    case: Case, outcome: Outcome, layout: Staging, *, has_golden: bool
) -> tuple[tuple[Difference, ...], str | None]:
    """Gives the differences of a run, and why it may differ.

    With several partitions a golden says nothing: every partition has a stream time of its own. A
    staged run of the same layout stands in for it, with one thread.
    """
    if layout.partitions > 1 or not has_golden:
        return tuple(_from_staged(case, outcome, layout)), None
    differences = spark_differences(case.golden, outcome)
    if not differences:
        return (), None
    staged = _staged(case, layout)
    reason = reason_for(case.data, staged.plan, is_batched=True)
    if reason is None or "exception" in case.golden or _both_fail(staged, outcome):
        return tuple(differences), reason
    golden = {"outputs": staged.outputs, "stores": staged.stores}
    return tuple(spark_differences(golden, outcome)), None


def _both_fail(staged: Outcome, outcome: Outcome) -> bool:
    return staged.failure is not None and outcome.failure is not None


def _from_staged(case: Case, outcome: Outcome, layout: Staging) -> list[Difference]:
    staged = _staged(case, replace(layout, slots=1))
    if staged.failure is not None:
        # A thread commits its own tasks, whatever becomes of the others.
        missing = Difference("exception", f"expected {staged.failure.error!r}, none raised")
        return [] if outcome.failure is not None else [missing]
    wanted, found = staged.outputs or [], outcome.outputs or []
    if layout.partitions > 1:
        # Records of one key, or without one, may come from several tasks, in no order then.
        order = record_text if may_meet(case.data) else null_keys_by_text
        wanted, found = sorted(wanted, key=order), sorted(found, key=order)
    golden = {"outputs": wanted, "stores": staged.stores}
    return spark_differences(golden, replace(outcome, outputs=found))


def _staged(case: Case, layout: Staging) -> StagedOutcome:
    # All inputs are there before the application starts: nothing cuts them into batches.
    piped = [each for each in case.data["inputs"] if "advance_wall_clock_ms" not in each]
    # A cache still shows windows that its store has let go: a commit on Spark empties it.
    is_cached = "statestore.cache.max.bytes" in case.data.get("config", {})
    forgets = is_cached and '"windowed_by"' in json.dumps(case.data["topology"])
    staging = replace(layout, batches="all", disturbance="restart" if forgets else "")
    return execute_staged({**case.data, "inputs": piped}, staging, timeout_s=_TIMEOUT_S)


def spark_differences(golden: Mapping[str, Any], outcome: Outcome) -> list[Difference]:
    """Compares what is committed: the records of each key, and the stores."""
    expected = golden.get("exception")
    if expected is not None:
        # Spark carries errors as text, and the first batch is where a task is made.
        if outcome.failure is None:
            return [Difference("exception", f"expected {expected['class']}, none raised")]
        wanted, found = by_key(golden.get("outputs", [])), by_key(outcome.outputs or [])
        wrong = [k for k, each in found.items() if wanted.get(k, [])[: len(each)] != each]
        return [Difference("outputs", f"{key} is no part of the golden") for key in wrong]
    if outcome.failure is not None:
        return compare(golden, outcome, ("exception",))
    wanted, found = _writable(golden["outputs"]), _writable(outcome.outputs or [])
    differences = committed_differences(wanted, found)
    return differences + _store_differences(golden.get("stores") or {}, outcome.stores or {})


def _writable(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Kafka's C client writes no time 0, but the millisecond after it."""
    return [{**each, "timestamp": each["timestamp"] or 1} for each in records]


def _store_differences(
    expected: Mapping[str, Mapping[str, Any]], got: Mapping[str, list[Any] | None]
) -> list[Difference]:
    found = []
    for name, wanted in expected.items():
        if "entries" not in wanted or got.get(name) is None:
            continue
        values = [without_timestamp(wanted["kind"], entry) for entry in wanted["entries"]]
        if json.dumps(values) != json.dumps(got[name]):
            text = f"store {name!r}\n  expected {values}\n       got {got[name]}"
            found.append(Difference("stores", text))
    return found


def without_timestamp(kind: str, entry: list[Any]) -> list[Any]:
    """Queries give values without the timestamps that stores keep beside them."""
    return entry[:-1] if kind.startswith("timestamped") else entry
