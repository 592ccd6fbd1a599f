"""``KafkaStreams``: an application, from start to close. How it runs: ``application_run``."""

from __future__ import annotations

import logging
import math
import secrets
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Any

from pyspark.sql import SparkSession

from penstock.config import (
    APPLICATION_ID,
    BOOTSTRAP_SERVERS,
    DEFAULT_API_TIMEOUT_MS,
    NUM_STREAM_THREADS,
    SETTINGS,
    StreamsConfig,
)
from penstock.errors import ConfigError, InvalidStateError, PenstockError
from penstock.kafka.broker_registry import running_project_broker
from penstock.model.remedies import Remedy, remedy
from penstock.model.time.duration import Duration, to_ms
from penstock.processor.listeners import StandbyUpdateListener, StateRestoreListener
from penstock.runtime.background import begun, end_each
from penstock.runtime.logs import use_log_format
from penstock.runtime.settings import warn_of_unasked_handler
from penstock.runtime.signals import on_signals, wait_awake, wait_until_set
from penstock.runtime.spark.driver.application_run import ApplicationRun
from penstock.runtime.spark.driver.batch_runner import BatchRunner
from penstock.runtime.spark.driver.failures import (
    explained,
    explained_start,
    may_pass,
)
from penstock.runtime.spark.driver.life.leading import Leading
from penstock.runtime.spark.driver.life.prepared import Prepared
from penstock.runtime.spark.driver.observing.failure_log import now_ms
from penstock.runtime.spark.driver.observing.idle import is_idle
from penstock.runtime.spark.driver.observing.metadata import ApplicationMetrics, column_errors
from penstock.runtime.spark.driver.observing.reporting import Reporting
from penstock.runtime.spark.driver.observing.serving import start_server
from penstock.runtime.spark.driver.observing.start_waits import StartWaits
from penstock.runtime.spark.driver.observing.thread_metadata import ThreadMetadata, thread_metadata
from penstock.runtime.spark.driver.pickling import check_portable
from penstock.runtime.spark.driver.session import end_jvm, spark_session, stop_session
from penstock.runtime.spark.driver.stores.asking import Asking
from penstock.runtime.spark.driver.stores.instance_stores import InstanceStores
from penstock.runtime.spark.driver.topics import private_broker
from penstock.runtime.spark.exchange.stage_request import Restore
from penstock.runtime.states import NEXT, ExceptionResponse, State, StateListener, not_running
from penstock.runtime.uncaught import Answer, Uncaught, UncaughtHandler
from penstock.serving.server import ServingServer
from penstock.topology.explanation import Explanation
from penstock.topology.topology import Topology, checked_topology

log = logging.getLogger(__name__)

_SECONDS_BETWEEN_RESTARTS = (0.5, 1.0, 2.0, 5.0, 10.0)
#: How long a close waits for the current batch.
_BATCH_S = 15.0
#: How long a close waits for an answer of Spark's JVM.
_SPARK_S = 10.0
#: How long a close waits for a Spark that is starting.
_SPARK_START_S = 3.0
#: How long a close waits for the end of an application that waits for Kafka or Spark itself.
_TROUBLE_S = 2.0
#: How often a start looks whether it waits for a restore.
_RESTORE_S = 0.5
_LOOK_S = 0.1
#: How long Spark's start waits for the checks of topics and plan, which usually take less.
_CHECKS_S = 1.5
_Ready = tuple[ApplicationRun, Prepared]
#: Proves to slot servers that a request comes from the driver of their application.
_SECRET = secrets.token_bytes(32)


