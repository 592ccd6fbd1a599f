"""One run of the model of an ordinary day, from the broker to the verdict."""

from __future__ import annotations

import json
import random
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka.admin import AclOperation, ResourceType

from penstock.errors import PenstockError
from penstock.kafka.admin import Admin
from tests.cluster.application import Application
from tests.cluster.feeder import Feeder
from tests.cluster.hosts import Nest
from tests.cluster.processes import sweep
from tests.cluster.reading import Log
from tests.cluster.topology import APPLICATION, INPUTS
from tests.integration.kafka.proxy import KafkaProxy
from tests.integration.kafka.secured import add_user, allow, broker_with_logins, login
from tests.ordinary.actions import KINDS
from tests.ordinary.actions.day import USER, Day
from tests.ordinary.calendar import Calendar
from tests.ordinary.clock import MovableClock
from tests.ordinary.notes import NoteFeeder, judge_notes
from tests.ordinary.recorder import Place, Recorder, offsets_in_log
from tests.ordinary.report import Outcome
from tests.ordinary.sayings import Sayings
from tests.ordinary.silence import Silence
from tests.ordinary.topology import ALL_OUTPUTS, NOTED, NOTES, SEEN
from tests.ordinary.verdict import judge_day, judge_reading

PARTITIONS = 4
_LOOP_S = 0.5
_DISK_MB = 192
_PROGRESS_S = 30.0
_PROPERTIES = {
    "log.retention.check.interval.ms": "5000",
    "log.cleaner.backoff.ms": "2000",
    "offsets.retention.minutes": "1",
    "offsets.retention.check.interval.ms": "5000",
}
_EVERYTHING = (
    (ResourceType.TOPIC, "*"),
    (ResourceType.GROUP, "*"),
    (ResourceType.TRANSACTIONAL_ID, "*"),
    (ResourceType.BROKER, "kafka-cluster"),
)


@dataclass(frozen=True)
class Options:
    """What a run does; the fields are the options of the command line."""

    minutes: float = 30.0
    seed: int = 1
    actions: tuple[str, ...] = KINDS
    guarantee: str = "at_least_once"
    rate: int = 150
    drain_s: float = 300.0


