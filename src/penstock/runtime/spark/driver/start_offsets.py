"""Finds where an application starts to read each partition of its sources."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Collection, Iterable, Mapping

from penstock.errors import StreamsError
from penstock.kafka.admin import Admin
from penstock.kafka.errors import KafkaRequestError
from penstock.model.topic_partition import TopicPartition
from penstock.topology.graph import Graph
from penstock.topology.nodes import Source

log = logging.getLogger(__name__)

_DURATION = re.compile(r"by_duration:PT(\d+)(?:\.(\d+))?S")


def first_offsets(
    parts: Collection[TopicPartition],
    committed: Mapping[TopicPartition, int],
    graph: Graph,
    admin: Admin,
    default: str,
    *,
    read_committed: bool = False,
) -> dict[TopicPartition, int]:
    """Return where reading begins: where committed offsets continue, or as the policies say.

    A partition without a leader cannot be asked, and the others do not wait for it. It begins where
    it was committed. If that does not fit when it has a leader again, the application begins anew.

    Raises:
        KafkaRequestError: ``kafka-not-ready``, if nothing is known about such a partition.
    """

    def asked(some: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        known = usable_offsets(admin, {part: committed[part] for part in some if part in committed})
        return start_offsets(some, known, graph, admin, default, read_committed=read_committed)

    try:
        return asked(parts)
    except KafkaRequestError as error:
        if error.code != "kafka-not-ready":
            raise
        found = admin.topics()
        away = [(t, n) for t, n in parts if t in found and found[t].partitions[n].leader < 0]
        policies = _policies(graph, default)
        from_zero = [part for part in away if policies.get(part[0], default) == "earliest"]
        told = {**dict.fromkeys(from_zero, 0), **{p: committed[p] for p in away if p in committed}}
        if not away or len(told) < len(away):
            raise
    named = ", ".join(f"{topic!r} partition {number}" for topic, number in away)
    log.warning("%s: no leader at the moment; reading of the others begins", named)
    return {**asked([part for part in parts if part not in told]), **told}


def start_offsets(
    parts: Iterable[TopicPartition],
    committed: Mapping[TopicPartition, int],
    graph: Graph,
    admin: Admin,
    default: str,
    *,
    read_committed: bool = False,
) -> dict[TopicPartition, int]:
    """Return the committed offsets, or else those of the source's or application's policy.

    Args:
        read_committed: whether a partition ends at its first open transaction, as for a reader of
            committed records.
    """
    chosen: dict[TopicPartition, int] = {}
    by_policy: dict[str, list[TopicPartition]] = {}
    policies = _policies(graph, default)
    for part in parts:
        if part in committed:
            chosen[part] = committed[part]
        else:
            by_policy.setdefault(policies.get(part[0], default), []).append(part)
    for policy, waiting in by_policy.items():
        chosen |= _reset(policy, waiting, admin, read_committed=read_committed)
    return chosen


def usable_offsets(
    admin: Admin, committed: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """Return where committed offsets continue; the policy decides about deleted records.

    A partition that ends before its offset has lost its tail, and everything before was processed.
    So reading continues at the end. ``auto.offset.reset`` would read it all over full state.
    """
    if not committed:
        return {}
    begins = admin.begin_offsets(committed)
    # Records behind an open transaction are not lost, so the high watermark is the end.
    ends = admin.end_offsets(committed)
    usable: dict[TopicPartition, int] = {}
    for part, at in committed.items():
        if at > ends[part]:
            log.error(
                "topic %r partition %d ends at %d, but %d is committed: it has lost its last"
                " records; reading continues at its end",
                *part, ends[part], at,
            )  # fmt: skip
        if at >= begins[part]:
            usable[part] = min(at, ends[part])
            continue
        log.error(
            "topic %r partition %d begins at %d, but %d is committed: records were deleted before"
            " they were processed; auto.offset.reset decides where to continue",
            *part, begins[part], at,
        )  # fmt: skip
    return usable


def _policies(graph: Graph, default: str) -> dict[str, str]:
    return {
        topic: node.offset_reset or default
        for node in graph.nodes.values()
        if isinstance(node, Source)
        for topic in node.topics
    }


def _reset(
    policy: str, parts: list[TopicPartition], admin: Admin, *, read_committed: bool
) -> dict[TopicPartition, int]:
    if policy == "earliest":
        return admin.begin_offsets(parts)
    if policy == "latest":
        return admin.end_offsets(parts, committed=read_committed)
    duration = _DURATION.fullmatch(policy)
    if duration is not None:
        back_ms = int(duration[1]) * 1000 + int((duration[2] or "0").ljust(3, "0")[:3])
        found = admin.offsets_at(parts, time.time_ns() // 1_000_000 - back_ms)
        ends = admin.end_offsets(parts, committed=read_committed)
        # A record of an open transaction may have the time.
        return {p: min(at, ends[p]) if at >= 0 else ends[p] for p, at in found.items()}
    listed = ", ".join(f"{topic}-{number}" for topic, number in parts)
    raise StreamsError(
        "no-offset",
        f"nothing is committed for {listed}, and auto.offset.reset is {policy!r}",
        fix="set auto.offset.reset to earliest or latest, or commit offsets for the group first",
    )
