"""Notices that a topology has changed, and keeps the clocks of its tasks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace

from penstock.kernel.clocks import renamed
from penstock.model.task_id import TaskId
from penstock.runtime.spark.exchange.batch_log import Marker
from penstock.runtime.spark.exchange.plan import Plan
from penstock.topology.graph import Graph
from penstock.topology.json_form import to_dict


def renumbered(
    markers: Mapping[tuple[TaskId, int], Marker],
    plan: Plan,
    renames: Mapping[str, str] | None = None,
) -> dict[tuple[TaskId, int], Marker]:
    """Return the markers under the numbers that their sub-topologies have in a changed topology.

    A sub-topology is identified by the topics that it reads. If no former one reads the same
    topics, it starts without clocks: those of another sub-topology with the same number would close
    its windows.

    Args:
        renames: The new name of each node that fills a store. The numbers in generated names may
            have changed, and without its clock a node would reopen closed windows.
    """
    places = {topic: (run.subtopology, run.stage) for run in plan.runs for topic in run.topics}
    found: dict[tuple[TaskId, int], Marker] = {}
    for (task, _), marker in sorted(markers.items()):
        reads = {places.get(topic) for topic, _ in marker.positions}
        place = reads.pop() if len(reads) == 1 else None
        if place is not None:
            subtopology, stage = place
            clocks = renamed(marker.clocks, renames or {})
            moved = replace(marker, batch=-1, clocks=clocks)
            found[TaskId(subtopology, task.partition), stage] = moved
    return found


def topology_fingerprint(graph: Graph) -> str:
    """Return a text that changes with nodes, stores or topics, but not with lines or functions.

    It is made of the graph as the program has it: which topics match a pattern may change at any
    time, also while a batch is under way.
    """
    described = to_dict(graph)
    for part in described["subtopologies"]:
        for node in part["nodes"]:
            for name in list(node):
                if name not in ("kind", "name", "parents", "stores", "topics", "topic"):
                    del node[name]
    for store in described["stores"].values():
        for name in list(store):
            if name not in ("name", "kind", "retention_ms", "window_size_ms"):
                del store[name]
    text = json.dumps(
        {key: described[key] for key in ("subtopologies", "stores", "internal_topics")},
        sort_keys=True,
    )
    return hashlib.sha256(text.encode()).hexdigest()
