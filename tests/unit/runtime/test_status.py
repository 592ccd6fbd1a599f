"""What a running application says of itself. Exercises ``driver.observing.status``."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from penstock.errors import StreamsError, UnavailableError
from penstock.model.task_id import TaskId
from penstock.runtime.spark.driver.observing.meter import Meter
from penstock.runtime.spark.driver.observing.progress import Progress
from penstock.runtime.spark.exchange.measures import TaskMeasures, ages
from penstock.runtime.spark.exchange.stage_request import Report, Restore
from penstock.runtime.states import State
from penstock.serving.status.values import CopyRole
from tests.unit.runtime.test_serving import Served

PART = ("in", 0)


def leading(made: Served) -> Served:
    """Give a run by hand what a status reads of one that processes."""
    meter = Meter(30.0, 2)
    report = Report(
        task=TaskId(0, 1), stage=0, slot=1, records=40, seconds=0.25, consumed={"in": 40},
        ages={"in": a} if (a := ages([900] * 40, 1_000)) else {},
    )  # fmt: skip
    meter.note(7, [report], 0.5, 0.25)
    made.runner.meter = meter
    made.runner.progress = Progress(batches=1, records=40, sent=3)
    made.runner.progress.dropped.update({("filter", "null-key"): 2})
    made.runner.placement.endpoints = {0: SimpleNamespace(host="h", executor="1")}
    made.runner.measures = lambda: [
        TaskMeasures(task=TaskId(0, 1), slot=1, databases={"counts": {"estimate-num-keys": 9}})
    ]
    made.run.application_id = "app"
    made.run.lag = lambda: {PART: 5}
    made.run.last_lag = {PART: 8}
    return made


def test_the_leader_says_what_tasks_nodes_and_stores_do() -> None:
    """Totals, so that whoever samples has rates over any time."""
    status = leading(Served()).served.status(is_watched=True)
    assert (status.state, status.records, status.commits) == ("RUNNING", 40, 1)
    [task] = status.tasks
    assert (task.id, task.thread, task.busy_ms) == ("0_1", "app-StreamThread-2", 250.0)
    assert [(each.name, each.is_alive) for each in status.threads] == [
        ("app-StreamThread-1", True),
        ("app-StreamThread-2", False),
    ]
    assert status.nodes[0].dropped == {"null-key": 2}
    assert [(each.name, each.partition, each.entries) for each in status.stores] == [
        ("counts", 1, 9)
    ]
    [commit] = status.recent
    assert (commit.number, commit.took_ms, commit.threads) == (7, 500.0, {"2": 250.0})
    assert round(status.latencies.quantile(0.5) or 0) in range(90, 112)


def test_kafka_and_the_slots_are_asked_only_while_somebody_watches() -> None:
    """An application that nobody looks at does nothing for those who might."""
    made = leading(Served())
    assert made.served.status(is_watched=True).lag == {"in": {0: 5}}
    made.runner.measures = None
    assert made.served.status(is_watched=False).lag == {"in": {0: 8}}


def test_a_broker_that_does_not_answer_leaves_the_last_lag() -> None:
    """The page still says what it waits for, and what to do."""
    made = leading(Served())

    def lag() -> Any:
        raise UnavailableError("kafka-unreachable", "no answer")

    made.run.lag = lag
    made.waiting_for = "no answer from Kafka"
    made.runner.progress.failures.note(
        StreamsError("kafka-unreachable", "no answer from Kafka", "see whether it runs")
    )
    status = made.served.status(is_watched=True)
    assert status.lag == {"in": {0: 8}}
    assert status.waiting is not None
    assert status.waiting.fix == "see whether it runs"
    assert [each.code for each in status.failures] == ["kafka-unreachable"]


def test_an_instance_that_stands_by_says_how_far_its_copies_are() -> None:
    """It processes nothing, and does not look as if it had failed."""
    made = Served()
    made.stand_by()
    status = made.served.status(is_watched=True)
    assert (status.is_leader, status.records) == (False, 0)
    assert [(each.store, each.role, each.lag) for each in status.copies] == [
        ("counts", CopyRole.STANDBY, 5)
    ]


def test_an_end_with_an_error_has_its_code_and_fix() -> None:
    """And does not wait for anything any more."""
    made = leading(Served())
    made.state, made.waiting_for = State.ERROR, "whatever"  # type: ignore[assignment]
    made.error = StreamsError("user-function", "node 'f' raised", "handle it", "app.py:3")  # type: ignore[assignment]
    status = made.served.status(is_watched=True)
    assert status.error is not None
    assert (status.error.site, status.waiting, status.is_alive) == ("app.py:3", None, False)


def test_restores_that_are_complete_are_left_out() -> None:
    """They are listed while they run."""
    made = leading(Served())
    made.restoring = lambda: [  # type: ignore[method-assign]
        Restore("a", "t", 0, 0, 10, 4, 4), Restore("b", "t", 0, 0, 10, 10, 10)
    ]  # fmt: skip
    assert [each.store for each in made.served.status(is_watched=True).restoring] == ["a"]


def test_the_program_is_planned_once() -> None:
    """Its code and its plan do not change while it runs."""
    served = Served().served
    assert served.program() is served.program()
    assert any(site.startswith("test_serving.py") for site in served.program().sources)
