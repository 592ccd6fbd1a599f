"""The faults: what can be done to each part of the cluster, and how it is undone.

Which fault comes when is decided by ``injector``.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.app import KILL_A_TASK
from tests.cluster.application import Application
from tests.cluster.brokers import Broker, Brokers
from tests.cluster.hosts import signal_all
from tests.cluster.processes import Process, ProcessTable, look
from tests.cluster.schedule import Schedule
from tests.cluster.spark_cluster import SparkCluster, Worker

KINDS = (
    "executor", "worker", "thread", "jvm", "driver", "broker", "brokers", "pause", "task",
    "decommission",
)  # fmt: skip
#: On YARN an application has a process of its own that asks for executors.
YARN_KINDS = (*KINDS, "application_master", "manager")
#: The in-sync replicas need this long to be complete again before the next broker may go.
_BROKER_REST_S = 12.0


@dataclass
class Parts:
    """Everything that a fault can hit."""

    mark: str
    brokers: Brokers
    application: Application
    #: None when Spark runs inside the driver's JVM.
    spark: SparkCluster | None
    schedule: Schedule

    def processes(self) -> ProcessTable:
        return look(self.mark)

    def pythons(self) -> list[Process]:
        """Return the Python processes of the executors; none while the driver does not run."""
        driver = self.application.pid
        if driver is None:
            return []
        return self.processes().pythons(driver, is_local=self.spark is None)


@dataclass
class Faults:
    """Each method does one fault and returns what it did, or None when it cannot now."""

    parts: Parts
    chance: random.Random
    #: Whether some pauses outlast the session timeout of 45 seconds.
    has_long_pauses: bool

    def __post_init__(self) -> None:
        self._brokers_rest_until = 0.0
        #: Brokers that were asked to shut down by a rolling restart.
        self._leaving: list[Broker] = []
        self._is_over = False

    def stop(self) -> None:
        """End all faults: undo what can be undone, and begin nothing new."""
        self._is_over = True
        self.parts.schedule.run_all()

    def executor(self) -> str | None:
        """Kill the JVM of an executor."""
        return self._kill("executor", self.parts.processes().executors())

    def thread(self) -> str | None:
        """Kill a Python process of an executor: a stream thread, or Spark's Python daemon."""
        return self._kill("Python process", self.parts.pythons())

    def task(self) -> str | None:
        """Let Spark kill the task of a stream thread; the application asks it to."""
        driver = self.parts.application.pid
        if driver is None or not _catches(driver, KILL_A_TASK):
            return None
        os.kill(driver, KILL_A_TASK)
        return "a task killed by Spark"

    def decommission(self) -> str | None:
        """Tell an executor that it has to go; it ends when its tasks have left it."""
        found = self.parts.processes().executors()
        ready = [each for each in found if _catches(each.pid, signal.SIGPWR)]
        if not ready:
            return None
        leaving = self.chance.choice(sorted(ready, key=lambda each: each.pid))
        os.kill(leaving.pid, signal.SIGPWR)
        return f"executor {leaving.pid} decommissioned"

    def worker(self) -> str | None:
        """Kill a worker daemon, which comes back a few seconds later."""
        spark = self.parts.spark
        worker = self._some_worker()
        if spark is None or worker is None:
            return None
        away = self.chance.uniform(2, 8)
        spark.kill(worker)
        self.parts.schedule.after(away, lambda: spark.start(worker))
        return f"kill -9 of worker daemon {worker.number}, away for {away:.1f} s"

    def manager(self) -> str | None:
        """Kill the server that gives applications their executors; it comes back later."""
        spark = self.parts.spark
        if spark is None or len(self.parts.schedule):
            return None
        away = self.chance.uniform(2, 8)
        spark.kill_manager()
        self.parts.schedule.after(away, spark.start_manager)
        return f"kill -9 of the cluster's manager, away for {away:.1f} s"

    def application_master(self) -> str | None:
        """Kill the process of YARN that asks for the application's executors."""
        return self._kill("application master", self.parts.processes().application_masters())

    def jvm(self) -> str | None:
        """Kill the driver's JVM."""
        driver = self.parts.application.pid
        found = [] if driver is None else self.parts.processes().driver_jvms(driver)
        if found:
            self.parts.application.expect_end()
        return self._kill("driver's JVM", found)

    def driver(self) -> str | None:
        """Kill the driver."""
        driver = self.parts.application.pid
        if driver is None:
            return None
        self.parts.application.expect_end()
        signal_all([driver], signal.SIGKILL)
        return f"kill -9 of driver {driver}"

    def broker(self) -> str | None:
        """Kill one broker, which comes back a few seconds later."""
        broker = self._some_broker()
        if broker is None:
            return None
        away = self.chance.uniform(1, 10)
        self.parts.brokers.kill(broker)
        self._start_later(away, broker)
        return f"kill -9 of broker {broker.number}, away for {away:.1f} s"

    def brokers(self) -> str | None:
        """Restart the brokers one after the other, or take all of them away for a while."""
        if not self._brokers_are_rested:
            return None
        if self.chance.random() < 0.5 and self.parts.brokers.count > 1:
            return self._roll()
        away = self.chance.uniform(3, 30 if self.has_long_pauses else 8)
        for broker in self.parts.brokers.brokers:
            self.parts.brokers.kill(broker)
            self._start_later(away, broker)
        return f"kill -9 of all brokers, away for {away:.1f} s"

    def pause(self) -> str | None:
        """Stop a process with SIGSTOP and continue it later."""
        target = self.chance.choice(("executor", "worker", "thread", "driver", "broker"))
        seconds = self._pause_s()
        if target == "broker":
            return self._pause_broker(seconds)
        pids = self._pids_of(target)
        if not pids:
            return None
        pid = self.chance.choice(pids)
        signal_all([pid], signal.SIGSTOP)
        self.parts.schedule.after(seconds, lambda: signal_all([pid], signal.SIGCONT))
        return f"pause of {target} {pid} for {seconds:.1f} s"

    def _pause_broker(self, seconds: float) -> str | None:
        broker = self._some_broker()
        if broker is None or broker.process is None:
            return None
        pid, broker.is_paused = broker.process.pid, True
        signal_all([pid], signal.SIGSTOP)
        self._brokers_rest_until = time.monotonic() + seconds + _BROKER_REST_S

        def resume() -> None:
            signal_all([pid], signal.SIGCONT)
            broker.is_paused = False

        self.parts.schedule.after(seconds, resume)
        return f"pause of broker {broker.number} for {seconds:.1f} s"

    def _roll(self) -> str:
        """Stop each broker gently and start it again, with enough time to catch up between."""
        at = 0.0
        for broker in self.parts.brokers.brokers:
            self.parts.schedule.after(at, _bound(self._stop_gently, broker))
            self.parts.schedule.after(at + 6.0, _bound(self._restart_stopped, broker))
            at += 6.0 + _BROKER_REST_S
        self._brokers_rest_until = time.monotonic() + at
        return "rolling restart of all brokers"

    def _stop_gently(self, broker: Broker) -> None:
        if not self._is_over:
            self._leaving.append(broker)
            self.parts.brokers.stop(broker)

    def _restart_stopped(self, broker: Broker) -> None:
        if broker not in self._leaving:
            return
        self._leaving.remove(broker)
        # A broker that has not ended in time is one that hangs: an operator would kill it.
        self.parts.brokers.kill(broker)
        self.parts.brokers.start(broker)

    def _start_later(self, seconds: float, broker: Broker) -> None:
        self._brokers_rest_until = time.monotonic() + seconds + _BROKER_REST_S
        self.parts.schedule.after(seconds, _bound(self.parts.brokers.start, broker))

    def _kill(self, what: str, found: list[Process]) -> str | None:
        if not found:
            return None
        victim = self.chance.choice(sorted(found, key=lambda each: each.pid))
        with suppress(ProcessLookupError):
            os.kill(victim.pid, signal.SIGKILL)
        return f"kill -9 of {what} {victim.pid}"

    def _pids_of(self, target: str) -> list[int]:
        driver, worker = self.parts.application.pid, self._some_worker()
        if target == "driver":
            return [] if driver is None else [driver]
        if target == "worker":
            return [] if worker is None or worker.process is None else [worker.process.pid]
        if target == "executor":
            return sorted(each.pid for each in self.parts.processes().executors())
        return sorted(each.pid for each in self.parts.pythons())

    def _pause_s(self) -> float:
        if self.has_long_pauses and self.chance.random() < 0.25:
            return self.chance.uniform(46, 75)
        return self.chance.uniform(2, 20 if self.has_long_pauses else 6)

    def _some_worker(self) -> Worker | None:
        spark = self.parts.spark
        running = [] if spark is None else [each for each in spark.workers if each.is_up]
        return self.chance.choice(running) if running else None

    def _some_broker(self) -> Broker | None:
        return self.chance.choice(self.parts.brokers.brokers) if self._brokers_are_rested else None

    @property
    def _brokers_are_rested(self) -> bool:
        """Whether no broker is away: with two of three gone nothing could be written at all."""
        return self.parts.brokers.are_up and time.monotonic() >= self._brokers_rest_until


def _bound(action: Callable[[Broker], None], broker: Broker) -> Callable[[], None]:
    return lambda: action(broker)


def _catches(pid: int, number: signal.Signals) -> bool:
    """Whether a process has a handler for a signal, which would end it otherwise."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return False
    caught = next(line.split()[1] for line in lines if line.startswith("SigCgt:"))
    return bool(int(caught, 16) >> (number - 1) & 1)
