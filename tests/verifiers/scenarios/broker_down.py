"""``StreamsBrokerDownResilienceTest``: no broker for longer than the clients' own timeouts.

After each time without a broker Java writes records and reads their copies.
"""

from __future__ import annotations

from collections import Counter

from tests.verifiers.produced import acknowledged, consume, start_producer
from tests.verifiers.programs import broker_down
from tests.verifiers.programs.broker_down import APPLICATION, CLIENTS, SINK, SOURCE
from tests.verifiers.trial import START_S, Trial, TrialError

#: Kafka's own test waits for 70 s: more than twice ``producer.retries`` times 15 s.
_DOWN_S = 70.0
#: For the other cases it is enough that connections fail again and again.
_SHORT_S = 15.0
_RECORDS = 3_000
_RATE = 1_000
_COPY_S = 120.0
_CLOSE_S = 60.0
_SETTINGS = {"commit.interval.ms": 100, **CLIENTS}


def run(trial: Trial) -> str:
    """Take the broker away while the program runs, starts, closes, and while it is killed."""
    copies = _Copies(trial)
    trial.create_topics(broker_down.TOPICS)
    trial.start_app("broker-down", APPLICATION, _SETTINGS)
    trial.wait_for_app()
    copies.check("before")
    _stay_down(trial, _DOWN_S)
    copies.check("after 70 s without a broker")
    for kind in trial.options.kills:
        if kind != "broker":
            _take_broker(trial)
            trial.kill(kind)
            _bring_back(trial, _SHORT_S)
            copies.check(f"after a kill of the {kind} without a broker")
    _close_without_broker(trial)
    trial.start_app("broker-down", APPLICATION, _SETTINGS)
    _bring_back(trial, _SHORT_S)
    trial.wait_for_app(timeout_s=START_S)
    copies.check("after a start without a broker")
    trial.close_app()
    copies.check_all()
    return f"{len(copies.sent)} records were copied, {copies.checks} checks"


class _Copies:
    """Everything that Java has written so far, which must be in the sink."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        self.sent: list[str] = []
        self.checks = 0

    def check(self, when: str) -> None:
        """Let Java write some more records, and read all copies from the beginning."""
        trial = self._trial
        producer = start_producer(trial, SOURCE, _RECORDS, _RATE, prefix=self.checks)
        trial.wait(lambda: not producer.is_running, _COPY_S, "Java's producer")
        self.checks += 1
        self.sent += acknowledged(producer)
        if producer.code or len(self.sent) != _RECORDS * self.checks:
            raise TrialError(f"Java's producer failed {when}:\n{producer.tail()}")
        found = Counter(consume(trial, SINK, len(self.sent), _COPY_S))
        wanted = Counter(self.sent)
        lost, more = (wanted - found).total(), (found - wanted).total()
        trial.report(f"{when}: {found.total()} copies of {wanted.total()} records")
        # Java reads as many records as it has written: a double takes the place of another one,
        # which ``check_all`` looks for.
        if more and trial.options.guarantee != "at_least_once":
            trial.problems.append(f"{more} copies are doubled {when}")
        if lost and not more:
            trial.problems.append(f"{lost} copies are missing {when}")

    def check_all(self) -> None:
        """Compare the whole sink, which may have more than Java was told to read."""
        found = Counter((value or b"").decode() for *_, value in self._trial.read(SINK))
        wanted = Counter(self.sent)
        lost, more = (wanted - found).total(), (found - wanted).total()
        if lost or (more and self._trial.options.guarantee != "at_least_once"):
            self._trial.problems.append(f"in the end {lost} copies are missing, {more} too many")


def _take_broker(trial: Trial) -> None:
    trial.take_brokers()
    trial.report("the broker is away")


def _bring_back(trial: Trial, after_s: float) -> None:
    trial.pass_time(after_s)
    trial.bring_brokers()
    trial.report("the broker is back")


def _stay_down(trial: Trial, seconds: float) -> None:
    _take_broker(trial)
    _bring_back(trial, seconds)


def _close_without_broker(trial: Trial) -> None:
    """Close the program while no broker answers; Kafka's test wants it to end then, too."""
    _take_broker(trial)
    trial.pass_time(5.0)
    trial.close_app(_CLOSE_S)
