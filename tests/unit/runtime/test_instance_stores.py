"""The stores that an instance can read while it leads, while it stands by, and without copies."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import penstock as ps
from penstock import query
from penstock.errors import InvalidStateError, UnknownStoreError
from penstock.model.partitioning import partition_for
from penstock.model.task_id import TaskId
from penstock.query import (
    Position,
    QueryableStoreTypes,
    StateQueryRequest,
    StoreQueryParameters,
)
from penstock.runtime.spark.driver.stores.clients_metadata import HostInfo, LagInfo
from penstock.runtime.spark.driver.stores.instance_stores import InstanceStores
from penstock.runtime.spark.exchange.batch_log import Cut, InstanceRecord
from penstock.runtime.spark.exchange.plan import make_plan
from penstock.runtime.spark.replica.replica import CopyLag

CONFIG = ps.StreamsConfig({"application.id": "app"})
CHANGELOG = "app-counts-changelog"


def record(name: str, *, has_copies: bool = False) -> InstanceRecord:
    return InstanceRecord(
        id=name, pid=1, host="h", port=1, server=f"{name}:80", started_ms=0, has_copies=has_copies
    )


class Copies:
    """Copies as of batch 8, which answer every question with their partition."""

    def __init__(self, cut: Cut | None) -> None:
        self.cut = cut
        self.reading = contextlib.nullcontext()

    def query(self, store: str, partition: int, method: str, arguments: tuple[Any, ...]) -> Any:
        return partition

    def lags(self) -> list[CopyLag]:
        return [CopyLag("counts", TaskId(0, 1), CHANGELOG, 40, 45)]


class Runner:
    """A runner between two batches, or within one."""

    def __init__(self, batch: int | None) -> None:
        self.progress = SimpleNamespace(position={("in", 0): 5})
        self._batch = batch

    def contained(self, store: str) -> dict[tuple[str, int], int]:
        return {("in", 0): 4}

    @contextlib.contextmanager
    def hold(self, timeout_s: float) -> Iterator[int | None]:
        yield self._batch


def stores(*, runner: Runner | None = None, copies: Copies | None = None) -> InstanceStores:
    builder = ps.StreamsBuilder()
    builder.stream("in", key=str, value=str).group_by_key().count("counts")
    plan = make_plan(builder.build().graph, {"in": 2})
    instance = SimpleNamespace(
        leader="one",
        instances={"one": record("one"), "two": record("two", has_copies=True)},
        cut=Cut(1, 9, {(CHANGELOG, 1): 45}),
    )
    run: Any = SimpleNamespace(
        runner=runner, instance=instance, copies=copies, config=CONFIG,
        changelog_topic=lambda name: f"app-{name}-changelog",
    )  # fmt: skip
    return InstanceStores(run, plan, None)


CUT = Cut(1, 8, {(CHANGELOG, 1): 40}, positions={("in", 1): 7})


def test_an_instance_that_stands_by_answers_from_its_copies() -> None:
    """The answer is as old as the cut of the copies, and says so."""
    standby = stores(copies=Copies(CUT))
    found = standby.query(StateQueryRequest.in_store("counts").with_query(query.KeyQuery("k")))
    home = partition_for(b"k", 2)
    assert standby.view("counts").partition_of("k") == home
    assert standby.position() == Position.from_next_offsets({("in", 1): 7})
    # The input was placed by another program, so every partition may have the key.
    assert home in found.partition_results


def test_the_position_of_an_answer_is_what_its_store_contains() -> None:
    """Slots may have read more than has reached a store behind a repartition topic."""
    found = stores(runner=Runner(3))
    assert found.position() == Position.from_next_offsets({("in", 0): 5})
    assert found.position("counts") == Position.from_next_offsets({("in", 0): 4})


def test_without_copies_another_instance_has_to_be_asked() -> None:
    """The error says how to get copies."""
    with pytest.raises(InvalidStateError, match=r"num\.standby\.replicas=1") as error:
        stores().view("counts")
    assert error.value.code == "store-elsewhere"
    assert stores().position() == Position()


def test_parameters_refuse_copies_until_stale_stores_are_enabled() -> None:
    """As in Java; the name alone reads copies, too."""
    kind = QueryableStoreTypes.timestamped_key_value_store()
    asked = StoreQueryParameters.from_name_and_type("counts", kind)
    standby = stores(copies=Copies(CUT))
    with pytest.raises(InvalidStateError, match=r"enable_stale_stores\(\)") as error:
        standby.view(asked)
    assert error.value.code == "store-elsewhere"
    view = standby.view(asked.enable_stale_stores().with_partition(1))
    assert view.approximate_num_entries() == 1  # what ``Copies`` answers for partition 1
    with pytest.raises(InvalidStateError, match=r"num\.standby\.replicas=1"):
        stores().view(asked.enable_stale_stores())


@pytest.mark.parametrize(
    ("found", "batch"),
    [
        (stores(runner=Runner(3)), 3),
        (stores(runner=Runner(None)), None),
        (stores(runner=Runner(-1)), None),
        (stores(copies=Copies(CUT)), 8),
        (stores(copies=Copies(None)), None),
        (stores(), None),
    ],
)
def test_stores_are_held_at_a_complete_batch(found: InstanceStores, batch: int | None) -> None:
    """Before the first batch, within one, and without copies there is nothing to hold."""
    with found.hold(0.01) as cut:
        assert (None if cut is None else cut.batch) == batch


def test_a_key_is_with_the_leader_and_its_copy_elsewhere() -> None:
    """Where a key is does not depend on who is asked."""
    found = stores(runner=Runner(3)).key_metadata("counts", "k")
    assert (found.active_host, found.standby_hosts) == (HostInfo("one", 80), (HostInfo("two", 80),))
    assert found.partition == partition_for(b"k", 2)


def test_a_store_that_does_not_exist_is_refused() -> None:
    """Also where only its place is asked for."""
    with pytest.raises(UnknownStoreError):
        stores(runner=Runner(3)).clients_with("sums")


def test_the_leader_has_no_lag_and_copies_have_theirs() -> None:
    """The leader's stores are at the end of their changelogs between two batches."""
    assert stores(runner=Runner(3)).lags() == {"counts": {0: LagInfo(0, 0), 1: LagInfo(45, 45)}}
    assert stores(copies=Copies(CUT)).lags() == {"counts": {1: LagInfo(40, 45, 5)}}
