"""One verifier's run: a broker, the program, Kafka's Java beside it, and what is killed."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from confluent_kafka import Consumer, KafkaError, TopicPartition

from penstock.kafka.admin import Admin
from penstock.kafka.errors import KafkaRequestError
from penstock.kafka.installation import ensure_installed
from tests.cluster.application import Application
from tests.cluster.brokers import Brokers
from tests.cluster.faults import Parts
from tests.cluster.hosts import Nest, reap
from tests.cluster.injector import Injector
from tests.cluster.processes import look, sweep
from tests.cluster.schedule import Schedule
from tests.verifiers.jars import LATEST, class_path
from tests.verifiers.java_program import JavaProgram, command, write_properties
from tests.verifiers.kills import Kills, Progress
from tests.verifiers.report import differences

T = TypeVar("T")
_LOOP_S = 0.2
#: How long Kafka may take until all partitions have leaders again.
_ANSWER_S = 60.0
_PROGRESS_S = 15.0
#: How long a start may take on a slow machine.
START_S = 180.0
#: How long processes may outlive the program that they work for.
_LEFTOVERS_S = 60.0
#: So many rounds of kills never come to an end before the input does.
_ROUNDS = 1000


class TrialError(Exception):
    """Something that a verifier waits for has not come."""


@dataclass(frozen=True)
class Options:
    """What a run does; the fields are the options of the command line."""

    guarantee: str = "exactly_once_v2"
    kills: tuple[str, ...] = ()
    seed: int = 1
    brokers: int = 3
    #: How often each kind is killed, at least, where Java's generator goes on for ever.
    rounds: int = 2


@dataclass
class Trial:
    """Everything that one run has started; leaving the block ends all of it."""

    name: str
    options: Options
    folder: Path
    say: Callable[[str], None]
    problems: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._nest = Nest(self.folder)
        self._began_s = self._told_s = time.monotonic()
        self.schedule = Schedule()
        self.chance = random.Random(self.options.seed)
        self.brokers = Brokers(self._nest, self.options.brokers)
        self._java_host = self._nest.host("java", keeps_to_itself=False)
        self._injector: Injector | None = None
        self._injectors: list[Injector] = []
        self._killed: Counter[str] = Counter()
        self._faults: Kills | None = None
        self._programs = 0
        self.app: Application | None = None
        self._is_supervised = True
        self._progress: Progress | None = None

    def __enter__(self) -> Trial:
        self.brokers.start_all()
        # Three brokers may take a while on a machine that is busy.
        self.admin = Admin({"bootstrap.servers": self.servers, "log_level": 0}, timeout_s=120.0)
        return self

    def __exit__(self, *exc: object) -> None:
        if self._progress is not None:
            self._progress.stop()
        sweep(self._nest.mark)
        reap()

    @property
    def servers(self) -> str:
        return self.brokers.bootstrap_servers

    @property
    def mark(self) -> str:
        """The mark that every process of this run carries."""
        return self._nest.mark

    def report(self, text: str) -> None:
        self.say(f"{self.name:18}{time.monotonic() - self._began_s:6.1f} s  {text}")

    def environment(self) -> dict[str, str]:
        """Return the environment for a command of the product."""
        return self._nest.environment()

    # Kafka

    def create_topics(self, partitions: Mapping[str, int]) -> None:
        for topic, count in partitions.items():
            self.admin.create_topic(topic, partitions=count, replication=self.brokers.replication)

    def read(self, topic: str) -> list[tuple[int, int, bytes | None, bytes | None]]:
        """Return partition, offset, key and value of every committed record of a topic."""
        count = len(self.end_offsets(topic))
        consumer = Consumer(
            {
                "bootstrap.servers": self.servers,
                "group.id": "verifiers-check",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "enable.auto.commit": False,
            }
        )
        consumer.assign([TopicPartition(topic, number, 0) for number in range(count)])
        found: list[tuple[int, int, bytes | None, bytes | None]] = []
        ended = 0
        while ended < count:
            for message in consumer.consume(10_000, 0.5):
                error = message.error()
                if error is None:
                    place = message.partition(), message.offset()
                    found.append((*place, message.key(), message.value()))
                elif error.code() == KafkaError._PARTITION_EOF:
                    ended += 1
                else:
                    raise TrialError(str(error))
        consumer.close()
        return found

    def ask(self, question: Callable[[], T], what: str) -> T:
        """Ask Kafka until it answers: after a kill, a partition gets a new leader first."""
        answers: list[T] = []

        def has_answered() -> bool:
            with suppress(KafkaRequestError):
                answers.append(question())
            return bool(answers)

        self.wait(has_answered, _ANSWER_S, what)
        return answers[0]

    def end_offsets(self, topic: str) -> dict[tuple[str, int], int]:
        """Return the end of each partition of a topic."""
        count = len(self.ask(lambda: self.admin.topic(topic), topic).partitions)
        places = [(topic, number) for number in range(count)]
        return self.ask(lambda: self.admin.end_offsets(places), f"the ends of {topic}")

    def group_offsets(self, application: str) -> dict[tuple[str, int], int]:
        """Return what an application has committed, as it is now."""
        return self.ask(lambda: self.admin.group_offsets(application), "the group's offsets")

    def committed(self) -> dict[tuple[str, int], int]:
        """Return the offsets that the program has committed, as seen last."""
        return {} if self._progress is None else self._progress.offsets

    def compare(self, topic: str, expected: Mapping[str, int], found: Mapping[str, int]) -> None:
        """Note the keys whose last value is wrong; at least once may have counted some twice."""
        may_double = self.options.guarantee == "at_least_once"
        wrong = differences(expected, found, may_double=may_double)
        if wrong or not expected:
            self.problems.append(f"{topic}: (found, expected) of {len(wrong)} keys: {wrong}")

    def take_brokers(self) -> None:
        """Kill every broker; ``bring_brokers`` starts them again."""
        for broker in self.brokers.brokers:
            self.brokers.kill(broker)
        self._killed["broker"] += 1

    def bring_brokers(self) -> None:
        self.brokers.start_all()

    # Java

    def java(
        self, main_class: str, *arguments: str, version: str = LATEST, where: str = "tests"
    ) -> JavaProgram:
        """Start one of Kafka's own programs: a test, or a tool with ``where="tools"``."""
        java, distribution = ensure_installed()
        path = class_path(version, distribution)
        package = "streams.tests" if where == "tests" else where
        self._programs += 1
        name = f"{self._programs}-{main_class}"
        full_name = f"org.apache.kafka.{package}.{main_class}"
        process = self._java_host.start(
            name, command(java.executable, path, full_name, *arguments), {}
        )
        return JavaProgram(main_class, process, self._java_host.log(name))

    def properties(self, **more: object) -> str:
        """Write the properties file of a test."""
        values = {
            "bootstrap.servers": self.servers,
            "processing.guarantee": self.options.guarantee,
            "state.dir": str(self._java_host.folder / "state"),
            **more,
        }
        return str(write_properties(self._java_host.folder / "test.properties", values))

    # The program

    def start_app(
        self, program: str, application: str, settings: Mapping[str, Any] | None = None
    ) -> Application:
        """Start a program in a process of its own, with the settings of Kafka's own runs."""
        config: dict[str, Any] = {
            "application.id": application,
            "bootstrap.servers": self.servers,
            "processing.guarantee": self.options.guarantee,
            "replication.factor": self.brokers.replication,
            "auto.offset.reset": "earliest",
            "num.stream.threads": 2,
            "spark.master": "local[2]",
            "spark.ui.enabled": "false",
            "state.dir": str(self.folder / "state"),
            **(settings or {}),
        }
        host = self._nest.host(f"app-{self._programs}", keeps_to_itself=False)
        self._programs += 1
        self.app = Application(
            host, config, self.report, module="tests.verifiers.app", arguments=(program,)
        )
        self._is_supervised = True
        self.app.start()
        if self._progress is not None:
            self._progress.stop()
        # A reset takes offsets back, so what was seen of a former program counts no more.
        self._progress = Progress(self.servers, application)
        self._progress.start()
        return self.app

    @property
    def app_text(self) -> str:
        """Everything that the program has written, in all its lives."""
        assert self.app is not None
        log = self.app.host.log("app")
        return log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""

    def wait_for_app(self, text: str = "-> RUNNING", timeout_s: float = START_S) -> None:
        """Wait until the program has printed something."""
        self.wait(lambda: text in self.app_text, timeout_s, f"the program to print {text!r}")

    def leave_alone(self) -> None:
        """Start the program no more when it ends: the verifier looks at the end itself."""
        self._is_supervised = False

    def close_app(self, timeout_s: float = 90.0) -> None:
        """Close the program gracefully, and note everything that was wrong with its lives."""
        assert self.app is not None
        self._is_supervised = False
        if (problem := self.app.close(timeout_s)) is not None:
            self.problems.append(problem)
        self.app.kill()
        self._note_leftovers()
        self.note_failures()

    def _note_leftovers(self) -> None:
        """Note processes of the program that go on without it, also of lives that were killed."""
        try:
            self.wait(lambda: not self.leftovers(), _LEFTOVERS_S, "the end of its processes")
        except TrialError:
            self.problems.append(f"processes are left: {self.leftovers()}")

    def note_failures(self) -> None:
        """Note each end that no kill has caused; an uncaught error is one."""
        if self.app is not None:
            self.problems += [f"ended by itself: {end.last_error}" for end in self.app.own_ends]

    # Killing

    @property
    def faults(self) -> Kills:
        """The kills of this run, to be done one by one; ``disturb`` does them in turn."""
        if self._faults is None:
            assert self.app is not None
            parts = Parts(self.mark, self.brokers, self.app, None, self.schedule)
            self._faults = Kills(parts, self.chance, has_long_pauses=False)
        assert self.app is not None
        self._faults.parts.application = self.app
        return self._faults

    def disturb(self, pause_s: tuple[float, float] = (2.0, 6.0)) -> Injector:
        """Begin to kill in turn what the options say, each time after the next commit."""
        assert self._progress is not None
        kinds: Sequence[str] = self.options.kills * _ROUNDS
        self._injector = Injector(
            self.faults, self.chance, kinds, self.report, self._progress, pause_s, is_script=True
        )
        self._injectors.append(self._injector)
        return self._injector

    def kill(self, kind: str) -> None:
        """Kill one thing now, for a verifier that says itself when."""
        self.wait(lambda: self._kill(kind), START_S, f"a {kind} that can be killed")

    def _kill(self, kind: str) -> bool:
        what = getattr(self.faults, kind)()
        if what is not None:
            self._killed[kind] += 1
            self.report(f"{what}")
        return what is not None

    @property
    def kills(self) -> Counter[str]:
        """What was killed so far, by kind."""
        found = Counter(self._killed)
        for each in self._injectors:
            found.update(each.by_kind)
        return found

    def kill_if_there(self, kind: str) -> bool:
        """Kill one thing if it is there at this moment."""
        return self._kill(kind)

    def has_recovered(self, injector: Injector) -> bool:
        """Whether the program has committed after the last kill."""
        assert self._progress is not None
        return not injector.done or self._progress.has_committed(injector.done[-1].time_s)

    def calm(self) -> None:
        """Kill no more, and bring back what is away."""
        if self._injector is not None:
            self._injector.kinds = ()
        self.schedule.run_all()

    def rounds(self) -> int:
        """How many times every wanted kind was killed."""
        assert self._injector is not None
        by_kind = self._injector.by_kind
        return min((by_kind[kind] for kind in self.options.kills), default=_ROUNDS)

    def leftovers(self) -> list[str]:
        """Return the commands of what is left of a program that has ended."""
        found = look(self.mark).without_driver()
        return [f"{each.pid} (parent {each.parent}) {each.command[:100]}" for each in found]

    def finish_round(self, *topics: str) -> None:
        """End the kills when Java's input has ended.

        A kind that has not come yet, on a busy machine, comes now, without waiting for a commit
        before. It needs input that the program has not read: otherwise it would prove nothing.
        """
        self.calm()
        for kind in self.options.kills:
            if not self.kills[kind] and self.behind(topics):
                self.kill(kind)

    def behind(self, topics: Sequence[str]) -> int:
        """Return how many records of some topics the program has not read, as seen last."""
        done = self.committed()
        ends = [each for topic in topics for each in self.end_offsets(topic).items()]
        return sum(max(0, end - done.get(place, 0)) for place, end in ends)

    # Waiting

    def pass_time(self, seconds: float) -> None:
        """Go on for some seconds."""
        ends_s = time.monotonic() + seconds
        while time.monotonic() < ends_s:
            self.tick()

    def tick(self) -> None:
        """Do what is due: restarts, kills, and a line of progress."""
        self.schedule.run_due()
        if self._is_supervised and self.app is not None:
            self.app.supervise()
        self.problems += self.brokers.supervise()
        if self._injector is not None:
            self._injector.tick()
        if time.monotonic() - self._told_s > _PROGRESS_S:
            self._told_s = time.monotonic()
            done = 0 if self._progress is None else sum(self._progress.offsets.values())
            self.report(f"records read {done}")
        time.sleep(_LOOP_S)

    def wait(self, is_there: Callable[[], bool], timeout_s: float, what: str) -> None:
        """Go on until something holds.

        Raises:
            TrialError: it has not come in time.
        """
        deadline = time.monotonic() + timeout_s
        while not is_there():
            if time.monotonic() > deadline:
                raise TrialError(f"waited {timeout_s:.0f} s for {what}")
            self.tick()
