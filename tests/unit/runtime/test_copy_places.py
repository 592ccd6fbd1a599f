"""Where copies of slots go: to other values of the listed tags, then to other hosts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.spark.driver.executors.copy_places import CopyPlaces, tag_variable
from penstock.runtime.spark.driver.executors.spark_executors import ExecutorId

OWNER, NEAR, FAR = ExecutorId("h1", "1"), ExecutorId("h2", "2"), ExecutorId("h3", "3")
ZONES = {"1": {"zone": "a"}, "2": {"zone": "a"}, "3": {"zone": "b"}}
NO_LOAD: Counter[ExecutorId] = Counter()


@dataclass(frozen=True)
class Cluster:
    """Executors with their tags, and a slot with some copies on them."""

    places: CopyPlaces
    there: list[ExecutorId]
    owner: ExecutorId
    have: list[ExecutorId]
    load: Counter[ExecutorId]

    @property
    def free_hosts(self) -> set[str]:
        others = {each.host for each in self.there if each != self.owner}
        return others - {each.host for each in self.have}

    def tag_cost(self, copies: list[ExecutorId]) -> int:
        return self.places.cost([self.owner, *copies])[0]


@st.composite
def clusters(draw: st.DrawFn, *, tags: int = 2) -> Cluster:
    listed = ["zone", "cluster"][:tags]
    there = [
        ExecutorId(f"h{draw(st.integers(0, 3))}", str(name))
        for name in range(draw(st.integers(1, 7)))
    ]
    values = st.one_of(st.none(), st.sampled_from("abc"))
    of_host = {
        host: {tag: value for tag in listed if (value := draw(values)) is not None}
        for host in sorted({each.host for each in there})
    }
    known = {each.name: of_host[each.host] for each in there}
    owner, *others = draw(st.permutations(there))
    one_per_host = list({each.host: each for each in others}.values())
    have = one_per_host[: draw(st.integers(0, 3))]
    load = Counter({each: draw(st.integers(0, 3)) for each in there})
    return Cluster(CopyPlaces(listed, known), there, owner, have, load)


@given(clusters(), st.integers(0, 4))
def test_a_slot_gets_as_many_copies_as_there_is_room_for(cluster: Cluster, wanted: int) -> None:
    """Never where the slot runs, and never two on one host."""
    found = cluster.places.new_copies(
        cluster.owner, cluster.there, cluster.have, cluster.load, wanted
    )
    missing = max(wanted - len(cluster.have), 0)
    assert len(found) == min(missing, len(cluster.free_hosts))
    assert len({each.host for each in found} & cluster.free_hosts) == len(found)
    assert cluster.owner not in found


@given(clusters())
def test_one_copy_has_as_little_as_possible_in_common_with_its_slot(cluster: Cluster) -> None:
    found = cluster.places.new_copies(cluster.owner, cluster.there, [], cluster.load, 1)
    others = [each for each in cluster.there if each != cluster.owner]
    costs = {each: cluster.places.cost([cluster.owner, each]) for each in others}
    assert [costs[each] for each in found] == ([min(costs.values())] if costs else [])


@given(clusters(tags=1), st.integers(1, 4))
def test_copies_of_one_tag_are_as_far_apart_as_can_be(cluster: Cluster, wanted: int) -> None:
    """With one tag the choice one by one is as good as trying everything."""
    found = cluster.places.new_copies(cluster.owner, cluster.there, [], cluster.load, wanted)
    assert cluster.tag_cost(found) == _best_tag_cost(cluster, len(found))


@given(clusters())
def test_exchanges_come_to_rest(cluster: Cluster) -> None:
    """Each one is an improvement, so copies do not wander about for ever."""
    have, costs = list(cluster.have), [cluster.places.cost([cluster.owner, *cluster.have])]
    while True:
        better = cluster.places.better_copy(cluster.owner, cluster.there, have, cluster.load)
        if better is None:
            break
        old, new = better
        assert old in have
        assert new not in (*have, cluster.owner)
        have = [each for each in have if each != old] + [new]
        costs.append(cluster.places.cost([cluster.owner, *have]))
    assert len(have) == len(cluster.have)
    assert costs == sorted(set(costs), reverse=True)


@given(clusters(tags=1))
def test_exchanges_of_one_tag_end_at_the_best(cluster: Cluster) -> None:
    """However badly the copies stood before, after a loss of half the cluster say."""
    have = list(cluster.have)
    while better := cluster.places.better_copy(cluster.owner, cluster.there, have, NO_LOAD):
        have = [each for each in have if each != better[0]] + [better[1]]
    assert cluster.tag_cost(have) == _best_tag_cost(cluster, len(have))


def _best_tag_cost(cluster: Cluster, copies: int) -> int:
    others = [each for each in cluster.there if each != cluster.owner]
    return min(
        cluster.tag_cost(list(each))
        for each in combinations(others, copies)
        if len({place.host for place in each}) == copies
    )


def test_a_rack_comes_before_a_host() -> None:
    places = CopyPlaces(["zone"], ZONES)
    assert places.new_copies(OWNER, [OWNER, NEAR, FAR], [], NO_LOAD, 1) == [FAR]
    assert places.better_copy(OWNER, [OWNER, NEAR, FAR], [NEAR], NO_LOAD) == (NEAR, FAR)


def test_without_tags_the_host_decides_and_then_the_load() -> None:
    places, beside = CopyPlaces(), ExecutorId("h1", "9")
    assert places.new_copies(OWNER, [OWNER, beside, NEAR, FAR], [], Counter({NEAR: 1}), 1) == [FAR]
    assert places.new_copies(OWNER, [OWNER, beside], [], NO_LOAD, 1) == [beside]
    assert places.better_copy(OWNER, [OWNER, beside, NEAR], [beside], NO_LOAD) == (beside, NEAR)


def test_an_executor_without_a_tag_may_be_in_any_rack() -> None:
    places = CopyPlaces(["zone"], {"1": {"zone": "a"}, "2": {}, "3": {"zone": "b"}})
    assert places.new_copies(OWNER, [NEAR, FAR], [], Counter({FAR: 5}), 1) == [FAR]


@pytest.mark.parametrize(
    ("tags", "copies", "wanted", "told"),
    [
        (ZONES, [FAR], 1, ""),
        (ZONES, [NEAR], 1, "no free executor differs in tag 'zone'"),
        (ZONES, [FAR, NEAR], 2, "3 different values of tag 'zone' are needed, executors have 'a',"),
        ({"1": {"zone": "a"}, "2": {}}, [NEAR], 1, "h2, h3 without a tag 'zone' (set PENSTOCK_"),
        (ZONES, [], 1, "0 of 1 copies (num.standby.replicas) have a host, among 3"),
    ],
)
def test_what_is_missing_is_said(
    tags: dict[str, dict[str, str]], copies: list[ExecutorId], wanted: int, told: str
) -> None:
    found = CopyPlaces(["zone"], tags).shortage(OWNER, [OWNER, NEAR, FAR], copies, wanted)
    assert found.startswith(told)
    assert bool(found) == bool(told)


def test_without_listed_tags_nothing_is_missing() -> None:
    assert CopyPlaces().shortage(OWNER, [OWNER], [], 1) == ""


@pytest.mark.parametrize(
    ("tag", "variable"),
    [("zone", "PENSTOCK_CLIENT_TAG_ZONE"), ("rack-no.row", "PENSTOCK_CLIENT_TAG_RACK_NO_ROW")],
)
def test_a_tag_has_a_variable_that_every_shell_can_set(tag: str, variable: str) -> None:
    assert tag_variable(tag) == variable
