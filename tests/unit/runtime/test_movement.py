"""When a slot moves: first its state is there, then it goes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from penstock.runtime.spark.driver.threads import movement as module
from penstock.runtime.spark.driver.threads.movement import Movement
from penstock.runtime.spark.exchange.stage_request import Endpoint

HERE = Endpoint("here", "host-1", 1, "1")
BESIDE = Endpoint("beside", "host-1", 2, "1")
FAR = Endpoint("far", "host-2", 3, "2")
WARM = Endpoint("warm", "host-3", 4, "3")


class Copies:
    """Stands for the standbys of an application."""

    made: list[Copies]

    def __init__(self, application: Any, pickled: bytes, placement: Any, wanted: int,
                 slots: Any, **options: Any) -> None:  # fmt: skip
        self.wanted, self.slots, self.options = wanted, slots, options
        self.warm: dict[int, int] = {}
        self.warmed: list[tuple[int, int]] = []
        self.is_closed = False
        self.made.append(self)

    def is_warm(self, slot: int, most_lag: int) -> bool:
        return slot in self.warm and self.warm[slot] <= most_lag

    def warm_up(self, slot: int, most: int) -> None:
        self.warmed.append((slot, most))

    def lags(self) -> dict[int, int | None]:
        return {**self.warm}

    def close(self) -> None:
        self.is_closed = True


class World:
    """A placement that wants slot 0 to move to a target, and an application."""

    def __init__(self, *, master: str = "spark://there", has_state: bool = True) -> None:
        self.found: tuple[int, Endpoint] | None = None
        self.endpoints = {0: HERE}
        self.standbys: dict[int, Endpoint] = {}
        context = SimpleNamespace(getConf=lambda: {"spark.master": master})
        self.threads = SimpleNamespace(context=context)
        self._stores = {"counts": SimpleNamespace(logging=has_state)}

    def to_move(self, slots: int) -> tuple[int, Endpoint] | None:
        return self.found

    def movement(self, **config: Any) -> Movement:
        named = {name.replace("_", "."): value for name, value in config.items()}
        graph = SimpleNamespace(stores=self._stores)
        application = SimpleNamespace(
            config={"application.id": "app", "max.warmup.replicas": 3, **named},
            plan=SimpleNamespace(graph=graph),
        )  # fmt: skip
        return Movement(cast("Any", application), b"", cast("Any", self))


@pytest.fixture(autouse=True)
def copies(monkeypatch: pytest.MonkeyPatch) -> list[Copies]:
    monkeypatch.setattr(Copies, "made", [], raising=False)
    monkeypatch.setattr(module, "Standbys", Copies)
    return Copies.made


def test_nothing_moves_while_all_is_even(copies: list[Copies]) -> None:
    assert World().movement().next_move(1) is None
    assert copies == []


@pytest.mark.parametrize(
    ("world", "target"),
    [(World(), BESIDE), (World(has_state=False), FAR), (World(master="local[4]"), BESIDE)],
    ids=["same host", "no state", "one machine"],
)
def test_a_slot_moves_at_once_where_nothing_has_to_be_read(
    world: World, target: Endpoint, copies: list[Copies]
) -> None:
    """Folders belong to hosts: threads of one host hand them over."""
    world.found = 0, target
    assert world.movement().next_move(1) == (0, target)
    assert copies == []


def test_a_slot_with_state_moves_when_a_copy_is_warm(copies: list[Copies]) -> None:
    """Until then it goes on where it is: a restore would hold up its partitions."""
    world = World()
    world.found = 0, FAR
    movement = world.movement(acceptable_recovery_lag=10)
    assert movement.next_move(1) is None
    (standbys,) = copies
    assert standbys.warmed == [(0, 3)]
    standbys.warm = {0: 11}
    assert movement.next_move(1) is None
    standbys.warm = {0: 10}
    world.standbys[0] = WARM
    assert movement.next_move(1) == (0, WARM)
    assert len(copies) == 1


def test_copies_are_kept_if_the_user_wants_them(copies: list[Copies]) -> None:
    """They follow the number of slots, and are made once."""
    movement = World().movement(num_standby_replicas=2)
    assert movement.standby_lags() == {}
    for slots in (2, 3):
        movement.keep_standbys(slots)
    (standbys,) = copies
    assert (standbys.wanted, standbys.slots()) == (2, 3)
    standbys.warm = {1: 5}
    assert movement.standby_lags() == {1: 5}
    movement.close()
    assert standbys.is_closed


@pytest.mark.parametrize(
    ("world", "config"),
    [
        (World(), {"num_standby_replicas": 0}),
        (World(has_state=False), {"num_standby_replicas": 1}),
        (World(master="local[4]"), {"num_standby_replicas": 1}),
        (World(), {"num_standby_replicas": 1, "penstock_slot_pool": "sql"}),
    ],
    ids=["not wanted", "no state", "one machine", "pool"],
)
def test_copies_without_a_use_are_not_kept(
    world: World, config: dict[str, Any], copies: list[Copies]
) -> None:
    movement = world.movement(**config)
    movement.keep_standbys(2)
    movement.close()
    assert copies == []
