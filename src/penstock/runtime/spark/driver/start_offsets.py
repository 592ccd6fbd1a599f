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
