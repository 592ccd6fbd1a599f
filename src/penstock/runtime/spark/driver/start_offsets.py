"""Finds where an application starts to read a partition without a committed offset."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterable, Mapping

from penstock.errors import StreamsError
from penstock.kafka.admin import Admin
from penstock.model.topic_partition import TopicPartition
from penstock.topology.graph import Graph
from penstock.topology.nodes import Source

log = logging.getLogger(__name__)

_DURATION = re.compile(r"by_duration:PT(\d+)(?:\.(\d+))?S")


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
    """Return the committed offsets that still exist; the policy decides about the others.

    Their records were deleted before they were processed, or the topic was created again.
    """
    if not committed:
        return {}
    begins, ends = admin.begin_offsets(committed), admin.end_offsets(committed)
    usable = {p: at for p, at in committed.items() if begins[p] <= at <= ends[p]}
    for topic, number in committed.keys() - usable.keys():
        part = topic, number
        log.error(
            "topic %r partition %d has the offsets %d to %d, but %d is committed: records were"
            " deleted before they were processed, or the topic was created again; auto.offset.reset"
            " decides where to continue",
            topic, number, begins[part], ends[part], committed[part],
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
