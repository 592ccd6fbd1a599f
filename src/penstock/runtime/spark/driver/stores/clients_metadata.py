"""The instances of an application, and which part of the state each of them has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from penstock.runtime.spark.exchange.batch_log import InstanceRecord
from penstock.runtime.spark.exchange.plan import Plan
from penstock.runtime.spark.replica.replica import CopyLag


class HostInfo(NamedTuple):
    """The ``application.server`` of an instance; empty and 0 if it has none."""

    host: str
    port: int

    @staticmethod
    def of(server: str) -> HostInfo:
        host, _, port = server.rpartition(":")
        return HostInfo(host, int(port)) if host and port else HostInfo("", 0)


@dataclass(frozen=True, slots=True)
class StreamsMetadata:
    """One instance: where it answers, and which stores it has."""

    instance: str
    host_info: HostInfo
    is_leader: bool
    state_store_names: frozenset[str] = frozenset()
    standby_state_store_names: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class KeyQueryMetadata:
    """Where a key is: the instance that has the task, and those with a copy."""

    active_host: HostInfo
    standby_hosts: tuple[HostInfo, ...]
    partition: int


@dataclass(frozen=True, slots=True)
class LagInfo:
    """How far the local copy of a partition is behind its changelog, in records."""

    current_offset_position: int
    end_offset_position: int
    offset_lag: int = field(default=0)


def clients(
    instances: Mapping[str, InstanceRecord], leader: str, plan: Plan
) -> list[StreamsMetadata]:
    """Describe every instance; the one that leads first."""
    logged = frozenset(plan.graph.stores) | frozenset(plan.graph.global_stores)
    found = [
        StreamsMetadata(
            instance=each.id,
            host_info=HostInfo.of(each.server),
            is_leader=each.id == leader,
            state_store_names=logged if each.id == leader else frozenset(),
            standby_state_store_names=(
                logged if each.has_copies and each.id != leader else frozenset()
            ),
        )
        for each in instances.values()
    ]
    return sorted(found, key=lambda each: (not each.is_leader, each.instance))


def lags_by_store(copies: list[CopyLag]) -> dict[str, dict[int, LagInfo]]:
    """Return the lag of every copy, by store and partition."""
    found: dict[str, dict[int, LagInfo]] = {}
    for each in copies:
        info = LagInfo(each.position, each.end, each.lag)
        found.setdefault(each.store, {})[each.task.partition] = info
    return found
