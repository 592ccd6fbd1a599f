"""Standbys on executors: ``standby``, ``standbys``."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from penstock.errors import StreamsError
from penstock.model.task_id import TaskId
from penstock.processor.listeners import SuspendReason
from penstock.runtime.local.memory_clients import MemoryClients
from penstock.runtime.spark.driver import standbys as module
from penstock.runtime.spark.driver.executors.spark_executors import ExecutorId
from penstock.runtime.spark.driver.standbys import Standbys
from penstock.runtime.spark.driver.threads.placement import Placement
from penstock.runtime.spark.exchange.channel import Waiting
from penstock.runtime.spark.exchange.questions import AskStandby, StandBy, StandDown
from penstock.runtime.spark.exchange.stage_request import Application, Endpoint
from penstock.runtime.spark.replica.replica import CopyLag, Replica
from penstock.runtime.spark.standby.standby import adopt, standby_folder, tasks_of
from penstock.runtime.spark.worker.task_databases import TaskDatabases
from penstock.state.engine.rocks import open_rocks
from tests.runtime.test_replica import World, counting

A, B, C = (ExecutorId(f"host-{name}", name) for name in "abc")


# Folders


class Hosts:
    """The application in memory, with copies in real databases on the disk of one host."""

    def __init__(self, world: World, folder: Path) -> None:
        self.world = world
        made = world.application.application
        self.application: Application = replace(made, state_dir=str(folder))

    def follow(self, directory: Path, cut: Any, tasks: list[TaskId]) -> int:
        """Bring copies in a folder to a cut; return how many records that took."""
        clients = MemoryClients(self.world.kafka, self.application.batches_topic)
        replica = Replica(self.application, clients, tasks=tasks, directory=directory)
        replica.follow(cut)
        replica.close()
        return replica.applied

    @property
    def own(self) -> Path:
        return Path(self.application.state_dir) / self.application.id

    def rows(self, task: TaskId) -> int:
        """Return how far the task's own database has read its changelog."""
        world = self.world
        settings = world.application.slot_of(0).settings
        found = TaskDatabases(task, self.application.plan, settings, self.own, open_rocks)
        try:
            return found.engine("counts").checkpoint.changelog_offset
        finally:
            found.close()


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    world = World(counting())
    yield Hosts(world, tmp_path)
    world.application.close()


def _batches(hosts: Hosts, count: int) -> Any:
    for _ in range(count):
        hosts.world.send("in", *((f"k{n}", "x") for n in range(20)))
        cut = hosts.world.run()
    return cut


def test_a_slot_takes_over_copies_that_its_host_has(hosts: Hosts) -> None:
    cut = _batches(hosts, 2)
    tasks = tasks_of(hosts.application, 0, 2)
    assert tasks == [TaskId(0, 0)]
    hosts.follow(standby_folder(hosts.application, 0), cut, tasks)
    assert adopt(hosts.application, 0) == tasks
    assert hosts.rows(tasks[0]) == cut.ends["copied-counts-changelog", 0]
    assert not standby_folder(hosts.application, 0).exists()


def test_only_the_rest_is_read_after_a_takeover(hosts: Hosts) -> None:
    cut = _batches(hosts, 3)
    task = TaskId(0, 0)
    hosts.follow(standby_folder(hosts.application, 0), cut, [task])
    adopt(hosts.application, 0)
    later = _batches(hosts, 1)
    rest = later.positions["in", 0] - cut.positions["in", 0]
    assert hosts.follow(hosts.own, later, [task]) == rest


def test_a_copy_that_is_older_than_the_task_itself_is_not_taken(hosts: Hosts) -> None:
    early, task = _batches(hosts, 1), TaskId(0, 0)
    hosts.follow(standby_folder(hosts.application, 0), early, [task])
    late = _batches(hosts, 1)
    hosts.follow(hosts.own, late, [task])
    assert adopt(hosts.application, 0) == []
    assert hosts.rows(task) == late.ends["copied-counts-changelog", 0]
    assert not standby_folder(hosts.application, 0).exists()


def test_a_stale_folder_of_the_task_gives_way_to_a_newer_copy(hosts: Hosts) -> None:
    early, task = _batches(hosts, 1), TaskId(0, 0)
    hosts.follow(hosts.own, early, [task])
    late = _batches(hosts, 1)
    hosts.follow(standby_folder(hosts.application, 0), late, [task])
    assert adopt(hosts.application, 0) == [task]
    assert hosts.rows(task) == late.ends["copied-counts-changelog", 0]


