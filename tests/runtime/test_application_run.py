"""The life of a run: a start that is tried again, and one instance that ends all of them."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import penstock as ps
from penstock.config import StreamsConfig
from penstock.errors import PenstockError, StreamsError
from penstock.kafka.admin import Admin
from penstock.kernel.clocks import Clocks
from penstock.model.task_id import TaskId
from penstock.runtime.spark.driver.application_run import ApplicationRun, check_shut_down
from penstock.runtime.spark.driver.changes.renumbering import topology_fingerprint
from penstock.runtime.spark.driver.instances.beacon import Life
from penstock.runtime.spark.driver.life.checks import Checks
from penstock.runtime.spark.driver.life.positions import Positions
from penstock.runtime.spark.driver.life.prepared import Prepared
from penstock.runtime.spark.driver.topics import resolve_patterns
from penstock.runtime.spark.exchange.batch_log import BatchLog, LogState, Marker
from penstock.runtime.spark.exchange.plan import make_plan


class SharedLog:
    """A batch log that instances write to and follow, in memory."""

    def __init__(self) -> None:
        self.state = LogState()

    def register(self, instance: str) -> None:
        self.state.instances[instance] = cast("Any", None)

    def note_shut_down(self, time_ms: int) -> None:
        self.state.apply("shut-down", str(time_ms).encode())


def standing_by(log: SharedLog, name: str, folder: Path) -> tuple[ApplicationRun, Prepared]:
    """An instance whose leader is alive, so that its turn never comes."""
    builder = ps.StreamsBuilder()
    builder.stream("in").to("out")
    settings = {
        "application.id": "app",
        "bootstrap.servers": "127.0.0.1:1",
        "state.dir": str(folder / name),
    }
    run = ApplicationRun(builder.build().graph, StreamsConfig(settings), 1, b"secret")
    leads = threading.Event()
    run.member = cast(
        "Any",
        SimpleNamespace(
            leads=leads, has_joined=leads, raise_failure=lambda: None, stand_down=lambda: None
        ),
    )
    follows = SimpleNamespace(
        id=name, log=log.state, life_of_leader=lambda: Life.LEADS, is_next=lambda: False,
        instances={},
    )  # fmt: skip
    run.instance = cast("Any", follows)
    log.register(name)
    run._log = cast("BatchLog", log)
    return run, Prepared(plan=cast("Any", None), instance=run.instance, member=run.member)


def test_a_start_without_a_broker_can_be_tried_again(tmp_path: Path) -> None:
    """The second attempt waits for the broker, too, and not for the state that the first has."""
    builder = ps.StreamsBuilder()
    builder.stream("in").to("out")
    settings = {
        "application.id": "app",
        "bootstrap.servers": "127.0.0.1:1",
        "state.dir": str(tmp_path),
        "default.api.timeout.ms": 200,
    }
    run = ApplicationRun(builder.build().graph, StreamsConfig(settings), 1, b"secret")
    try:
        for _ in range(2):
            with pytest.raises(PenstockError) as told:
                run.prepare()
            assert told.value.code == "broker-unreachable"
    finally:
        run.stop(patience_s=0)


def test_ending_the_application_ends_instances_that_stand_by(tmp_path: Path) -> None:
    """They need not wait for their turn, and one that is started later is not concerned."""
    log = SharedLog()
    first, second = (standing_by(log, name, tmp_path) for name in "ab")
    ended: list[StreamsError] = []

    def wait() -> None:
        run, prepared = second
        with pytest.raises(StreamsError, match="application-shut-down") as told:
            run.wait_to_lead(prepared, threading.Event())
        ended.append(told.value)

    waiting = threading.Thread(target=wait)
    waiting.start()
    first[0].shut_down_application()
    waiting.join(10)
    assert [error.code for error in ended] == ["application-shut-down"]
    _, prepared = standing_by(log, "c", tmp_path)
    check_shut_down(prepared.instance, log.state)


def test_a_topic_of_a_pattern_may_come_while_the_application_is_down(tmp_path: Path) -> None:
    """The program is the same: its tasks go on where their markers are."""
    builder = ps.StreamsBuilder()
    builder.stream(re.compile("notes-.")).to("out")
    settings = {"application.id": "app", "bootstrap.servers": "127.0.0.1:1"}
    graph, config = builder.build().graph, StreamsConfig(settings | {"state.dir": str(tmp_path)})
    noted: list[str] = []
    moved: list[Any] = []

    def note(fingerprint: str, markers: Any, plan: bytes) -> None:
        noted.append(fingerprint)
        moved.append(markers)

    def settle(state: LogState, **sizes: int) -> None:
        existing = {f"notes-{name}": cast("Any", None) for name in sizes}
        resolved = resolve_patterns(graph, existing)
        plan = make_plan(resolved, {f"notes-{name}": size for name, size in sizes.items()})
        admin = cast("Admin", None)
        batch_log = cast("BatchLog", SimpleNamespace(set_topology=note))
        Checks(graph, config, admin).settle(batch_log, state, Positions(plan, config, admin))

    settle(LogState(), a=1)
    markers = {(TaskId(0, 0), 0): Marker(5, Clocks(), {("notes-a", 0): 3})}
    left = LogState(fingerprint=noted[0], markers=markers)
    settle(left, a=1, b=4)
    resolved = resolve_patterns(graph, {"notes-a": cast("Any", None)})
    left.fingerprint = topology_fingerprint(resolved)
    settle(left, a=1)
    assert set(noted) == {noted[0]}
    assert set(moved) == {None}


# Where a driver goes on

ZERO, WORDS = ("in", 0), ("words-repartition", 0)


def taking_over(**group: int) -> Positions:
    """Return where a driver goes on; the group has these offsets, by name of the topic."""
    builder = ps.StreamsBuilder()
    lines = builder.stream("in").group_by(lambda key, value: value, ps.Grouped(name="words"))
    lines.count("counts")
    graph = builder.build().graph
    settings = {"application.id": "app", "bootstrap.servers": "127.0.0.1:1"}
    config = StreamsConfig(settings)
    committed = {(name.replace("_", "-"), 0): at for name, at in group.items()}
    admin = SimpleNamespace(group_offsets=lambda application_id: committed)
    return Positions(make_plan(graph, {"in": 1}), config, cast("Any", admin))


def state_of(*, began: int, at: int, skips: dict[int, int] | None = None) -> LogState:
    """Return a log in which tasks have committed batch 5 of both topics."""
    part_skips = {} if skips is None else {WORDS: skips}
    return LogState(
        markers={
            (TaskId(0, 0), 0): Marker(5, Clocks(), {ZERO: at}, {}, {ZERO: began}),
            (TaskId(1, 0), 1): Marker(5, Clocks(), {WORDS: at}, part_skips, {WORDS: began}),
        }
    )


def test_a_batch_counts_whose_offsets_the_driver_could_not_commit_any_more() -> None:
    """Without transactions, the slot writes its marker a moment before the driver commits."""
    at = taking_over(**{"in": 3, "app_words_repartition": 3})
    assert at.known(state_of(began=3, at=9)) == {ZERO: 9, WORDS: 9}


@pytest.mark.parametrize("group", [9, 4, 2, 90])
def test_offsets_of_the_group_count_if_they_are_not_where_the_batch_began(group: int) -> None:
    """They were committed after it, or somebody has set them: a tool, to read records again."""
    at = taking_over(**{"in": group, "app_words_repartition": group})
    assert at.known(state_of(began=3, at=9)) == {ZERO: group, WORDS: group}


def test_markers_count_where_the_group_has_forgotten_its_offsets() -> None:
    """Kafka deletes them after a while without members."""
    at = taking_over()
    assert at.known(state_of(began=3, at=9)) == {ZERO: 9, WORDS: 9}


def test_an_application_that_never_ran_has_no_offsets() -> None:
    at = taking_over(other=4)
    assert at.known(LogState()) == {}


@pytest.mark.parametrize(("group", "skips"), [(3, {WORDS: {9: 2}}), (4, {})])
def test_the_rest_of_a_bundle_is_skipped_only_where_the_marker_counts(
    group: int, skips: Any
) -> None:
    """Skips belong to the position of the same marker."""
    at = taking_over(**{"in": 3, "app_words_repartition": group})
    state = state_of(began=3, at=9, skips={9: 2})
    found = at.internal(state, at.known(state))
    assert found.skips == skips
