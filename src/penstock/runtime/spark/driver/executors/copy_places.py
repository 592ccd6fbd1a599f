"""Chooses the executors for copies of a slot's stores: other racks first, then other hosts.

Everything here is a plain function of the places. ``standbys`` starts and ends the copies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from penstock.runtime.spark.driver.executors.spark_executors import ExecutorId

#: By name of a tag: its value on one executor or instance.
Tags = Mapping[str, str]
#: How many values of tags, and how many hosts, some places have in common: fewer is better.
Cost = tuple[int, int]

_PREFIX = "PENSTOCK_CLIENT_TAG_"


def tag_variable(tag: str) -> str:
    """Return the environment variable in which a host has the value of a tag."""
    return _PREFIX + "".join(each if each.isalnum() else "_" for each in tag).upper()


@dataclass(frozen=True, slots=True)
class CopyPlaces:
    """Compare places by what they have in common: first the listed tags, then the host.

    A missing tag counts as equal, because the place may be in the same rack.

    Args:
        listed: the tags of ``rack.aware.assignment.tags``.
        tags: by name of an executor: its tags.
    """

    listed: Sequence[str] = ()
    tags: Mapping[str, Tags] = field(default_factory=dict)

    def cost(self, places: Iterable[ExecutorId]) -> Cost:
        """Return what a slot and its copies have in common, summed over all pairs of them."""
        in_tags = in_hosts = 0
        for one, other in combinations(places, 2):
            in_tags += len(self._in_common(one, other))
            in_hosts += one.host == other.host
        return in_tags, in_hosts

    def new_copies(
        self,
        owner: ExecutorId,
        there: Iterable[ExecutorId],
        have: Sequence[ExecutorId],
        load: Mapping[ExecutorId, int],
        wanted: int,
    ) -> list[ExecutorId]:
        """Return the executors that get a new copy, so that a slot has ``wanted`` copies.

        Each copy goes where it has least in common with the slot and the copies before it. Among
        equal places, the one with the fewest copies gets it. A host has one folder for the copy of
        a slot, so it gets one copy at most.

        Args:
            owner: where the slot runs.
            have: where it has copies already.
            load: by executor: how many copies it keeps.
        """
        used, free = [owner, *have], set(_free(owner, there, have))
        found: list[ExecutorId] = []
        while free and len(have) + len(found) < wanted:
            # A place without a tag is like all others, also like those that are chosen later.
            best = min(
                free,
                key=lambda each: (
                    self._added(each, used), self._unknown(each), load.get(each, 0), each,
                ),
            )  # fmt: skip
            free = {each for each in free if each.host != best.host}
            used.append(best)
            found.append(best)
        return found

    def better_copy(
        self,
        owner: ExecutorId,
        there: Iterable[ExecutorId],
        have: Sequence[ExecutorId],
        load: Mapping[ExecutorId, int],
    ) -> tuple[ExecutorId, ExecutorId] | None:
        """Return a copy to end and a better place for it; None if there is no better place.

        Every such exchange lowers ``cost``, so exchanges end if the cluster does not change.
        """
        free, now = _free(owner, there, have), self.cost([owner, *have])
        exchanges = (
            (self.cost([owner, *(each for each in have if each != old), new]), new, old)
            for old in have
            for new in free
        )
        found = min(
            (each for each in exchanges if each[0] < now),
            key=lambda each: (each[0], load.get(each[1], 0), each[1], each[2]),
            default=None,
        )
        return None if found is None else (found[2], found[1])

    def shortage(
        self, owner: ExecutorId, there: Sequence[ExecutorId], copies: Sequence[ExecutorId],
        wanted: int,
    ) -> str:  # fmt: skip
        """Return why a slot and its copies are not as far apart as wanted; empty if they are."""
        if not self.listed:
            return ""
        told: list[str] = []
        if len(copies) < wanted:
            told.append(
                f"{len(copies)} of {wanted} copies (num.standby.replicas) have a host, among"
                f" {len({each.host for each in there})}"
            )
        common = {tag for pair in combinations([owner, *copies], 2)
                  for tag in self._in_common(*pair)}  # fmt: skip
        for tag in self.listed:
            if tag in common:
                told.append(self._shortage_of(tag, there, [owner, *copies]))
        return "; ".join(told)

    def _shortage_of(
        self, tag: str, there: Sequence[ExecutorId], places: Sequence[ExecutorId]
    ) -> str:
        without = sorted({each.host for each in there if self._value(each, tag) is None})
        if without:
            return f"{', '.join(without)} without a tag {tag!r} (set {tag_variable(tag)} there)"
        values = sorted({str(self._value(each, tag)) for each in there})
        if len(values) < len(places):
            return (
                f"{len(places)} different values of tag {tag!r} are needed, executors have"
                f" {', '.join(map(repr, values))}"
            )
        return f"no free executor differs in tag {tag!r} and in the other tags"

    def _added(self, new: ExecutorId, used: Iterable[ExecutorId]) -> Cost:
        costs = [self.cost((new, each)) for each in used]
        return sum(tags for tags, _ in costs), sum(hosts for _, hosts in costs)

    def _in_common(self, one: ExecutorId, other: ExecutorId) -> list[str]:
        return [
            tag
            for tag in self.listed
            if self._value(one, tag) is None
            or self._value(other, tag) in (None, self._value(one, tag))
        ]

    def _unknown(self, executor: ExecutorId) -> int:
        """Return how many of the listed tags a place does not have."""
        return sum(self._value(executor, tag) is None for tag in self.listed)

    def _value(self, executor: ExecutorId, tag: str) -> str | None:
        return self.tags.get(executor.name, {}).get(tag)


def _free(
    owner: ExecutorId, there: Iterable[ExecutorId], have: Sequence[ExecutorId]
) -> list[ExecutorId]:
    """Return the executors that may get another copy."""
    used = {each.host for each in have}
    return sorted({each for each in there if each.name != owner.name and each.host not in used})