def test_a_host_without_copies_has_nothing_to_take_over(hosts: Hosts) -> None:
    assert adopt(hosts.application, 1) == []


# The driver


class Servers:
    """Stands for Spark, for its stream threads, one on each executor, and for what they answer."""

    context = None
    secret = b"secret"

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.there = [A, B, C]
        self.lags: dict[tuple[int, str], int | None] = {}
        self.ended: list[tuple[int, str]] = []
        self.lost: set[str] = set()
        #: Executors without a thread, and those where one was asked for.
        self.bare: set[ExecutorId] = set()
        self.added: list[ExecutorId] = []
        #: By executor: its tags, as its thread says them; None: it has said nothing yet.
        self.zones: dict[str, str | None] = {}
        self.seats: dict[Any, Endpoint] = {}
        monkeypatch.setattr(module, "ask", self._ask)
        monkeypatch.setattr(module, "_LOOK_S", 3600.0)

    # What the driver knows of its threads

    def on(self, executor: ExecutorId) -> Endpoint | None:
        if executor in self.bare:
            return None
        return Endpoint(f"thread-{executor.name}", executor.host, 1, executor.name)

    def add(self, executor: ExecutorId) -> None:
        self.added.append(executor)

    def tags(self) -> dict[str, dict[str, str]]:
        found = ((each.name, self.zones.get(each.name, "")) for each in self.there)
        return {name: {"zone": zone} if zone else {} for name, zone in found if zone is not None}

    def seat(self, seat: Any, endpoint: Endpoint) -> None:
        self.seats[seat] = endpoint

    def vacate(self, seats: Any) -> None:
        for seat in seats:
            del self.seats[seat]

    # What the threads answer

    def _ask(
        self, endpoint: Endpoint, secret: bytes, question: Any, waiting: Waiting
    ) -> tuple[bool, list[CopyLag]] | None:
        slot = question.standby.number
        if endpoint.executor in self.lost:
            raise StreamsError("worker-lost", "gone")
        match question:
            case StandBy():
                assert waiting.load is not None
                assert waiting.load() == b"application"
                self.lags[slot, endpoint.executor] = None
            case StandDown():
                self.ended.append((slot, endpoint.executor))
            case AskStandby():
                lag = self.lags[slot, endpoint.executor]
                copy = CopyLag("counts", TaskId(0, slot), "changelog", 100 - (lag or 0), 100)
                return lag is not None, [copy]
        return None


class Listener:
    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def on_update_start(self, *given: Any) -> None:
        self.told.append(("start", *given))

    def on_batch_loaded(self, *given: Any) -> None:
        self.told.append(("loaded", *given))

    def on_update_suspended(self, *given: Any) -> None:
        self.told.append(("suspended", *given))


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> Servers:
    return Servers(monkeypatch)


def _standbys(
    servers: Servers, owners: dict[int, ExecutorId], wanted: int = 1, **given: Any
) -> Standbys:
    placement = Placement(cast(Any, servers), "app")
    for slot, executor in owners.items():
        placement.endpoints[slot] = Endpoint(f"o-{slot}", executor.host, 1, executor.name)
    return Standbys(
        cast(Any, _Named()), b"application", placement, wanted, lambda: len(owners),
        lambda context: list(servers.there), **given,
    )  # fmt: skip


class _Named:
    id = "app"
    key = "app-1"


def test_copies_go_to_other_executors_evenly(servers: Servers) -> None:
    standbys = _standbys(servers, {0: A, 1: B, 2: C})
    standbys._look()
    assert sorted(slot for slot, _ in standbys._copies) == [0, 1, 2]
    assert len({executor for _, executor in standbys._copies}) > 1
    for slot, executor in standbys._copies:
        assert executor != [A, B, C][slot]
    standbys.close()


def test_another_host_comes_before_another_executor_of_the_same_host(servers: Servers) -> None:
    near = ExecutorId(A.host, "a2")
    servers.there = [A, near, B]
    standbys = _standbys(servers, {0: A})
    standbys._look()
    assert [executor for _, executor in standbys._copies] == [B]
    standbys.close()


def test_one_executor_keeps_no_copies(servers: Servers) -> None:
    servers.there = [A]
    standbys = _standbys(servers, {0: A})
    standbys._look()
    assert standbys.lags() == {}
    standbys.close()