@dataclass
class OrdinaryRun:
    """Everything that one run has started; leaving the block ends all of it."""

    options: Options
    folder: Path
    say: Callable[[str], None]
    _silence: Silence = field(default_factory=Silence)

    def __post_init__(self) -> None:
        self._nest = Nest(self.folder)
        self._began_s = time.monotonic()
        self._told_s = self._began_s
        self._proxy = KafkaProxy()
        self._broker = broker_with_logins(_PROPERTIES, advertised_port=self._proxy.port)
        self._disk: Path | None = None

    def __enter__(self) -> OrdinaryRun:
        self._broker.start()
        self._proxy.forward_to(self._broker.port)
        self._disk = _mount(self.folder / "state")
        return self

    def __exit__(self, *exc: object) -> None:
        sweep(self._nest.mark)
        self._proxy.close()
        self._broker.stop()
        if self._disk is not None:
            subprocess.run(["umount", "--lazy", str(self._disk)], check=False)

    def run(self) -> Outcome:
        """Start the application, do ordinary things, let it come to rest, and judge."""
        day = self._start()
        calendar = Calendar(day, self.options.actions, self._report)
        ends_s = time.monotonic() + self.options.minutes * 60
        while time.monotonic() < ends_s:
            self._tick(day)
            if day.covered:
                calendar.run_due()
        calendar.end_all()
        return self._judge(day, calendar)

    def _start(self) -> Day:
        servers = self._broker.internal_servers
        admin = Admin({"bootstrap.servers": servers, "log_level": 0})
        for topic in (*INPUTS, *ALL_OUTPUTS):
            admin.create_topic(topic, partitions=PARTITIONS)
        for topic in NOTES:
            admin.create_topic(topic, partitions=2)
        add_user(self._broker, USER, "s3cret")
        for resource, name in _EVERYTHING:
            allow(self._broker, USER, resource, name, AclOperation.ALL)
        clock = MovableClock(self.folder)
        app = self._application(clock)
        is_committed = self.options.guarantee != "at_least_once"
        isolation = "read_committed" if is_committed else "read_uncommitted"
        inputs = [(topic, number) for topic in INPUTS for number in range(PARTITIONS)]
        day = Day(
            broker=self._broker,
            proxy=self._proxy,
            clock=clock,
            application=app,
            sayings=Sayings(app.host.log("app")),
            recorder=Recorder(servers, inputs, isolation),
            feeder=Feeder(servers, self.options.rate, self.options.seed, PARTITIONS),
            notes=NoteFeeder(servers),
            chance=random.Random(self.options.seed),
            partitions=PARTITIONS,
            disk=self._disk,
        )
        self._log = Log(servers)
        if not clock.is_there or self._disk is None:
            self._report(f"clock can be moved: {clock.is_there}; own disk: {self._disk}")
        app.start()
        for thread in (day.recorder, day.feeder, day.notes):
            thread.start()
        return day

    def _application(self, clock: MovableClock) -> Application:
        settings = {
            "application.id": APPLICATION,
            **login(self._broker, USER, "s3cret"),
            "processing.guarantee": self.options.guarantee,
            "num.stream.threads": 2,
            "statestore.cache.max.bytes": 0,
            "state.dir": str(self._disk or self.folder / "state"),
            "spark.master": "local[2]",
            "metadata.max.age.ms": 5_000,
        }
        return Application(
            self._nest.host("driver", keeps_to_itself=False),
            settings,
            self._report,
            clock.variables,
            module="tests.ordinary.app",
            arguments=(str(self.folder),),
        )

    def _tick(self, day: Day) -> None:
        day.application.supervise()
        day.sayings.read()
        with suppress(PenstockError):
            # While the broker is away, what was committed before is what is known.
            day.committed(day.inputs)
        done = sum(day.covered.values())
        due = sum(self._behind(day).values())
        reason = day.sayings.reason
        self._silence.note(time.monotonic(), due=due, done=done, waiting_for=reason)
        if time.monotonic() - self._told_s > _PROGRESS_S:
            self._told_s = time.monotonic()
            self._report(f"{done} records done, {due} due; waiting for {reason}")
        time.sleep(_LOOP_S)

    def _behind(self, day: Day) -> dict[Place, int]:
        """Return how many offsets of each input are written and not committed."""
        position = day.recorder.position
        return {each: max(0, position[each] - day.read_up_to(each)) for each in day.inputs}

    def _judge(self, day: Day, calendar: Calendar) -> Outcome:
        """Wait for the rest, ask for whole stores, close the application, and compare."""
        for feeder in (*day.others, day.feeder):
            feeder.finish()
        day.notes.finish()
        self._report("no more actions; waiting for the rest")
        answers = self._wait_for_answers(day)
        if (problem := day.application.close()) is not None:
            day.problems.append(problem)
        day.recorder.stop()
        day.sayings.read()
        self._report("the application is closed; comparing")
        seen = self._log.read(SEEN)
        gone = {place: self._gone(day, place) for place in {each.place for each in day.deleted}}
        reading = judge_reading(day.recorder.records, seen, day.deleted, gone)
        notes, unread = judge_notes(day.notes, [each.text for each in self._log.read(NOTED)])
        checks = [*judge_day(self._log.written(), reading, answers), notes]
        problems = [*day.problems, *self._silence.problems, *sorted(day.sayings.wrong)]
        problems += [f"ended by itself: {end.last_error}" for end in day.application.own_ends]
        problems += calendar.problems
        if answers is None:
            problems.append("the application has not shown its stores")
        if not all(day.sayings.asked.values()):
            problems.append(f"no key was asked for: {dict(day.sayings.asked)}")
        return Outcome(
            checks=checks,
            problems=problems,
            effective=calendar.effective,
            without_effect=calendar.without_effect,
            asked=day.sayings.asked,
            unread=reading.unread + unread,
            longest_silence_s=self._silence.longest_s,
            may_double=day.sayings.has_rerun and self.options.guarantee == "at_least_once",
        )

    def _wait_for_answers(self, day: Day) -> dict[str, object] | None:
        """Wait until all is read, and return what the stores hold then."""
        deadline = time.monotonic() + self.options.drain_s
        answers = self.folder / "answers.json"
        while time.monotonic() < deadline:
            self._tick(day)
            ends = day.notes.ends()
            day.committed(list(ends))
            notes_left = sum(max(0, end - day.read_up_to(each)) for each, end in ends.items())
            if not any(self._behind(day).values()) and not notes_left:
                (self.folder / "ask").touch()
            if answers.exists():
                found: dict[str, object] = json.loads(answers.read_text(encoding="utf-8"))
                return found
        behind = {place: count for place, count in self._behind(day).items() if count}
        day.problems.append(f"not all is read after {self.options.drain_s:.0f} s: {behind}")
        return None

    def _gone(self, day: Day, place: Place) -> set[int]:
        """Return the offsets that operators may have deleted unread and the log has no more."""
        windows = [each for each in day.deleted if each.place == place]
        first, end = min(each.first for each in windows), max(each.end for each in windows)
        return set(range(first, end)) - offsets_in_log(day.servers, place, first, end)

    def _report(self, text: str) -> None:
        self.say(f"{time.monotonic() - self._began_s:7.1f} s  {text}")


def _mount(folder: Path) -> Path | None:
    """Make a disk of its own for the state, which can be filled; only root can do so."""
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={_DISK_MB}m", "penstock-ordinary", str(folder)],
        capture_output=True, check=False,
    )  # fmt: skip
    return folder if made.returncode == 0 else None
