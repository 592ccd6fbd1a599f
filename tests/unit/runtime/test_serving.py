"""What an application returns to its HTTP server, as the leader and as another instance."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import penstock as ps
from penstock.config import StreamsConfig
from penstock.errors import ConfigError, StreamsError, UnknownStoreError
from penstock.model.task_id import TaskId
from penstock.runtime.spark.driver.application_run import for_workers
from penstock.runtime.spark.driver.instances.beacon import Life
from penstock.runtime.spark.driver.instances.pulse import Pulse
from penstock.runtime.spark.driver.observing.serving import ServedStreams, start_server
from penstock.runtime.spark.exchange.batch_log import Cut, InstanceRecord
from penstock.runtime.spark.exchange.channel import Waiting
from penstock.runtime.spark.exchange.plan import make_plan
from penstock.runtime.spark.exchange.questions import ReadStore
from penstock.runtime.spark.exchange.stage_request import Restore
from penstock.runtime.spark.replica.replica import CopyLag
from penstock.runtime.states import State
from penstock.serving.application import NotAvailableError, Role, Row
from penstock.serving.question import KeyQuestion, Question
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


def record(name: str, **given: Any) -> InstanceRecord:
    return InstanceRecord(
        id=name, pid=1, host="h", port=1, server=f"{name}:80", started_ms=0, **given
    )


class Served:
    """A ``ServedStreams`` whose run is made by hand: it leads, and "two" stands by."""

    def __init__(self) -> None:
        self.topology = topology()
        self.state, self.error, self.waiting_for = State.RUNNING, None, None
        plan = make_plan(self.topology.graph, {"left": 3, "right": 3, "names": 1, "out": 1})
        self.runner: Any = SimpleNamespace(
            slots=2,
            used_slots=2,
            questions=SimpleNamespace(),
            application=SimpleNamespace(key="app-1", plan=plan),
            placement=SimpleNamespace(endpoints={0: "slot-0", 1: "slot-1"}),
            progress=SimpleNamespace(
                position={("left", 0): 9, ("left", 1): 9},
                busy_with=None,
                held_back=None,
                others_go_on=False,
            ),
            contained=lambda store: {("left", 0): 5, ("left", 1): 7},
        )
        self.instance: Any = SimpleNamespace(
            id="one",
            leader="one",
            instances={"one": record("one"), "two": record("two", has_copies=True)},
            record=record("one"),
            life_of_leader=lambda: Life.LEADS,
            copies=None,
            cut=None,
        )
        self.run: Any = SimpleNamespace(
            plan=plan,
            runner=self.runner,
            leading=SimpleNamespace(runner=self.runner, lag=dict),
            instance=self.instance,
            member=SimpleNamespace(is_leading=True),
            config=CONFIG,
            last_lag={("left", 0): 2},
        )
        streams: Any = self
        self.served = ServedStreams(streams, CONFIG, lambda: self.run)

    def stand_by(self) -> None:
        """Let "two" lead, and keep copies here that are 5 changes behind."""
        self.run.runner = self.run.leading = None
        self.instance.leader = "two"
        self.instance.instances = {
            "one": record("one", has_copies=True),
            "two": record("two", has_copies=True),
        }
        part = ("app-counts-changelog", 1)
        cut = Cut(1, 8, {part: 40}, positions={("left", 1): 7})
        self.instance.cut = Cut(1, 9, {part: 45}, positions={("left", 1): 9})
        self.instance.copies = Copies(cut)

    def restoring(self) -> list[Any]:
        return []


class Copies:
    def __init__(self, cut: Cut | None) -> None:
        self.cut = cut
        self.is_busy = False

    def answer(
        self, store: str, partition: int, question: Question, *, waits: bool
    ) -> tuple[list[Row], bool, Cut] | None:
        if self.cut is None:
            raise StreamsError("copy-catching-up", "it reads its changelog")
        if self.is_busy and not waits:
            return None
        return [Row("a", 1)], False, self.cut

    def restoring(self) -> list[Restore]:
        return [Restore("counts", "t", 1, 0, 10, 4, 4)]

    def lags(self) -> list[CopyLag]:
        return [CopyLag("counts", TaskId(0, 1), "t", 40, 45)]


def test_stores_that_can_be_asked_are_listed() -> None:
    stores = Served().served.stores()
    assert set(stores) == {"counts", "names"}
    counts, names = stores["counts"], stores["names"]
    assert (counts.partitions, counts.kind) == (3, StoreKind.TIMESTAMPED_KEY_VALUE)
    assert counts.changelog == "app-counts-changelog"
    assert (names.is_global, names.changelog) == (True, "names")


def test_the_leader_owns_everything_and_others_nothing() -> None:
    made = Served()
    location = made.served.location("counts", 2)
    assert location.owner is not None
    assert (location.owner.id, location.owner.address) == ("one", "one:80")
    assert location.owner.owned["counts"] == (0, 1, 2)
    assert [copy.id for copy in location.copies] == ["two"]
    made.stand_by()
    location = made.served.location("counts", 2)
    assert location.owner is not None
    assert location.owner.id == "two"
    assert [copy.id for copy in location.copies] == ["one"]
    assert {each.id: each.is_leader for each in made.served.instances()} == {
        "one": False,
        "two": True,
    }
    with pytest.raises(NotAvailableError, match="does not lead"):
        made.served.read("counts", 0, KeyQuestion("a"))


def test_a_leader_that_is_gone_owns_nothing() -> None:
    made = Served()
    made.stand_by()
    made.instance.life_of_leader = lambda: Life.GONE
    location = made.served.location("counts", 2)
    assert location.owner is None
    assert [copy.id for copy in location.copies] == ["one"]


@pytest.mark.parametrize("lost", ["group", "generation"])
def test_a_leader_that_lost_the_lead_does_not_answer_as_the_owner(lost: str) -> None:
    made = Served()

    def ask(*arguments: Any, **more: Any) -> Any:
        if lost == "group":
            made.run.member.is_leading = False
        else:
            made.instance.leader = "two"
        return [Row("a", 1)], False, {1: 42}

    made.runner.questions.ask = ask
    with pytest.raises(NotAvailableError, match="does not lead"):
        made.served.read("counts", 1, KeyQuestion("a"))
    with pytest.raises(NotAvailableError, match="does not lead"):
        made.served.read("counts", 1, KeyQuestion("a"))


def test_copies_answer_only_who_accepts_staleness_and_say_how_stale() -> None:
    made = Served()
    made.stand_by()
    question = KeyQuestion("a")
    for answer in (
        made.served.read("counts", 1, question, allow_stale=True),
        made.served.read_now("counts", 1, question, allow_stale=True),
    ):
        assert answer is not None
        assert (answer.source.role, answer.source.instance) == (Role.STANDBY, "one")
        assert (answer.lag, answer.batch) == (5, 8)
        assert answer.position == {"left": {1: 7}, "app-counts-changelog": {1: 40}}
    assert made.served.read_now("counts", 1, question) is None
    with pytest.raises(NotAvailableError, match="up to 7, not 8"):
        made.served.read("counts", 1, question, allow_stale=True, bound={"left": {1: 8}})
    made.instance.copies.is_busy = True
    assert made.served.read_now("counts", 1, question, allow_stale=True) is None
    assert made.served.read("counts", 1, question, allow_stale=True).rows
    made.instance.copies.cut = None
    assert made.served.read_now("counts", 1, question, allow_stale=True) is None
    with pytest.raises(NotAvailableError, match="reads its changelog"):
        made.served.read("counts", 1, question, allow_stale=True)


def test_an_instance_that_stands_by_tells_how_far_its_copies_are() -> None:
    made = Served()
    made.stand_by()
    made.waiting_for = "another instance leads the application"  # type: ignore[assignment]
    health = made.served.health()
    assert (health.is_ready, health.is_leader, health.batch) == (True, False, 9)
    assert [each.position for each in health.restoring] == [4]
    lag = [m for m in made.served.metrics() if m.name == "standby-records-lag"]
    assert [(m.value, m.tags["store"]) for m in lag] == [(5, "counts")]
    made.instance.copies.cut = None
    assert not made.served.health().is_ready


def test_before_the_start_nothing_is_known() -> None:
    made = Served()
    made.run = None
    with pytest.raises(NotAvailableError, match="does not lead"):
        made.served.stores()
    assert made.served.location("counts", 0).owner is None


def test_a_question_goes_to_the_slot_of_its_partition() -> None:
    asked: list[Any] = []

    def ask(endpoint: str, question: ReadStore, waiting: Waiting) -> Any:
        asked.append((endpoint, (question.slot.number, question.store, question.partition)))
        return [Row("a", 1)], False, {1: 42}

    made = Served()
    made.runner.questions.ask = ask
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


def test_a_slot_that_is_being_started_is_not_an_error_of_the_caller() -> None:
    made = Served()
    made.runner.placement.endpoints.clear()
    with pytest.raises(NotAvailableError, match="is being started"):
        made.served.read("counts", 1, KeyQuestion("a"))

    def lost(*arguments: Any, **more: Any) -> Any:
        raise StreamsError("worker-lost", "gone")

    made.runner.questions.ask = lost
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


def test_an_application_of_which_a_part_waits_is_ready() -> None:
    """A probe that fails would take the other partitions away, too."""
    made = Served()
    made.waiting_for = "Kafka does not answer for 'left' partition 1"  # type: ignore[assignment]
    made.runner.progress.others_go_on = True
    assert made.served.health().is_ready


def test_no_server_without_application_server_and_none_by_accident() -> None:
    streams: Any = None
    assert start_server(streams, StreamsConfig({"application.id": "a"}), lambda: None) is None
    config = StreamsConfig({"application.id": "a", "application.server": "0.0.0.0:0"})
    with pytest.raises(ConfigError, match="open-server"):
        start_server(streams, config, lambda: None)


def test_secrets_of_the_server_do_not_travel_to_workers() -> None:
    config = StreamsConfig({"application.id": "a", "penstock.server.tokens": "hunter2"})
    assert for_workers(config) == {"application.id": "a"}


def test_an_instance_that_was_paused_claims_nothing() -> None:
    """Another one may lead since; the question may have waited for as long as the pause."""
    made = Served()
    times = iter([0.0, 100.0, 100.0])
    made.served._pulse = Pulse(lambda: next(times))
    assert made.served.location("counts", 2).owner is None
    with pytest.raises(NotAvailableError):
        made.served.read("counts", 1, KeyQuestion("a"))


def test_plan_letters_and_journeys_are_those_of_the_run() -> None:
    """Only a run knows the address of a private broker: another one is asked anew."""
    served = Served()
    assert "store 'counts'" in served.served.plan().by_name
    assert served.served.dead_letters() is None
    journeys = served.served.journeys()
    assert {"left", "right", "names"} <= set(journeys.sources())
    assert served.served.journeys() is journeys
    config = {"application.id": "app", "errors.dead.letter.queue.topic.name": "dead"}
    served.run = SimpleNamespace(**{**vars(served.run), "config": StreamsConfig(config)})
    letters = served.served.dead_letters()
    assert letters is not None
    assert letters.topic == "dead"
    assert served.served.dead_letters() is letters
    assert served.served.journeys() is not journeys
