"""What an application tells its server while it leads, and while it does not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import penstock as ps
from penstock.config import StreamsConfig
from penstock.errors import ConfigError, StreamsError, UnknownStoreError
from penstock.runtime.spark.driver import serving
from penstock.runtime.spark.driver.application_run import without_secrets
from penstock.runtime.spark.driver.serving import ServedStreams, start_server
from penstock.runtime.spark.exchange.plan import make_plan
from penstock.runtime.states import State
from penstock.serving.application import NotAvailableError, Role, Row
from penstock.serving.question import KeyQuestion
from penstock.state.spec import StoreKind

CONFIG = StreamsConfig({"application.id": "app", "application.server": "localhost:0"})


def topology() -> ps.Topology:
    builder = ps.StreamsBuilder()
    left, right = builder.stream("left"), builder.stream("right")
    left.group_by_key().count("counts")
    windows = ps.JoinWindows.of_time_difference_with_no_grace("1s")
    left.join(right, lambda a, b: a + b, windows).to("out")
    builder.global_table("names", materialized="names")
    return builder.build()


class Served:
    """A ``ServedStreams`` whose run is made by hand."""

    def __init__(self) -> None:
        self.topology = topology()
        self.state, self.error, self.waiting_for = State.RUNNING, None, None
        graph = self.topology.graph
        plan = make_plan(graph, {"left": 3, "right": 3, "names": 1, "out": 1})
        self.runner: Any = SimpleNamespace(
            slots=2,
            secret=b"",
            application=SimpleNamespace(key="app-1", plan=plan),
            placement=SimpleNamespace(endpoints={0: "slot-0", 1: "slot-1"}),
            progress=SimpleNamespace(position={("left", 0): 5, ("left", 1): 7}),
        )
        self.run: Any = SimpleNamespace(
            application=self.runner.application,
            runner=self.runner,
            config=CONFIG,
            last_lag={("left", 0): 2},
        )
        streams: Any = self
        self.served = ServedStreams(streams, CONFIG, lambda: self.run)

    def restoring(self) -> list[Any]:
        return []


def test_stores_that_can_be_asked_are_listed() -> None:
    stores = Served().served.stores()
    assert set(stores) == {"counts", "names"}
    counts, names = stores["counts"], stores["names"]
    assert (counts.partitions, counts.kind) == (3, StoreKind.TIMESTAMPED_KEY_VALUE)
    assert counts.changelog == "app-counts-changelog"
    assert (names.is_global, names.changelog) == (True, "names")


def test_the_leader_owns_everything_and_others_nothing() -> None:
    made = Served()
    owner = made.served.location("counts", 2).owner
    assert owner is not None
    assert (owner.id, owner.address) == (made.served.instance_id, "localhost:0")
    assert owner.owned["counts"] == (0, 1, 2)
    made.run.runner = None
    assert made.served.location("counts", 2).owner is None
    assert not made.served.instances()[0].is_leader
    with pytest.raises(NotAvailableError, match="does not lead"):
        made.served.read("counts", 0, KeyQuestion("a"))


def test_before_the_start_nothing_is_known() -> None:
    made = Served()
    made.run = None
    with pytest.raises(NotAvailableError, match="not-running"):
        made.served.stores()


def test_a_question_goes_to_the_slot_of_its_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def ask(endpoint: str, secret: bytes, question: tuple[Any, ...], silence_s: float) -> Any:
        asked.append((endpoint, question[2:5]))
        return [Row("a", 1)], False, {1: 42}

    monkeypatch.setattr(serving, "ask", ask)
    made = Served()
    answer = made.served.read("counts", 1, KeyQuestion("a"))
    assert asked == [("slot-1", (1, "counts", 1))]
    assert answer.rows == [Row("a", 1)]
    assert answer.source.role is Role.OWNER
    assert answer.position == {"left": {0: 5, 1: 7}, "app-counts-changelog": {1: 42}}
    bound = {"left": {1: 8}}
    with pytest.raises(NotAvailableError, match="up to 7, not 8"):
        made.served.read("counts", 1, KeyQuestion("a"), bound=bound)
    assert made.served.read("counts", 1, KeyQuestion("a"), bound={"left": {1: 7}}).rows
    with pytest.raises(UnknownStoreError):
        made.served.read("nothing", 1, KeyQuestion("a"))


def test_a_slot_that_is_being_started_is_not_an_error_of_the_caller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = Served()
    made.runner.placement.endpoints.clear()
    with pytest.raises(NotAvailableError, match="is being started"):
        made.served.read("counts", 1, KeyQuestion("a"))

    def lost(*arguments: Any, **more: Any) -> Any:
        raise StreamsError("worker-lost", "gone")

    monkeypatch.setattr(serving, "ask", lost)
    made.runner.placement.endpoints[1] = "slot-1"
    with pytest.raises(NotAvailableError, match="is being started"):
        made.served.read("counts", 1, KeyQuestion("a"))


@pytest.mark.parametrize(
    ("state", "waiting_for", "expected"),
    [
        (State.RUNNING, None, (True, True)),
        (State.RUNNING, "a broker", (True, False)),
        (State.REBALANCING, None, (True, False)),
        (State.PENDING_ERROR, None, (False, False)),
        (State.ERROR, None, (False, False)),
    ],
)
def test_health_follows_the_state(
    state: State, waiting_for: Any, expected: tuple[bool, bool]
) -> None:
    made = Served()
    made.state, made.waiting_for = state, waiting_for
    health = made.served.health()
    assert (health.is_alive, health.is_ready) == expected
    assert health.lag == {"left": {0: 2}}


def test_no_server_without_application_server_and_none_by_accident() -> None:
    streams: Any = None
    assert start_server(streams, StreamsConfig({"application.id": "a"}), lambda: None) is None
    config = StreamsConfig({"application.id": "a", "application.server": "0.0.0.0:0"})
    with pytest.raises(ConfigError, match="open-server"):
        start_server(streams, config, lambda: None)


def test_secrets_of_the_server_do_not_travel_to_workers() -> None:
    config = StreamsConfig({"application.id": "a", "penstock.server.tokens": "hunter2"})
    assert without_secrets(config) == {"application.id": "a"}
