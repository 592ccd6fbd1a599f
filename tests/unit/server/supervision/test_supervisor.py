"""Queries are started, watched and started again; what is shown is what they do.

Exercises ``supervision.error_class`` and ``supervision.query_work``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping

import pytest

from penstock.errors import ConfigError, PenstockError, SerializationError, StreamsError
from penstock.server.supervision.error_class import error_classifier
from penstock.server.supervision.supervisor import QuerySupervisor
from penstock.sql import SqlEngine
from penstock.sql.catalog.catalog import PersistentQuery
from penstock.topology.topology import Topology
from tests.unit.server.memory import Runtime

SCRIPT = """
    CREATE STREAM s (k INT KEY, v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=1);
    CREATE STREAM a AS SELECT * FROM s;
    CREATE STREAM b AS SELECT * FROM s;
"""
A, B = "CSAS_A_0", "CSAS_B_0"


class Supervised:
    """A supervisor that is stepped by hand, with a clock that only the test moves."""

    def __init__(
        self,
        settings: Mapping[str, str] | None = None,
        runtime: Runtime | None = None,
        *,
        patience_s: float = 30.0,
    ) -> None:
        self.now = 0.0
        self.runtime = runtime or Runtime()
        self.engine = SqlEngine()
        pauses = {
            "ksql.query.retry.backoff.initial.ms": "1000",
            "ksql.query.retry.backoff.max.ms": "4000",
        }
        self.supervisor = QuerySupervisor(
            self.runtime,
            {**pauses, **(settings or {})},
            clock=lambda: self.now,
            patience_s=patience_s,
        )

    def execute(self, sql: str) -> None:
        self.engine.execute(sql)
        self.supervisor.follow(self.engine.catalog)
        self.supervisor.step()

    def settle(self) -> None:
        """Look until nothing has changed for a while; a look waits only a moment for threads."""
        for _ in range(20):
            self.supervisor.step()
            time.sleep(0.01)

    def let_go(self) -> None:
        """Let queries end that hang, and look again."""
        assert isinstance(self.runtime, HangingRuntime)
        self.runtime.lets_go.set()
        self.settle()

    def after(self, seconds: float) -> None:
        self.now += seconds
        self.supervisor.step()


@pytest.fixture
def supervised() -> Supervised:
    made = Supervised()
    made.execute(SCRIPT)
    return made


def test_queries_of_the_catalog_run(supervised: Supervised) -> None:
    """What CREATE made is started, once."""
    supervised.after(1.0)
    assert sorted(supervised.runtime.started) == [A, B]
    assert supervised.supervisor.status(A) == "RUNNING"


class MeetingRuntime(Runtime):
    """Starts a query only while another one starts, and ends it only while another one ends."""

    def __init__(self) -> None:
        super().__init__()
        self._both = threading.Barrier(2, timeout=30)

    def start(self, query: PersistentQuery, topology: Topology) -> None:
        self._both.wait()
        super().start(query, topology)

    def stop(self, query_id: str) -> None:
        self._both.wait()
        super().stop(query_id)


def test_queries_start_side_by_side() -> None:
    """A server with many queries is back soon: each start mostly waits for Kafka."""
    made = Supervised(runtime=MeetingRuntime())
    made.execute(SCRIPT)
    assert sorted(made.runtime.started) == [A, B]


def test_queries_end_side_by_side() -> None:
    """After TERMINATE ALL the next query need not wait for one end after the other."""
    made = Supervised(runtime=MeetingRuntime())
    made.execute(SCRIPT)
    made.execute("TERMINATE ALL;")
    assert made.runtime.applications == {}


class HangingRuntime(Runtime):
    """Has queries that do not end before the test says so."""

    def __init__(self, *hanging: str) -> None:
        super().__init__()
        self.hanging = hanging
        self.lets_go = threading.Event()

    def stop(self, query_id: str) -> None:
        super().stop(query_id)
        if query_id in self.hanging:
            assert self.lets_go.wait(30)


@pytest.fixture
def hanging() -> Iterator[Supervised]:
    """Two queries, of which the first one hangs when it is ended."""
    runtime = HangingRuntime(A)
    made = Supervised(runtime=runtime, patience_s=0.05)
    made.execute(SCRIPT)
    made.settle()
    yield made
    runtime.lets_go.set()
    made.supervisor.close()


def test_query_that_does_not_end_holds_up_no_other(hanging: Supervised) -> None:
    """The function of a user may hang for ever: other queries begin, fail and end meanwhile."""
    hanging.execute(f"TERMINATE {A};")
    hanging.execute("CREATE STREAM c AS SELECT * FROM s;")
    hanging.runtime.applications[B].fail(StreamsError("broker-away", "no"))
    hanging.settle()
    assert list(hanging.runtime.applications) == ["CSAS_C_0"]
    hanging.after(1.0)
    hanging.settle()
    assert sorted(hanging.runtime.applications) == [B, "CSAS_C_0"]


def test_state_is_deleted_only_after_the_query_has_ended(hanging: Supervised) -> None:
    """It is still written; what belongs to other queries is not waited for."""
    hanging.execute(f"TERMINATE {A};")
    hanging.supervisor.forget(A)
    of_a = hanging.supervisor.afterwards(lambda: None, "topics", [A])
    of_b = hanging.supervisor.afterwards(lambda: None, "topics", [B])
    hanging.supervisor.step()
    assert hanging.runtime.forgotten == []
    assert (of_a.is_set(), of_b.is_set()) == (False, True)
    hanging.let_go()
    assert hanging.runtime.forgotten == [A]
    assert of_a.is_set()


def test_replaced_query_waits_for_the_end_of_its_older_plan(hanging: Supervised) -> None:
    """Both have the same state, and one of them may write it."""
    hanging.execute("CREATE OR REPLACE STREAM a AS SELECT * FROM s WHERE v > 1;")
    hanging.settle()
    assert sorted(hanging.runtime.started) == [A, B]
    hanging.let_go()
    assert sorted(hanging.runtime.started) == [A, A, B]


def test_dead_query_never_shows_running(supervised: Supervised) -> None:
    """Its state is asked of itself, so ERROR shows before anybody has looked after it."""
    supervised.runtime.applications[A].fail(StreamsError("broker-away", "Kafka is gone"))
    assert supervised.supervisor.status(A) == "ERROR"
    supervised.supervisor.step()
    assert A not in supervised.runtime.applications
    assert supervised.supervisor.status(A) == "ERROR"
    assert supervised.supervisor.status(B) == "RUNNING"


def test_pause_doubles_with_every_failure(supervised: Supervised) -> None:
    """A query that fails again and again is started less and less often, up to a limit."""
    supervised.runtime.obstacles[A] = StreamsError("broker-away", "no")
    supervised.runtime.applications[A].fail(StreamsError("broker-away", "no"))
    supervised.supervisor.step()
    starts = []
    for _ in range(14):
        before = len(supervised.runtime.started)
        supervised.after(1.0)
        if len(supervised.runtime.started) > before:
            starts.append(supervised.now)
    assert starts == [1.0, 3.0, 7.0, 11.0]
    assert supervised.supervisor.restarts()[A] == 4
    assert supervised.supervisor.restarts()[B] == 0


def test_restarted_query_runs_again(supervised: Supervised) -> None:
    """After its pause it is started, and shows RUNNING; its failures are remembered."""
    supervised.runtime.applications[A].fail(SerializationError("bad", "a bad record"))
    supervised.supervisor.step()
    supervised.after(1.0)
    assert supervised.supervisor.status(A) == "RUNNING"
    (failure,) = supervised.supervisor.failures(A)
    assert failure.error_class == "USER"
    assert "a bad record" in failure.message


def test_retry_does_not_wait(supervised: Supervised) -> None:
    """RESUME of a failed query starts it at once."""
    supervised.runtime.applications[A].fail(StreamsError("broker-away", "no"))
    supervised.supervisor.step()
    supervised.supervisor.retry(A)
    supervised.supervisor.step()
    assert supervised.supervisor.status(A) == "RUNNING"


def test_query_that_cannot_start_leaves_others_alone(supervised: Supervised) -> None:
    """An obstacle of one query is no obstacle for the ones behind it."""
    supervised.runtime.obstacles["CSAS_C_0"] = StreamsError("plan-changed", "no")
    supervised.execute("CREATE STREAM c AS SELECT * FROM s; CREATE STREAM d AS SELECT * FROM s;")
    assert supervised.supervisor.status("CSAS_C_0") == "ERROR"
    assert supervised.supervisor.status("CSAS_D_0") == "RUNNING"


def test_paused_query_shows_paused(supervised: Supervised) -> None:
    """PAUSE keeps the application, and it processes nothing."""
    supervised.execute(f"PAUSE {A};")
    assert supervised.supervisor.status(A) == "PAUSED"
    assert supervised.runtime.applications[A].is_paused
    supervised.execute(f"RESUME {A};")
    assert supervised.supervisor.status(A) == "RUNNING"
    assert not supervised.runtime.applications[A].is_paused


def test_terminated_query_ends_and_then_loses_its_state(supervised: Supervised) -> None:
    """State is deleted after the end, and by nobody who was not asked."""
    supervised.execute(f"TERMINATE {A};")
    assert A not in supervised.runtime.applications
    assert supervised.runtime.forgotten == []
    supervised.supervisor.forget(A)
    supervised.supervisor.step()
    assert supervised.runtime.forgotten == [A]


def test_replaced_query_is_started_anew(supervised: Supervised) -> None:
    """CREATE OR REPLACE ends the old plan and starts the new one under the same id."""
    supervised.execute("CREATE OR REPLACE STREAM a AS SELECT * FROM s WHERE v > 1;")
    assert sorted(supervised.runtime.started) == [A, A, B]


def test_cleaning_is_tried_again(supervised: Supervised) -> None:
    """Other nodes may still run a query whose state is to be deleted."""
    tries = []

    def work() -> None:
        tries.append(supervised.now)
        if len(tries) < 3:
            raise StreamsError("group-in-use", "another node runs it")

    done = supervised.supervisor.afterwards(work, "something", ())
    for _ in range(3):
        supervised.after(2.0)
    assert len(tries) == 3
    assert done.is_set()


def test_only_the_last_failures_are_kept() -> None:
    """A query that fails for days does not fill the memory."""
    made = Supervised({"ksql.query.error.max.queue.size": "2"})
    made.runtime.obstacles[A] = StreamsError("broker-away", "no")
    made.execute(SCRIPT)
    for _ in range(5):
        made.after(10.0)
    assert len(made.supervisor.failures(A)) == 2


@pytest.mark.parametrize(
    ("error", "wanted"),
    [
        (StreamsError("missing-source-topic", "no topic"), "USER"),
        (SerializationError("any", "bad bytes"), "USER"),
        (StreamsError("broker-away", "no Kafka"), "SYSTEM"),
        (TimeoutError("too long"), "SYSTEM"),
        (StreamsError("batch-failed", "who knows"), "UNKNOWN"),
        (ValueError("the batch of doom"), "USER"),
    ],
)
def test_errors_have_a_class(error: Exception, wanted: str) -> None:
    """The code of an error decides, unless a pattern of the settings does."""
    settings = {"ksql.error.classifier.regex.mine": "USER batch of d.om"}
    assert error_classifier(settings)(error) == wanted


def test_class_of_a_cause_counts() -> None:
    """A batch that fails because Kafka is away fails because of the system."""
    error = StreamsError("batch-failed", "no")
    error.__cause__ = PenstockError("broker-away", "gone")
    assert error_classifier({})(error) == "SYSTEM"


@pytest.mark.parametrize("value", ["", "USER", "NOBODY x", "USER ("])
def test_bad_pattern_is_refused(value: str) -> None:
    """A setting that cannot mean anything is told at the start."""
    with pytest.raises(ConfigError):
        error_classifier({"ksql.error.classifier.regex.mine": value})
