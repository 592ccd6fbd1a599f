"""The stream threads of one application, or of a pool of applications."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from pyspark import SparkContext

from penstock.errors import StreamsError
from penstock.runtime.spark.driver.executors.copy_places import tag_variable
from penstock.runtime.spark.driver.executors.spark_executors import (
    ExecutorId,
    is_local,
    local_cores,
)
from penstock.runtime.spark.driver.observing.spark_pages import (
    ShownState,
    ShownTask,
    SparkPages,
    in_words,
)
from penstock.runtime.spark.driver.session import ask_jvm
from penstock.runtime.spark.driver.threads.assignment import place_of
from penstock.runtime.spark.driver.threads.door import Door, LiveThread
from penstock.runtime.spark.driver.threads.thread_job import ThreadJob
from penstock.runtime.spark.exchange.questions import Worked
from penstock.runtime.spark.exchange.stage_request import Endpoint

log = logging.getLogger(__name__)

#: How long to wait for threads that Spark has no room for, before those that are there do all.
_ARRIVAL_S = 5.0
_LOOK_S = 0.5
#: How long the end of a process takes to be noticed.
_LEAVE_S = 0.3
#: After this time without a beat it is not known whether a thread's process runs.
_BEAT_S = 5.0
#: How long threads may take to close what they have, and Spark to end their tasks then.
_END_S, _LAST_S = 10.0, 2.0
_JVM_S = 2.0


class Seat(NamedTuple):
    """A slot of an application, or a copy of one: what a thread has to do."""

    application_id: str
    number: int
    #: The thread that keeps a copy; empty for the slot itself.
    copy_at: str = ""


@dataclass(frozen=True, slots=True)
class _Ending:
    """Jobs and threads that nobody uses any more."""

    jobs: list[ThreadJob]
    threads: list[LiveThread]
    door: Door | None

    def end(self) -> None:
        """Tell the threads to end, and wait for them; Spark kills those left."""
        for each in self.threads:
            each.end()
        deadline = time.monotonic() + _END_S
        for each in self.threads:
            each.has_left.wait(max(deadline - time.monotonic(), 0.0))
        # A task that is just starting is told to end when it has come up. A thread that is too
        # busy to end has left, and Spark has to kill it.
        deadline = time.monotonic() + _LAST_S
        for job in self.jobs:
            job.close(max(deadline - time.monotonic(), 0.0))
        if self.door is not None:
            # Not before: a thread that Spark starts again meanwhile is told to end.
            self.door.close()
        for each in self.threads:
            each.hang_up()


class StreamThreads:
    """Starts stream threads in Spark, and knows which of them live and what each has to do.

    Args:
        name: what Spark's pages call the job.
        tags: the tags of places that threads tell about.
    """

    def __init__(
        self, context: SparkContext, name: str, secret: bytes, *, tags: Iterable[str] = ()
    ) -> None:
        self.context = context
        self.secret = secret
        self._name = name
        self._tags = {tag: tag_variable(tag) for tag in tags}
        self._changed = threading.Condition()
        self._living: dict[str, LiveThread] = {}
        #: By thread: when the process beside it last said in which state it is, and that state.
        self._beats: dict[str, tuple[float, str]] = {}
        self._jobs: dict[str, ThreadJob] = {}
        #: Jobs whose threads belong to one slot each, because it has ended threads before.
        self._private: dict[Seat, str] = {}
        self._seats: dict[Seat, str] = {}
        #: By thread: what it has done for its Spark task.
        self._worked: dict[str, Worked] = {}
        #: The applications that use these threads.
        self._applications: set[str] = set()
        #: By application: what Spark's pages say about it.
        self._shown: dict[str, Callable[[], ShownState]] = {}
        self._pages: SparkPages | None = None
        self._wanted = 0
        self._is_short = False
        self._door: Door | None = None

    # Starting and ending

    def start(self, application_id: str, wanted: int) -> None:
        """Have at least so many threads, as far as Spark has room; they come up one by one."""
        with self._changed:
            self._applications.add(application_id)
            missing = self._with_room(wanted) - self._wanted
            if missing <= 0:
                return
            self._wanted += missing
            self._begin(missing, f"{self._name}: stream threads")

    def add(self, executor: ExecutorId) -> None:
        """Start one more thread on an executor, unless one is on its way there."""
        with self._changed:
            is_under_way = any(
                not job.is_over and job.executor == executor
                and not any(each.hello.job == job.name for each in self._living.values())
                for job in self._jobs.values()
            )  # fmt: skip
            if not is_under_way:
                self._begin(1, f"{self._name}: a stream thread on {executor.host}", executor)

    def seclude(self, seat: Seat) -> None:
        """Give a slot a thread of its own, after the threads that had it have ended repeatedly."""
        with self._changed:
            if seat in self._private:
                return
            log.warning("slot %d of %s gets a process of its own", seat.number, seat.application_id)
            job = self._begin(1, f"{seat.application_id}: stream thread {seat.number}")
            self._private[seat] = job.name
            self._seats.pop(seat, None)

    def end_idle(self) -> None:
        """End the threads that have nothing to do, if there are more than wanted."""
        with self._changed:
            busy = set(self._seats.values())
            shared = [each for each in self._living.values() if not self._is_private(each)]
            idle = [each for each in shared if each.endpoint.server not in busy]
            ending = idle[: max(len(shared) - self._wanted, 0)]
            for each in ending:
                self._forget(each)
        for each in ending:
            each.end()

    def retire(self, executors: Collection[str]) -> None:
        """End idle threads of executors that are to go, and have them replaced elsewhere.

        An executor waits for the tasks that run there, and a stream thread would never end. Copies
        in such a thread end with it.
        """
        with self._changed:
            busy = {at for seat, at in self._seats.items() if not seat.copy_at}
            ending = [
                each for each in self._living.values()
                if each.endpoint.executor in executors and each.endpoint.server not in busy
            ]  # fmt: skip
            for each in ending:
                log.info("stream thread %s leaves its executor", each.endpoint.server)
                # Until its line ends, nothing else begins there.
                self._forget(each)
            if ending:
                self._begin(len(ending), f"{self._name}: stream threads")
        for each in ending:
            each.end()

    def shrink(self, wanted: int) -> None:
        """Want fewer threads from now on; ``end_idle`` ends them."""
        with self._changed:
            self._wanted = min(self._wanted, max(wanted, 1))

    def close(self) -> None:
        """End all threads; Spark kills those that do not end by themselves."""
        with self._changed:
            ending = self._take_all()
        ending.end()

    def _take_all(self) -> _Ending:
        ending = self._take(list(self._jobs), self._door)
        if self._pages is not None:
            self._pages.close()
        self._door = self._pages = None
        self._wanted = 0
        self._seats.clear()
        self._private.clear()
        return ending

    def _take(self, names: Iterable[str], door: Door | None = None) -> _Ending:
        """Forget jobs and their threads, which nobody gets any more; the caller ends them."""
        jobs = [self._jobs.pop(name) for name in names]
        gone = {job.name for job in jobs}
        threads = [each for each in self._living.values() if each.hello.job in gone]
        for each in threads:
            self._forget(each)
        self._changed.notify_all()
        return _Ending(jobs, threads, door)

    def _with_room(self, wanted: int) -> int:
        """Return how many threads fit, so that other jobs of a local session are not locked out."""
        if not is_local(self.context.getConf().get("spark.master")):
            return wanted
        cores = local_cores(self.context)
        return max(min(wanted, cores - 1), 1)

    def _begin(self, count: int, title: str, executor: ExecutorId | None = None) -> ThreadJob:
        if self._door is None:
            host = self.context.getConf().get("spark.driver.host") or "127.0.0.1"
            self._door = Door(host, self.secret, self)
            self._pages = SparkPages(self.context, self._shown_tasks, self._shown_state)
        self._drop_finished_jobs()
        job = ThreadJob(
            self.context, self._door.endpoint, self.secret, count, owner=self._name, title=title,
            tags=self._tags, failed=self._notify, executor=executor,
        )  # fmt: skip
        self._jobs[job.name] = job
        return job

    def _drop_finished_jobs(self) -> None:
        """Forget jobs that are over: one ends at once if Spark puts its task elsewhere."""
        used = {each.hello.job for each in self._living.values()} | set(self._private.values())
        for name, job in list(self._jobs.items()):
            if job.is_over and job.error is None and name not in used:
                del self._jobs[name]

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()

    # Coming and going

    def arrived(self, thread: LiveThread) -> None:
        """Note a thread that has come up; one that nobody wants any more is ended at once."""
        with self._changed:
            job = self._jobs.get(thread.hello.job)
            if job is not None:
                job.note_arrival()
                self._living[thread.endpoint.server] = thread
                self._changed.notify_all()
        if job is None:
            thread.end()

    def left(self, thread: LiveThread) -> None:
        """Note that a thread is gone; its slots need another one."""
        with self._changed:
            if self._living.get(thread.endpoint.server) is thread:
                self._forget(thread)
            self._changed.notify_all()

    def _forget(self, thread: LiveThread) -> None:
        server = thread.endpoint.server
        del self._living[server]
        self._beats.pop(server, None)
        self._worked.pop(server, None)
        for seat in [seat for seat, at in self._seats.items() if at == server]:
            del self._seats[seat]

    def beat(self, server: str, state: str) -> None:
        """Note the state of a thread's process, as the system has it."""
        self._beats[server] = time.monotonic(), state

    def worked(self, server: str, worked: Worked) -> None:
        """Note what a thread has done."""
        with self._changed:
            if server in self._living:
                self._worked[server] = worked

    def is_awake(self, server: str) -> bool:
        """Tell whether a thread's process was running a moment ago, whatever it is doing."""
        at, state = self._beats.get(server, (-_BEAT_S, "?"))
        return time.monotonic() - at < _BEAT_S and state not in "Tt?"

    def give_up(self, server: str) -> None:
        """Stop counting on a thread that does not answer, and let Spark kill its process.

        A paused process holds databases open. Spark starts the task again elsewhere.
        """
        with self._changed:
            # A thread whose process has ended leaves by itself in a moment.
            self._changed.wait_for(lambda: server not in self._living, _LEAVE_S)
            thread = self._living.get(server)
        if thread is None:
            return
        log.warning("stream thread %s at %s is given up", server, thread.endpoint.host)
        self.left(thread)
        thread.hang_up()
        task = thread.hello.task
        if task is not None:
            java: Any = self.context._jsc
            ask_jvm(
                lambda: java.sc().killTaskAttempt(task.attempt, True, "it does not answer"), _JVM_S
            )

    def wait_for(self, seat: Seat, is_over: threading.Event, look: Callable[[], None]) -> None:
        """Wait until the threads are there that a slot can have; return when the wait is over, too.

        If Spark has no room for all, those that came up do the work.

        Args:
            look: called twice a second.

        Raises:
            PenstockError: Spark cannot run stream threads, and why.
        """
        began = time.monotonic()
        with self._changed:
            while not is_over.is_set():
                there = len(self._candidates(seat))
                wanted = 1 if seat in self._private else max(self._wanted, 1)
                waited_s = time.monotonic() - began
                if there >= wanted:
                    self._is_short = False
                    return
                if there and (self._is_short or waited_s >= _ARRIVAL_S):
                    self._tell_short(there, wanted)
                    return
                if not there:
                    self._raise_error()
                self._changed.wait(_LOOK_S)
                # Not while the lock is held: the questions go to Spark's JVM.
                self._changed.release()
                try:
                    look()
                finally:
                    self._changed.acquire()

    def _tell_short(self, there: int, wanted: int) -> None:
        if not self._is_short:
            self._is_short = True
            log.warning(
                "%d of %d stream threads run: Spark has no free core for the others, whose work"
                " they do meanwhile", there, wanted,
            )  # fmt: skip

    def _raise_error(self) -> None:
        for job in self._jobs.values():
            if job.error is not None:
                raise job.error
        if not self._jobs:
            raise StreamsError(
                "spark-lost",
                "the stream threads were ended with their Spark session",
                fix="close the applications before the session, then start them again",
            )

    # What each has to do

    def candidates(self, seat: Seat) -> list[Endpoint]:
        """Return the threads that a slot may have, the oldest first."""
        with self._changed:
            return self._candidates(seat)

    def _candidates(self, seat: Seat) -> list[Endpoint]:
        job = self._private.get(seat)
        return [
            each.endpoint
            for each in self._living.values()
            if (each.hello.job == job if job is not None else not self._is_private(each))
        ]

    def _is_private(self, thread: LiveThread) -> bool:
        return thread.hello.job in self._private.values()

    def is_living(self, endpoint: Endpoint) -> bool:
        return endpoint.server in self._living

    def on(self, executor: ExecutorId) -> Endpoint | None:
        """Return the thread of an executor with the least to do; None if there is none."""
        load = self.load()
        with self._changed:
            there = [
                each.endpoint for each in self._living.values()
                if place_of(each.endpoint) == executor and not self._is_private(each)
            ]  # fmt: skip
        return min(there, key=lambda each: load[each.server], default=None)

    def tags(self) -> dict[str, Mapping[str, str]]:
        """Return the tags of executors with threads, by the executor's name."""
        with self._changed:
            return {each.endpoint.executor: each.hello.tags for each in self._living.values()}

    def load(self) -> Counter[str]:
        """Return how many slots each thread has, of all applications."""
        with self._changed:
            return Counter(at for seat, at in self._seats.items() if not seat.copy_at)

    def seat(self, seat: Seat, endpoint: Endpoint) -> None:
        """Note that a thread has a slot, or a copy of one."""
        with self._changed:
            self._seats[seat] = endpoint.server

    def vacate(self, seats: Iterable[Seat]) -> None:
        with self._changed:
            for seat in seats:
                self._seats.pop(seat, None)

    def leave(self, application_id: str) -> None:
        """Forget an application that has ended; the threads end with the last one."""
        with self._changed:
            self._applications.discard(application_id)
            self._shown.pop(application_id, None)
            for seat in [each for each in self._seats if each.application_id == application_id]:
                del self._seats[seat]
            if self._applications:
                own = [each for each in self._private if each.application_id == application_id]
                ending = self._take([self._private.pop(each) for each in own])
            else:
                # At once: an application that starts now must not count on threads that end.
                ending = self._take_all()
        ending.end()

    # What Spark's pages show

    def show(self, application_id: str, shown: Callable[[], ShownState]) -> None:
        """Let Spark's pages say how an application does, until it leaves."""
        with self._changed:
            self._shown[application_id] = shown

    def _shown_tasks(self) -> list[ShownTask]:
        with self._changed:
            living = [(each.hello, self._worked.get(server))
                      for server, each in self._living.items()]  # fmt: skip
            titles = {name: job.title for name, job in self._jobs.items()}
        return [
            ShownTask(
                task=hello.task, executor=hello.endpoint.executor,
                title=titles.get(hello.job, self._name), worked=worked,
            )
            for hello, worked in living
            if hello.task is not None and worked is not None
        ]  # fmt: skip

    def _shown_state(self) -> str:
        with self._changed:
            asked = list(self._shown.values())
        return in_words([each() for each in asked])