def test_a_lost_slot_starts_at_its_nearest_copy(servers: Servers) -> None:
    standbys = _standbys(servers, {0: A}, wanted=2)
    standbys._look()
    assert standbys._placement.standbys == {}, "a copy that has not caught up is no place to go"
    servers.lags = {(0, "b"): 50, (0, "c"): 5}
    standbys._look()
    assert standbys._placement.standbys[0].executor == "c"
    assert standbys.lags() == {0: 5}
    standbys.close()
    assert sorted(servers.ended) == [(0, "b"), (0, "c")]


def test_a_copy_on_a_lost_executor_is_made_elsewhere(servers: Servers) -> None:
    standbys = _standbys(servers, {0: A})
    standbys._look()
    servers.there, servers.lost = [A, C], {"b"}
    standbys._look()
    assert [executor for _, executor in standbys._copies] == [C]
    standbys.close()


def test_a_slot_that_has_moved_to_its_copy_gets_another_one(servers: Servers) -> None:
    standbys = _standbys(servers, {0: A})
    standbys.listener = listener = cast(Any, Listener())
    standbys._look()
    servers.lags[0, "b"] = 10
    standbys._look()
    servers.lags[0, "b"] = 0
    standbys._look()
    standbys._placement.endpoints[0] = Endpoint("new", B.host, 1, B.name)
    servers.there = [B, C]
    standbys._look()
    assert [executor for _, executor in standbys._copies] == [C]
    assert [told[0] for told in listener.told] == ["start", "loaded", "suspended"]
    assert listener.told[-1][-1] is SuspendReason.PROMOTED
    standbys.close()


def test_another_number_of_slots_makes_all_copies_anew(servers: Servers) -> None:
    owners = {0: A}
    standbys = _standbys(servers, owners)
    standbys._look()
    owners[1] = B
    standbys._placement.endpoints[1] = Endpoint("o-1", B.host, 1, B.name)
    standbys._look()
    assert servers.ended == [(0, "b")]
    assert sorted(slot for slot, _ in standbys._copies) == [0, 1]
    standbys.close()


def test_a_slot_that_is_to_move_is_warmed_up_where_there_is_least_to_do(servers: Servers) -> None:
    standbys = _standbys(servers, {0: A, 1: A, 2: B}, wanted=0)
    standbys.warm_up(0, most=1)
    standbys.warm_up(1, most=1)
    standbys._look()
    assert list(standbys._copies) == [(0, C)]
    assert not standbys.is_warm(0, 10)
    servers.lags[0, "c"] = 11
    standbys._look()
    assert not standbys.is_warm(0, 10)
    servers.lags[0, "c"] = 10
    standbys._look()
    assert standbys.is_warm(0, 10)
    # It has moved: the copy is the slot itself now, and another one may be warmed up.
    standbys._placement.endpoints[0] = Endpoint("new", C.host, 1, C.name)
    standbys._look()
    assert not standbys._copies
    standbys.warm_up(1, most=1)
    standbys._look()
    assert [slot for slot, _ in standbys._copies] == [1]
    standbys.close()


# Threads


def test_an_executor_without_a_thread_gets_one_that_keeps_copies(servers: Servers) -> None:
    """Slots may all be elsewhere; until it is there, nothing is started on that executor."""
    servers.there, servers.bare = [A, B], {B}
    standbys = _standbys(servers, {0: A})
    standbys._look()
    assert set(servers.added) == {B}
    assert standbys._copies == {}
    servers.bare = set()
    standbys._look()
    assert list(standbys._copies) == [(0, B)]
    standbys.close()


def test_without_copies_no_thread_is_started_for_them(servers: Servers) -> None:
    """Copies that warm up for a move come to executors that have threads already."""
    servers.bare = {B, C}
    standbys = _standbys(servers, {0: A}, wanted=0)
    standbys._look()
    assert servers.added == []
    standbys.close()


def test_a_thread_that_keeps_copies_is_not_idle(servers: Servers) -> None:
    """It would be ended when the application wants fewer threads."""
    standbys = _standbys(servers, {0: A})
    standbys._look()
    (seat,) = servers.seats
    assert (seat.application_id, seat.number, seat.copy_at) == ("app", 0, "thread-b")
    standbys.close()
    assert servers.seats == {}


