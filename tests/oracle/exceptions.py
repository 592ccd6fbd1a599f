"""Where Java's test driver itself differs from a running application: by rule, else by name.

A case is excepted only if it disagrees; then its reason is printed beside its name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from penstock.runtime.spark.exchange.plan import Plan

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
    "own-global-table-skips-poison-whatever-the-handler": (
        "the driver skips what it cannot decode in a global topic; an application asks its handler"
    ),
    "partition-group-picks-lowest-timestamp": _TOGETHER,
    "partition-group-ties": _TOGETHER,
    "random-101-84": _TOGETHER,
    "random-101-169": _FEEDBACK,
    "random-102-37": _FEEDBACK,
    "random-103-76": _TIES,
}
#: Over columns instead of by record.
_OVER_COLUMNS: Mapping[str, str] = {
    "own-global-table-takes-its-share-of-the-cache": (
        "a cache that is too small for the batch sends results in between; columns never do"
    ),
    "random-102-87": (
        "the cache still shows windows that its store has let go; columns never fill it"
    ),
}


def columns_reason(case: Mapping[str, Any]) -> str | None:
    """Return why a run over columns may differ from one by record; None if it must not."""
    return _OVER_COLUMNS.get(case["name"])


#: Recorded from Kafka Streams 4.1, which a later release does otherwise.
LATER: Mapping[str, str] = {
    "papi-session-store-backward-fetch-unsupported-in-processors": (
        "Kafka Streams 4.3 lets processors read session stores backwards"
    ),
}


def reason_for(case: Mapping[str, Any], plan: Plan | None, *, is_batched: bool) -> str | None:
    """Gives why a case may disagree with its golden, None if it must not."""
    named = NAMED.get(case["name"]) or LATER.get(case["name"])
    if named is not None:
        return named
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


def shows_expired(case: Mapping[str, Any]) -> bool:
    """Tells whether a cache may still show windows that its store has let go."""
    is_cached = "statestore.cache.max.bytes" in case.get("config", {})
    return is_cached and "windowed_by" in json.dumps(case["topology"])


def restart_reason(case: Mapping[str, Any]) -> str | None:
    """Gives why a restart may change the result, None if it must not."""
    text = json.dumps(case["topology"])
    if '"logging": false' in text:
        return "nothing brings back a store without a changelog"
    if shows_expired(case):
        return "the cache still shows windows that its store has let go; a restart empties it"
    if any(f"{kind}:" in text for kind in ("tick_stream_time", "tick_wall_clock")):
        return "the processor counts its ticks in a field, which a restart forgets"
    return None


#: Operations and processors whose result depends on more than the records of one key.
_BY_TIME = (
    "windowed_by", "suppress", "emit_strategy", "stream_time", "wall_clock", "metadata", '"window"',
    "versioned", "grace_ms", "use_partition_time", "partition_time_plus", "session", "dedup",
)  # fmt: skip
_BY_STORE = ("kv_commands", "window_commands", '"lru"', "store_count")
_NEW_KEYS = ("map", "flat_map", "select_key", "group_by", "fk_join", "fk_left_join", "process")


def partition_reason(case: Mapping[str, Any], plan: Plan | None, *, is_batched: bool) -> str | None:
    """Gives why four partitions may differ from one, None if keys alone decide."""
    text = json.dumps([case["topology"], case.get("config", {})])
    if any(word in text for word in _BY_TIME):
        return "every partition has a stream time of its own"
    if any(word in text for word in _BY_STORE):
        return "the processor reads other keys of the store, or counts them"
    if '"partitions"' in text:
        return "the case asks for a number of partitions of its own"
    if not is_batched:
        return None
    if "exception" in case.get("golden", {}):
        return "other records than before share a batch with the one that fails"
    if may_meet(case):
        return "keys change: records that meet under one key come from several tasks"
    return None if plan is None else _batch_reason(case, plan)


def may_meet(case: Mapping[str, Any]) -> bool:
    """Tells whether records of one key may come from several tasks: then they have no order."""
    return any(op["op"] in _NEW_KEYS for op in case["topology"])
