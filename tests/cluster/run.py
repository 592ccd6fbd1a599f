"""One run of the cluster test, from the first broker to the verdict."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from confluent_kafka import KafkaException

from penstock.errors import PenstockError
from penstock.kafka.admin import Admin
from tests.cluster.application import Application
from tests.cluster.brokers import Brokers
from tests.cluster.faults import KINDS, Faults, Parts
from tests.cluster.feeder import Feeder
from tests.cluster.hosts import Nest, can_isolate
from tests.cluster.injector import Injector
from tests.cluster.processes import look, sweep
from tests.cluster.reading import Log
from tests.cluster.report import Outcome
from tests.cluster.schedule import Schedule
from tests.cluster.spark_cluster import SparkCluster
from tests.cluster.standalone import Standalone
from tests.cluster.topology import APPLICATION, INPUTS, OUTPUTS
from tests.cluster.verdict import judge
from tests.cluster.watch import CommitWatch, OutputWatch

PARTITIONS = 4
_LOOP_S = 0.2
#: An application that ends this often before its first commit will not get any further.
_MOST_FALSE_STARTS = 3
_PROGRESS_S = 10.0
#: Executors and stream threads end by themselves within this time after the driver has.
_ORPHANS_S = 60.0
#: Output that has not changed for so long will not change any more.
_QUIET_S = 4.0


@dataclass(frozen=True)
class Options:
    """What a run does; the fields are the options of the command line."""

    minutes: float = 30.0
    seed: int = 1
    faults: tuple[str, ...] = KINDS
    pause_s: tuple[float, float] = (3.0, 12.0)
    rate: int = 300
    brokers: int = 3
    is_local: bool = False
    #: Each fault once and in this order, and then the end, at the latest after ``minutes``.
    is_script: bool = False
    drain_s: float = 300.0


@dataclass
class ClusterRun:
    """Everything that one run has started; leaving the block ends all of it."""

    options: Options
    folder: Path
    say: Callable[[str], None] = print
    schedule: Schedule = field(default_factory=Schedule)
    make_spark: Callable[[Nest], SparkCluster] = Standalone
    make_faults: type[Faults] = Faults

    def __post_init__(self) -> None:
        self._nest = Nest(self.folder)
        self._began_s = time.monotonic()
        self._progress_s = 0.0
        self._problems: list[str] = []
        #: The lag while the run comes to rest; None before that.
        self._rest: int | None = None
        self._injector: Injector | None = None
        self._spark: SparkCluster | None = None

    def __enter__(self) -> ClusterRun:
        return self

    def __exit__(self, *exc: object) -> None:
        self.end()

    def end(self) -> None:
        """Kill everything that belongs to this run."""
        sweep(self._nest.mark)
        if self._spark is not None:
            self._spark.close()

    def run(self) -> Outcome:
        """Start the cluster, feed it, break it, let it come to rest, and judge the result."""
        self._start()
        self._feed_until_time_is_over()
        self._come_to_rest()
        self._outputs.stop()
        written = self._log.written()
        self._check_input(written.inputs)
        self._log.close()
        assert self._injector is not None
        return Outcome(judge(written), self._injector, self._watch, self._app, self._problems)

    def report(self, text: str) -> None:
        """Print a line with the time since the start and the time of day."""
        clock = datetime.now(UTC).strftime("%H:%M:%S")
        self.say(f"{time.monotonic() - self._began_s:7.1f} s {clock}  {text}")

    def _start(self) -> None:
        options = self.options
        self._brokers = Brokers(self._nest, options.brokers)
        self._brokers.start_all()
        bootstrap, replication = self._brokers.bootstrap_servers, self._brokers.replication
        admin = Admin({"bootstrap.servers": bootstrap, "log_level": 0})
        for topic in (*INPUTS, *OUTPUTS):
            admin.create_topic(topic, partitions=PARTITIONS, replication=replication)
        self.report(f"{options.brokers} brokers are up: {bootstrap}")
        spark = self._spark = None if options.is_local else self.make_spark(self._nest)
        if spark is not None:
            spark.start_all()
            self.report(f"Spark is up: {spark.settings}, hosts isolated: {can_isolate()}")
        self._app = Application(
            self._nest.host("driver"), self._settings(spark), self.report,
            {} if spark is None else spark.variables,
        )  # fmt: skip
        self._app.start()
        parts = Parts(self._nest.mark, self._brokers, self._app, spark, self.schedule)
        self._faults = self.make_faults(parts, random.Random(options.seed), options.minutes >= 10)
        self._log = Log(bootstrap)
        self._feeder = Feeder(bootstrap, options.rate, options.seed, PARTITIONS)
        self._watch = CommitWatch(bootstrap, lambda: self._feeder.total_acknowledged)
        self._outputs = OutputWatch(bootstrap)
        for thread in (self._feeder, self._watch, self._outputs):
            thread.start()

    def _settings(self, spark: SparkCluster | None) -> dict[str, object]:
        """Return the application's settings; everything else is as delivered."""
        settings: dict[str, object] = {
            "application.id": APPLICATION,
            "bootstrap.servers": self._brokers.bootstrap_servers,
            "processing.guarantee": "exactly_once_v2",
            "replication.factor": self._brokers.replication,
            "num.stream.threads": 2,
            # Without a cache every single update reaches the output and can be compared.
            "statestore.cache.max.bytes": 0,
            # An executor that is told to go may move its tasks away first.
            "spark.decommission.enabled": "true",
            **({"spark.master": "local[2]"} if spark is None else spark.settings),
        }
        if not can_isolate():
            # The default folder would be shared with every other application of this machine.
            settings["state.dir"] = str(self.folder / "state")
        return settings

    def _feed_until_time_is_over(self) -> None:
        """Inject faults from the application's first commit on, for as long as the run lasts."""
        options = self.options
        first_commit_by = time.monotonic() + 600.0
        while not self._watch.has_committed(0.0):
            self._tick()
            if time.monotonic() > first_commit_by or len(self._app.own_ends) > _MOST_FALSE_STARTS:
                raise AssertionError(
                    f"the application has committed nothing: {self._app.last_error()}"
                )
        self.report("the application has committed; the clock starts")
        chance = random.Random(options.seed)
        self._injector = injector = Injector(
            self._faults, chance, options.faults, self.report, self._watch, options.pause_s,
            options.is_script,
        )  # fmt: skip
        ends_s = time.monotonic() + options.minutes * 60
        while time.monotonic() < ends_s and not injector.is_finished:
            if self._feeder.failure is not None:
                break
            injector.tick()
            self._tick()

    def _come_to_rest(self) -> None:
        """Undo every fault, stop feeding, and wait until nothing is left to do."""
        self._faults.stop()
        for broker in self._brokers.brokers:
            self._brokers.start(broker)
        self.report("no more faults; waiting for the rest")
        self._watch.stop()
        self._feeder.finish()
        deadline, quiet_since, last = time.monotonic() + self.options.drain_s, 0.0, object()
        while time.monotonic() < deadline:
            self._tick()
            ends = self._ends_if_drained()
            if ends is None or ends != last:
                last, quiet_since = ends, time.monotonic()
            elif time.monotonic() - quiet_since > _QUIET_S and self._app.is_running:
                break
        else:
            self._problems.append(f"did not process everything in {self.options.drain_s:.0f} s")
        self.report("closing the application")
        problem = self._app.close()
        if problem is not None:
            self._problems.append(problem)
        self._app.kill()
        self._wait_for_orphans()

    def _wait_for_orphans(self) -> None:
        """Note processes of the application that go on without it."""
        deadline = time.monotonic() + _ORPHANS_S
        while left := look(self._nest.mark).without_driver():
            if time.monotonic() > deadline:
                commands = ", ".join(f"{each.pid} {each.command[:100]}" for each in left)
                self._problems.append(f"{len(left)} processes are left: {commands}")
                return
            time.sleep(_LOOP_S)

    def _ends_if_drained(self) -> object:
        """Return the ends of the outputs, or None while input or a transaction is pending."""
        try:
            self._rest = self._log.lag()
            return None if self._rest else self._log.output_ends()
        except (KafkaException, PenstockError) as error:
            self.report(f"cannot ask the brokers: {str(error).splitlines()[0]}")
            return None

    def _tick(self) -> None:
        """Do what is due: restarts, and a line of progress every ten seconds."""
        self.schedule.run_due()
        self._app.supervise()
        for part in (self._brokers, self._spark):
            for event in [] if part is None else part.supervise():
                self.report(event)
        if time.monotonic() - self._progress_s >= _PROGRESS_S:
            self._progress_s = time.monotonic()
            self.report(self._progress())
        time.sleep(_LOOP_S)

    def _progress(self) -> str:
        done = 0 if self._injector is None else len(self._injector.done)
        lag = self._watch.lag if self._rest is None else self._rest
        return (
            f"faults {done}, records in {self._feeder.total_acknowledged},"
            f" out {self._outputs.count},"
            f" lag {lag}, restarts {len(self._app.ends)}"
        )

    def _check_input(self, inputs: object) -> None:
        """Note input that Kafka has acknowledged and lost: then the cluster itself is broken.

        A record whose acknowledgement was lost may be there; what is there is what counts.
        """
        assert isinstance(inputs, dict)
        for topic, records in inputs.items():
            if len(records) < self._feeder.acknowledged[topic]:
                self._problems.append(
                    f"Kafka acknowledged {self._feeder.acknowledged[topic]} records of {topic!r}"
                    f" and has {len(records)}"
                )
