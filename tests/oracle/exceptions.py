"""Where Java's test driver itself differs from a running application: by rule, else by name.

A case is excepted only if it disagrees; then its reason is printed beside its name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from penstock.runtime.spark.plan import Plan

_TOGETHER = (
    "topics that the topology writes and reads again come as a batch, the smallest timestamp"
    " first; the driver takes each record on at once"
)
_TIES = "the driver breaks ties of time over the queues of all sub-topologies"
_FEEDBACK = (
    "the sub-topology feeds itself: it sees all records of the batch before those that come back"
)

#: With one record per batch.
NAMED: Mapping[str, str] = {
    "unknown-input-topic-is-error": "only the driver knows what is piped into an unread topic",
    "describe-pattern-source": "an application refuses to start when no topic matches its pattern",
    "papi-two-subtopologies-through-topic": "the end of a transaction takes an offset of the topic",
    "partition-group-picks-lowest-timestamp": _TOGETHER,
    "partition-group-ties": _TOGETHER,
    "random-101-84": _TOGETHER,
    "random-101-169": _FEEDBACK,
    "random-102-37": _FEEDBACK,
    "random-103-76": _TIES,
}


def reason_for(case: Mapping[str, Any], plan: Plan | None, *, is_batched: bool) -> str | None:
    """Gives why a case may disagree with its golden, None if it must not."""
    if case["name"] in NAMED:
        return NAMED[case["name"]]
    if plan is None:
        return None
    parts = {run.subtopology for run in plan.runs}
    text = json.dumps(case["topology"])
    if len(parts) > 1 and ("stream_time" in text or '"metadata' in text):
        return "the driver has one stream time for all sub-topologies"
    if case.get("config", {}).get("statestore.cache.max.bytes", 0) and (
        is_batched or len(parts) > 1
    ):
        return "the driver commits, and so empties the cache, after every record it processes"
    return _batch_reason(case, plan) if is_batched else None


def _batch_reason(case: Mapping[str, Any], plan: Plan) -> str | None:
    if plan.graph.global_stores:
        return "a global table is brought up to date before the batch, not record by record"
    inputs: dict[int, list[str]] = {}
    for run in plan.runs:
        inputs.setdefault(run.subtopology, []).extend(run.topics)
    if len(inputs) < len(plan.runs):
        return _FEEDBACK
    written = {getattr(node, "topic", None) for node in plan.graph.nodes.values()}
    if any(topic in written for topic in plan.external_topics):
        return _TOGETHER
    if any(len(topics) > 1 for topics in inputs.values()) and not _is_ordered(case):
        return "a task picks from its topics by time, the driver takes records as they are piped"
    return None


def _is_ordered(case: Mapping[str, Any]) -> bool:
    """Tells whether every record is later than those of other topics before it."""
    records = [(each["timestamp"], each["topic"]) for each in case["inputs"] if "topic" in each]
    pairs = pairwise(records)
    return all(one[0] < two[0] or one == two for one, two in pairs)


def restart_reason(case: Mapping[str, Any]) -> str | None:
    """Gives why a restart may change the result, None if it must not."""
    text = json.dumps(case["topology"])
    if '"logging": false' in text:
        return "nothing brings back a store without a changelog"
    if any(f"{kind}:" in text for kind in ("tick_stream_time", "tick_wall_clock")):
        return "the processor counts its ticks in a field, which a restart forgets"
    return None
