"""One run of the model of an ordinary day, from the broker to the verdict."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from penstock.kafka.admin import Admin
from penstock.kafka.broker_listener import ClientListener
from penstock.kafka.embedded import EmbeddedBroker
from tests.cluster.application import Application
from tests.cluster.feeder import Feeder
from tests.cluster.hosts import Nest
from tests.cluster.processes import sweep
from tests.cluster.reading import Log
from tests.cluster.schedule import Schedule
from tests.cluster.topology import AMOUNTS, APPLICATION, INPUTS, OUTPUTS, SUMS
from tests.cluster.verdict import Check, judge
from tests.integration.kafka.proxy import KafkaProxy
from tests.ordinary.actions import KINDS, Actions, Parts, wait_a_moment
from tests.ordinary.clock import MovableClock
from tests.ordinary.recorder import Recorder
from tests.ordinary.silence import Silence, said, wrong_answers

PARTITIONS = 4
_LOOP_S = 0.5
_PROPERTIES = {"log.retention.check.interval.ms": "5000", "log.cleaner.backoff.ms": "2000"}


@dataclass(frozen=True)
class Options:
    """What a run does; the fields are the options of the command line."""

    minutes: float = 30.0
    seed: int = 1
    actions: tuple[str, ...] = KINDS
    guarantee: str = "at_least_once"
    rate: int = 200
    drain_s: float = 240.0


@dataclass
class Outcome:
    """Everything that is known after a run."""

    checks: list[Check]
    problems: list[str]
    done: Counter[str]
    #: Output may have been written twice, because a batch was run again.
    may_double: bool

    @property
    def is_ok(self) -> bool:
        return not self.problems and all(self._is_right(check) for check in self.checks)

    def text(self) -> str:
        """Write the final table."""
        heads = ("output", "expected", "lost", "doubled", "disordered", "wrong")
        lines = [f"{heads[0]:30}" + "".join(f"{head:>12}" for head in heads[1:])]
        for check in self.checks:
            numbers = (check.expected, check.lost, check.doubled, check.disordered, check.wrong)
            lines.append(f"{check.name:30}" + "".join(f"{number:12}" for number in numbers))
            lines += [f"    {example}" for example in check.examples]
        listed = ", ".join(f"{kind} {count}" for kind, count in sorted(self.done.items()))
        lines.append(f"actions: {self.done.total()} ({listed or 'none'})")
        lines += [f"problem: {problem}" for problem in self.problems]
        return "\n".join([*lines, "verdict: " + ("right" if self.is_ok else "FAILED")])

    def _is_right(self, check: Check) -> bool:
        doubled = 0 if self.may_double else check.doubled
        return not (check.lost or check.disordered or check.wrong or doubled)


class OrdinaryRun:
    """Everything that one run has started; leaving the block ends all of it."""

    def __init__(self, options: Options, folder: Path, say: Callable[[str], None]) -> None:
        self.options = options
        self._nest = Nest(folder)
        self._folder = folder
        self._say = say
        self._began_s = time.monotonic()
        self._schedule = Schedule()
        self._silence = Silence()
        self._done: Counter[str] = Counter()
        self._proxy = KafkaProxy()
        listener = ClientListener(advertised_port=self._proxy.port)
        self._broker = EmbeddedBroker(properties=_PROPERTIES, listener=listener)

    def __enter__(self) -> OrdinaryRun:
        self._broker.start()
        self._proxy.forward_to(self._broker.port)
        return self

    def __exit__(self, *exc: object) -> None:
        sweep(self._nest.mark)
        self._proxy.close()
        self._broker.stop()

    def run(self) -> Outcome:
        """Start the application, do ordinary things, let it come to rest, and judge."""
        self._start()
        chance = random.Random(self.options.seed)
        actions = Actions(self._parts, chance, PARTITIONS)
        ends_s = time.monotonic() + self.options.minutes * 60
        next_s = wait_a_moment(chance)
        while time.monotonic() < ends_s:
            self._tick()
            if self.options.actions and time.monotonic() > next_s:
                kind = chance.choice(self.options.actions)
                what = getattr(actions, kind)()
                if what is not None:
                    self._done[kind] += 1
                    self._report(f"action {self._done.total()}: {kind}: {what}")
                next_s = wait_a_moment(chance)
        return self._judge()

    def _start(self) -> None:
        servers = self._broker.internal_servers
        admin = Admin({"bootstrap.servers": servers, "log_level": 0})
        for topic in (*INPUTS, *OUTPUTS):
            admin.create_topic(topic, partitions=PARTITIONS)
        clock = MovableClock(self._folder)
        self._report("the clock can be moved" if clock.is_there else "no cc: clock is left out")
        settings = {
            "application.id": APPLICATION,
            "bootstrap.servers": self._broker.bootstrap_servers,
            "processing.guarantee": self.options.guarantee,
            "num.stream.threads": 2,
            "statestore.cache.max.bytes": 0,
            "state.dir": str(self._folder / "state"),
            "spark.master": "local[2]",
        }
        host = self._nest.host("driver", keeps_to_itself=False)
        self._app = Application(
            host, settings, self._report, clock.variables, module="tests.ordinary.app"
        )
        is_committed = self.options.guarantee != "at_least_once"
        inputs = [(topic, number) for topic in INPUTS for number in range(PARTITIONS)]
        isolation = "read_committed" if is_committed else "read_uncommitted"
        recorder = Recorder(servers, inputs, isolation)
        feeder = Feeder(servers, self.options.rate, self.options.seed, PARTITIONS)
        self._log = Log(servers)
        self._parts = Parts(
            servers, self._proxy, clock, self._app, recorder, self._schedule, [feeder]
        )
        self._app.start()
        recorder.start()
        feeder.start()

    def _tick(self) -> None:
        self._schedule.run_due()
        self._app.supervise()
        sayings = said(self._app.host.log("app"))
        reason = sayings[-1]["waiting_for"] if sayings else "the start"
        self._silence.note(time.monotonic(), due=self._due(), done=self._sums(), waiting_for=reason)
        time.sleep(_LOOP_S)

    def _due(self) -> int:
        return len(self._parts.recorder.records[AMOUNTS])

    def _sums(self) -> int:
        """Return how many sums are written; markers of transactions are counted too."""
        parts = self._log.partitions([SUMS])
        return sum(self._log._admin.end_offsets(parts, committed=True).values())

    def _judge(self) -> Outcome:
        """Undo everything, wait for the rest, close the application, and compare."""
        self._schedule.run_all()
        for feeder in reversed(self._parts.feeders):
            feeder.finish()
        self._report("no more actions; waiting for the rest")
        deadline = time.monotonic() + self.options.drain_s
        checks = self._checks()
        while any(check.lost for check in checks) and time.monotonic() < deadline:
            for _ in range(10):
                self._tick()
            checks = self._checks()
        sayings = said(self._app.host.log("app"))
        problems = [*self._silence.problems, *wrong_answers(sayings)]
        problems += [f"ended by itself: {end.last_error}" for end in self._app.own_ends]
        if (problem := self._app.close()) is not None:
            problems.append(problem)
        self._parts.recorder.stop()
        reruns = any(saying["reruns"] for saying in sayings)
        may_double = reruns and self.options.guarantee == "at_least_once"
        return Outcome(self._checks(), problems, self._done, may_double)

    def _checks(self) -> list[Check]:
        inputs = {topic: list(self._parts.recorder.records[topic]) for topic in INPUTS}
        return judge(replace(self._log.written(), inputs=inputs))

    def _report(self, text: str) -> None:
        self._say(f"{time.monotonic() - self._began_s:7.1f} s  {text}")