class KafkaStreams(Asking):
    """Runs a topology on Spark against Kafka until it is closed.

    Without ``bootstrap.servers`` it uses the broker that ``penstock broker start`` started in this
    project, else a private one that ends with the process, and creates the program's topics there.

    Args:
        topology: What to run, from ``StreamsBuilder.build()`` or made by hand.
        config: Settings by their Kafka names; ``application.id`` is required, ``spark.*`` go to
            Spark.
    """

    def __init__(self, topology: Topology, config: Mapping[str, Any]) -> None:
        self._topology = checked_topology(topology)
        self._config = StreamsConfig(config)
        if not self._config[APPLICATION_ID]:
            raise ConfigError(
                "missing-setting",
                "application.id is not set",
                fix="name the application: it is its consumer group and the prefix of its topics",
            )
        use_log_format(self._config)
        for name in self._config:
            setting = SETTINGS.get(name)
            if setting is not None and setting.unused:
                log.warning("%s has no effect on Spark: %s", name, setting.unused)
        self._state = State.CREATED
        self._listener: StateListener | None = None
        self._uncaught = Uncaught()
        #: What the handler has answered to the error of a slot that ends the application.
        self._answer: Answer | None = None
        self._changed = threading.Condition()
        self._lifecycle_lock = threading.RLock()
        self._run: ApplicationRun | None = None
        self._spark: SparkSession | None = None
        self._owns_spark = False
        self._threads = self._config[NUM_STREAM_THREADS]
        #: Set when the first attempt to start has succeeded or failed.
        self._has_started = threading.Event()
        self._closing = threading.Event()
        #: Not set while Spark starts, which can take any time on a cluster without room.
        self._has_spark = threading.Event()
        self._has_spark.set()
        self._leave_group = True
        self._restore_listener: StateRestoreListener | None = None
        self._standby_listener: StandbyUpdateListener | None = None
        self._is_paused = False
        self._waits = StartWaits()
        self._server: ServingServer | None = None
        self._reporting = Reporting(self._config, self.metrics)
        self.error: Exception | None = None
        self.state_since_ms = now_ms()

    # Life

    def start(self) -> None:
        """Start the application and return when it runs; raise the error if it cannot start."""
        if self._state is not State.CREATED:
            raise InvalidStateError(
                "already-started",
                f"the application is {self._state.value}: it can be started only once",
                fix="make a new KafkaStreams",
            )
        self._to(State.REBALANCING)
        self._waits.begin(self._config)
        log.info("starting %s\n%s", self._config[APPLICATION_ID], self._topology.describe())
        try:
            up = self._bring_up()
        except BaseException as error:
            if self._closing.is_set() and isinstance(error, Exception):
                # The application was closed meanwhile, so the error does not matter.
                self._tear_down()
                return
            self._to(State.PENDING_ERROR)
            self._tear_down()
            self.error = error if isinstance(error, Exception) else None
            self._to(State.ERROR)
            raise
        if self._closing.is_set():
            # Another thread closed the application meanwhile, so end what was started after that.
            self._tear_down()
            return
        threading.Thread(target=self._work, args=up, name="penstock-main", daemon=True).start()
        wait_until_set(self._has_started)
        self._wait_until_restored()
        # An application that is only ending still tears itself down.
        if self._state.has_ended:
            self._raise_error()

    def _wait_until_restored(self) -> None:
        """Return when the application runs, or has long restores, which are not waited for."""
        deadline = time.monotonic() + self._config[DEFAULT_API_TIMEOUT_MS] / 1000
        while self._state is State.REBALANCING and time.monotonic() < deadline:
            with self._changed:
                self._changed.wait_for(lambda: self._state is not State.REBALANCING, _RESTORE_S)
            if self._closing.is_set() or self.restoring():
                return

    def run(self) -> None:
        """Start, and return when the application has ended; SIGTERM and Ctrl-C close it."""
        # From the start on: a handler may exit before this thread begins to wait.
        with self.closes_on_signals(), self._uncaught.attended():
            if self._state is State.CREATED:
                self.start()
            self.wait()
        self._raise_error()

    def run_until_idle(self, timeout: Duration | None = None) -> bool:
        """Process all records that exist, and return; false if the time was not enough."""
        with self._uncaught.attended():
            if self._state is State.CREATED:
                self.start()
            deadline = None if timeout is None else time.monotonic() + to_ms(timeout) / 1000
            while self._state.is_running_or_rebalancing:
                if is_idle(self._run, is_paused=self._is_paused):
                    return True
                if deadline is not None and time.monotonic() > deadline:
                    return False
                time.sleep(0.05)
        self._raise_error()
        return False

    def _raise_error(self) -> None:
        """Raise the error that ended the application, without its traceback through the runtime."""
        self._uncaught.raise_wanted()
        if self.error is not None:
            log.debug("the application ended with an error", exc_info=self.error)
            raise self.error.with_traceback(None)

    def wait(self, timeout: Duration | None = None) -> bool:
        """Wait until the application has ended; false if it still runs after the timeout."""
        seconds = None if timeout is None else to_ms(timeout) / 1000
        with self._uncaught.attended(), self._changed:
            return wait_awake(self._changed, lambda: self._state.has_ended, seconds)

    def close(self, timeout: Duration | None = None, leave_group: bool | None = None) -> bool:
        """End after the current batches; return true if that was clean and in time.

        Args:
            leave_group: False keeps the membership in the consumer group until the session ends, so
                that a quick restart of a static member changes no assignment.
        """
        if self._state.has_ended:
            return self._state is State.NOT_RUNNING
        if self._state is State.CREATED:
            self._to(State.PENDING_SHUTDOWN)
            self._to(State.NOT_RUNNING)
            return True
        self._leave_group = leave_group is not False
        self._closing.set()
        seconds = None if timeout is None else to_ms(timeout) / 1000
        worker = threading.Thread(target=self._close, name="penstock-close", daemon=True)
        worker.start()
        worker.join(seconds)
        return not worker.is_alive() and self._state is State.NOT_RUNNING

    def clean_up(self) -> None:
        """Delete this application's local state; it must not run meanwhile."""
        if self._state.is_running_or_rebalancing:
            raise InvalidStateError(
                "still-running",
                "local state cannot be deleted while the application runs",
                fix="call close() first",
            )
        ApplicationRun.clean_up(self._config)

    def __enter__(self) -> KafkaStreams:
        if self._state is State.CREATED:
            self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def closes_on_signals(self) -> AbstractContextManager[None]:
        """Let SIGTERM and Ctrl-C close the application inside the ``with`` block."""

        def close() -> None:
            self._closing.set()
            threading.Thread(target=self._close, name="penstock-close", daemon=True).start()

        return on_signals(close)

    # What can be seen

    @property
    def state(self) -> State:
        return self._state

    @property
    def topology(self) -> Topology:
        return self._topology

    def set_state_listener(self, listener: StateListener) -> None:
        """Call ``listener(new, old)`` at every change of state."""
        self._listener = listener

    def set_uncaught_exception_handler(self, handler: UncaughtHandler) -> None:
        """Call ``handler(error)`` when a slot's batch fails, to decide what to do; by default, end.

        It returns an ``ExceptionResponse`` or its name as text. With ``REPLACE_THREAD`` only the
        partition that fails waits. It may also close the application, or call ``sys.exit``.
        """
        self._uncaught.handler = handler

    def set_global_state_restore_listener(self, listener: StateRestoreListener) -> None:
        """Call ``listener`` while stores are restored from their changelogs."""
        self._restore_listener = listener
        runner = self._runner()
        if runner is not None:
            runner.restores.listener = listener

    def set_standby_update_listener(self, listener: StandbyUpdateListener) -> None:
        """Call ``listener`` when standby copies of stores follow their changelogs.

        Copies are kept by instances that stand by, from ``num.standby.replicas=1`` on. Set the
        listener before ``start()``.

        Raises:
            InvalidStateError: the application has been started.
        """
        if self._state is not State.CREATED:
            raise InvalidStateError(
                "already-started",
                f"the application is {self._state.value}: it takes no standby listener any more",
                fix="set the listener before start()",
            )
        self._standby_listener = listener

    def restoring(self) -> list[Restore]:
        """Return the stores that are being restored now, with their progress."""
        run = self._run
        if run is None or run.runner is not None:
            return [] if run is None or run.runner is None else run.runner.restoring()
        return [] if run.copies is None else run.copies.restoring()

    @property
    def waiting_for(self) -> str | None:
        """What the application waits for: a broker, the lead, a transaction; None if nothing."""
        runner = self._runner()
        if runner is not None:
            noted = runner.progress
            return noted.waiting_for or noted.busy_with or noted.held_back
        is_up = self._state.is_running_or_rebalancing and self._has_started.is_set()
        return self._waits.told(has_started=is_up)

    def metrics(self) -> ApplicationMetrics:
        """Return figures of the run so far: records, batches, drops, restores, lag."""
        return ApplicationMetrics.of(self._leading(), self._config, self._state, self._threads)

    def explain(self) -> Explanation:
        """Return which sub-topologies run over columns, and why others do not.

        Faults in the column path are counted while the application runs, as in ``metrics()``.
        """
        return replace(self._topology.explain(self._config), column_errors=column_errors(self._run))

    def metadata_for_local_threads(self) -> list[ThreadMetadata]:
        """Return what each stream thread (a Spark task slot) runs, and how far its tasks are."""
        return thread_metadata(self._leading(), self._threads, self._state)

    def lag(self) -> dict[tuple[str, int], int]:
        """Return how many records of each source partition have not been processed yet."""
        return self._leading().lag()

    def _stores(self) -> InstanceStores:
        run = self._run
        if run is None or run.plan is None or not self._state.is_running_or_rebalancing:
            raise not_running(self._state)
        return InstanceStores(run, run.plan, self._spark)

    # Steering

    def add_stream_thread(self) -> str:
        """Add a slot as soon as all are between two batches, and return its name."""
        self._threads += 1
        self._set_threads()
        return f"{self._config[APPLICATION_ID]}-StreamThread-{self._threads}"

    def remove_stream_thread(self, timeout: Duration | None = None) -> str | None:
        """Remove a slot between two batches, and return its name; None if there is only one."""
        if self._threads == 1:
            return None
        self._threads -= 1
        self._set_threads()
        return f"{self._config[APPLICATION_ID]}-StreamThread-{self._threads + 1}"

    def pause(self) -> None:
        """Begin no new batches until ``resume``; the application stays RUNNING."""
        self._is_paused = True
        if self._run is not None:
            self._run.pause(is_paused=True)

    def resume(self) -> None:
        self._is_paused = False
        if self._run is not None:
            self._run.pause(is_paused=False)

    @property
    def is_paused(self) -> bool:
        return self._is_paused

    # Inside

    def _bring_up(self) -> tuple[ApplicationRun, Prepared, SparkSession]:
        """Start Spark in this thread, whose session it becomes, and prepare Kafka meanwhile."""
        check_portable(self._topology.graph)
        self._server = start_server(self, self._config, lambda: self._run, self._waits.failures)
        self._reporting.start()
        prepared = begun(self._prepare, "penstock-prepare")
        if self._config[BOOTSTRAP_SERVERS]:
            # A missing topic is known within a moment, and Spark needs seconds to start.
            self._await(prepared, _CHECKS_S)
            if prepared.done():
                prepared.result()
        self._has_spark.clear()
        try:
            spark, self._owns_spark = spark_session(self._config)
            self._spark = spark
        except Exception as error:
            raise explained_start(error) from error
        finally:
            self._has_spark.set()
        self._await(prepared)
        run, ready = prepared.result()
        self._run = run
        return run, ready, spark

    def _await(self, prepared: Future[_Ready], seconds: float = math.inf) -> None:
        """Wait for the preparation, which a broker that is away may keep; but not while closing."""
        deadline = time.monotonic() + seconds
        while not prepared.done() and time.monotonic() < deadline:
            if self._closing.is_set():
                raise InvalidStateError(
                    "closed-early", "the application was closed while it started",
                    fix="nothing to do if that was wanted",
                )  # fmt: skip
            wait([prepared], _LOOK_S)

    def _prepare(self) -> _Ready:
        if not self._config[BOOTSTRAP_SERVERS]:
            servers = running_project_broker() or private_broker(self._topology.graph, self._config)
            self._config = StreamsConfig({**self._config, BOOTSTRAP_SERVERS.name: servers})
        warn_of_unasked_handler(self._topology.graph, self._config)
        run = ApplicationRun(self._topology.graph, self._config, self._threads, _SECRET)
        # Set before it is ready, so that a failed start is cleaned up, too.
        self._run = run
        self._waits.asking_servers(self._config[BOOTSTRAP_SERVERS])
        prepared = self._waits.until_done(run.prepare, self._may_pass, self._closing)
        return run, prepared

    def _may_pass(self, error: Exception) -> bool:
        return not self._closing.is_set() and may_pass(error, is_late=self._waits.is_late)

    def _work(self, run: ApplicationRun, prepared: Prepared, spark: SparkSession) -> None:
        try:
            self._live(run, prepared, spark)
        except SystemExit as request:
            self._uncaught.end_process(request, lambda: self._give_up(None))

    def _live(self, run: ApplicationRun, prepared: Prepared | None, spark: SparkSession) -> None:
        """Lead whenever it is this instance's turn, until the application is closed."""
        failures = 0
        while not self._closing.is_set():
            has_run = False
            try:
                # Topics may have changed: partitions were added, or a topic was created again.
                now, prepared = prepared or run.prepare(), None
                if not self._leads(run, now):
                    continue
                runner = self._begin(run, now, spark)
                if self._closing.is_set():
                    # Closed while the runner was created, so only this thread can end it.
                    run.end_runner(patience_s=0.0)
                    return
                self._has_started.set()
                runner.run(is_restored=lambda: self._to(State.RUNNING))
                return
            except Exception as error:  # noqa: BLE001 - what it means is decided below
                if self._closing.is_set():
                    return
                has_run = run.runner is not None and run.runner.has_run
                failure = explained(error)
                self._waits.failed(failure)
                if not self._goes_on(failure):
                    return
            failures = 0 if has_run else failures + 1
            self._to(State.REBALANCING)
            run.end_runner(patience_s=_BATCH_S, keeps_slots=True)
            self._closing.wait(
                _SECONDS_BETWEEN_RESTARTS[min(failures, len(_SECONDS_BETWEEN_RESTARTS) - 1)]
            )

    def _leads(self, run: ApplicationRun, prepared: Prepared) -> bool:
        self._waits.asking_group()
        leads = run.wait_to_lead(prepared, self._closing, until_joined=True)
        self._waits.over()
        if leads:
            self._waits.asking_log()
            return True
        if not self._closing.is_set():
            log.info("another instance leads %s; standing by", self._config[APPLICATION_ID])
            run.standby_listener = self._standby_listener
            run.stand_by(prepared)
            self._has_started.set()
            self._to(State.RUNNING)
        return run.wait_to_lead(prepared, self._closing)

    def _begin(self, run: ApplicationRun, prepared: Prepared, spark: SparkSession) -> BatchRunner:
        # Not under the lock: this may wait for a broker, and a close must not wait for that.
        run.slots = self._threads
        runner = run.lead(prepared, spark)
        runner.slots = self._threads
        runner.decide = self._replaces
        runner.restores.listener = self._restore_listener
        runner.show(lambda: self._state.value)
        run.pause(is_paused=self._is_paused)
        self._waits.over()
        return runner

    def _replaces(self, error: PenstockError) -> bool:
        """Ask the user about an error of one slot; true lets that slot begin again by itself."""
        log.error("a batch failed: %s", error)
        answer = self._uncaught.ask(error, is_closing=self._closing.is_set)
        if answer.response is not ExceptionResponse.REPLACE_THREAD or self._closing.is_set():
            self._answer = answer
            return False
        self._to(State.REBALANCING)
        return True

    def _goes_on(self, error: Exception) -> bool:
        """Decide what to do after a failure; return true if the application begins again."""
        is_first = not self._has_started.is_set()
        kind = remedy(error)
        if kind is Remedy.BEGIN_ANEW and not (is_first and self._waits.is_late):
            # Topics and members may change in the middle of a start, too.
            log.warning("beginning again: %s", error)
            return True
        if kind is Remedy.RERUN and not is_first and self._runner() is None:
            # It failed while it was being started again.
            log.warning("not started again yet: %s", error)
            return True
        if is_first and self._may_pass(error):
            log.warning("not started yet: %s", error)
            return True
        answer, self._answer = self._answer, None
        if not is_first and kind is not Remedy.END:
            if answer is None:
                log.error("a batch failed: %s", error)
                answer = self._uncaught.ask(error, is_closing=self._closing.is_set)
            if self._closing.is_set() or answer.response is ExceptionResponse.REPLACE_THREAD:
                return not self._closing.is_set()
            error = answer.error
            if answer.response is ExceptionResponse.SHUTDOWN_APPLICATION and self._run is not None:
                self._run.shut_down_application()
        self._give_up(error)
        return False

    def _give_up(self, error: Exception | None) -> None:
        self.error = error
        self._to(State.PENDING_ERROR)
        self._tear_down()
        self._to(State.ERROR)
        self._has_started.set()

    def _close(self) -> None:
        if self._state.has_ended or self._state is State.PENDING_SHUTDOWN:
            return
        self._to(State.PENDING_SHUTDOWN)
        self._tear_down()
        if not self._has_spark.wait(_SPARK_START_S):
            end_jvm()
        self._to(State.NOT_RUNNING)
        self._has_started.set()

    def _tear_down(self) -> None:
        self._reporting.stop()
        runner, waits = self._runner(), self._waits.told(has_started=False)
        is_in_trouble = runner.is_in_trouble if runner else waits is not None
        with self._lifecycle_lock:
            run, self._run = self._run, None
            if run is not None:
                stop = partial(run.stop, patience_s=_BATCH_S, leave_group=self._leave_group)
                stopping = begun(stop, "penstock-stop")
                # Without Kafka, every step of a clean end takes as long as its own limit.
                wait([stopping], _TROUBLE_S if is_in_trouble else None)
                end_each(stopping.result if stopping.done() else None)
            server, self._server = self._server, None
            spark, self._spark = self._spark, None
            end_each(
                None if server is None else server.stop,
                partial(stop_session, spark, _SPARK_S) if self._owns_spark and spark else None,
            )

    def _runner(self) -> BatchRunner | None:
        return None if self._run is None else self._run.runner

    def _set_threads(self) -> None:
        if (runner := self._runner()) is not None:
            runner.slots = self._threads

    def _leading(self) -> Leading:
        if (run := self._run) is None or run.leading is None:
            raise not_running(self._state)
        return run.leading

    def _to(self, new: State) -> None:
        with self._changed:
            if new not in NEXT[old := self._state]:
                return
            self._state, self.state_since_ms = new, now_ms()
            log.info("%s: %s → %s", self._config[APPLICATION_ID], old.value, new.value)
            self._changed.notify_all()
        if self._listener is not None:
            self._listener(new, old)