def test_a_copy_ends_before_its_slot_starts_beside_it(servers: Servers) -> None:
    """Folders belong to hosts, so another thread of the host takes the copy over."""
    standbys = _standbys(servers, {0: A, 1: A})
    standbys._look()
    [(_, executor)] = [each for each in standbys._copies if each[0] == 0]
    placement = standbys._placement
    assert placement.make_way is not None
    beside = Endpoint("thread-beside", executor.host, 1, executor.name)
    placement.make_way(1, Endpoint("elsewhere", "far", 1, "far"))
    assert servers.ended == []
    placement.make_way(0, beside)
    assert servers.ended == [(0, executor.name)]
    standbys.close()


def test_a_slot_that_starts_in_the_thread_of_its_copy_needs_no_word(servers: Servers) -> None:
    """That thread ends the copy itself, before it opens the same folders."""
    standbys = _standbys(servers, {0: A})
    standbys._look()
    [(_, executor)] = standbys._copies
    thread = servers.on(executor)
    assert thread is not None
    assert standbys._placement.make_way is not None
    standbys._placement.make_way(0, thread)
    assert servers.ended == []
    standbys.close()


# Tags


def _zoned(servers: Servers, owners: dict[int, ExecutorId], **zones: str | None) -> Standbys:
    servers.zones = zones
    return _standbys(servers, owners, listed_tags=["zone"])


def test_a_copy_goes_to_another_rack(servers: Servers) -> None:
    standbys = _zoned(servers, {0: A}, a="north", b="north", c="south")
    standbys._look()
    assert list(standbys._copies) == [(0, C)]
    standbys.close()


def test_a_copy_waits_until_the_tags_are_known(servers: Servers) -> None:
    """Else it would be made twice."""
    servers.there = [A, C]
    standbys = _zoned(servers, {0: A}, a="north", b="north", c=None)
    standbys._look()
    assert not standbys._copies
    servers.zones["c"] = "south"
    standbys._look()
    assert list(standbys._copies) == [(0, C)]
    standbys.close()


def test_a_copy_moves_to_another_rack_once_it_has_caught_up_there(servers: Servers) -> None:
    """Until then the slot keeps the copy that it has."""
    servers.there = [A, B]
    standbys = _zoned(servers, {0: A}, a="north", b="north", c="south")
    standbys._look()
    servers.lags[0, "b"] = 0
    servers.there = [A, B, C]
    standbys._look()
    standbys._look()
    assert list(standbys._copies) == [(0, B), (0, C)]
    assert servers.ended == []
    servers.lags[0, "c"] = 7
    standbys._look()
    assert list(standbys._copies) == [(0, C)]
    assert servers.ended == [(0, "b")]
    standbys._look()
    assert list(standbys._copies) == [(0, C)]
    standbys.close()


def test_only_so_many_copies_move_at_a_time(servers: Servers) -> None:
    servers.there = [A, B]
    standbys = _zoned(servers, dict.fromkeys(range(3), A), a="north", b="north", c="south")
    standbys._look()
    servers.there = [A, B, C]
    standbys._look()
    assert [slot for slot, executor in standbys._copies if executor == C] == [0, 1]
    standbys.close()


def test_a_slot_that_is_to_move_keeps_away_from_its_copies(servers: Servers) -> None:
    """After the move the copy would have to move as well."""
    standbys = _zoned(servers, {0: A, 1: A}, a="north", b="south", c="north")
    standbys._look()
    assert standbys._copies_of(0) == [B]
    standbys.warm_up(0, most=1)
    assert standbys._warm_ups == {0: C}
    standbys.close()


def test_what_is_missing_for_racks_is_told_once(
    servers: Servers, caplog: pytest.LogCaptureFixture
) -> None:
    servers.there = [A, B]
    standbys = _zoned(servers, {0: A, 1: B}, a="north", b="north")
    for _ in range(4):
        standbys._look()
    told = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(told) == 1
    assert "2 different values of tag 'zone' are needed, executors have 'north'" in told[0]
    standbys.close()


def test_a_failure_of_spark_is_only_a_warning(servers: Servers) -> None:
    standbys = _standbys(servers, {0: A})
    is_asked = threading.Event()

    def failing(context: Any) -> list[ExecutorId]:
        is_asked.set()
        raise RuntimeError("no JVM")

    standbys._executors = failing
    standbys._closing = cast(Any, _Twice())
    standbys._run()
    assert is_asked.is_set()
    standbys._copies.clear()


class _Twice:
    """An event that is set when it is waited for the second time."""

    def __init__(self) -> None:
        self._count = 0

    def wait(self, _: float) -> bool:
        self._count += 1
        return self._count > 1

    def is_set(self) -> bool:
        return False
