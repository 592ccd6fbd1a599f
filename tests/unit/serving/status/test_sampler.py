"""One sample serves everyone who watches, and nobody costs little."""

from __future__ import annotations

from penstock.serving.status.history import Observation
from penstock.serving.status.sampler import StatusSampler
from penstock.serving.status.values import ApplicationStatus
from tests.unit.serving.memory_application import MemoryApplication, one_instance, store_info, until


class Counted(MemoryApplication):
    """Counts its samples, and remembers whether somebody watched."""

    def __init__(self) -> None:
        super().__init__(one_instance(store_info("s")).cluster)
        self.asked: list[bool] = []

    def status(self, *, is_watched: bool) -> ApplicationStatus:
        self.asked.append(is_watched)
        return ApplicationStatus(at_ms=len(self.asked) * 1000, state="RUNNING")


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_who_asks_often_gets_the_same_sample() -> None:
    """Twenty consoles that ask in one second cost one sample."""
    application = Counted()
    sampler = StatusSampler(application, Clock())
    first = sampler.latest()
    assert all(sampler.latest() is first for _ in range(20))
    assert application.asked == [True]


def test_a_sample_nobody_wanted_for_long_is_taken_anew() -> None:
    """The first look after a while shows the present, not ten seconds ago."""
    application, clock = Counted(), Clock()
    sampler = StatusSampler(application, clock)
    sampler.latest()
    clock.now += 60
    assert not sampler.is_watched
    sampler.sample()
    assert sampler.latest().status.at_ms == 3_000
    assert application.asked == [True, False, True]


def test_listeners_get_each_sample_until_they_leave() -> None:
    """As long as somebody listens, the application is watched."""
    application = Counted()
    sampler = StatusSampler(application, Clock())
    got: list[Observation] = []
    leave = sampler.listen(got.append)
    sampler.sample()
    leave()
    sampler.sample()
    assert [seen.status.at_ms for seen in got] == [1_000]
    assert application.asked == [True, False]


def test_a_failure_does_not_end_the_sampling() -> None:
    """The next sample may work: a broker comes back."""

    class Failing(Counted):
        def status(self, *, is_watched: bool) -> ApplicationStatus:
            if not self.asked:
                self.asked.append(is_watched)
                raise OSError("away")
            return super().status(is_watched=is_watched)

    application = Failing()
    sampler = StatusSampler(application)
    sampler.start()
    try:
        until(lambda: len(application.asked) == 1)
        sampler.listen(lambda seen: None)
        until(lambda: len(application.asked) > 1)
    finally:
        sampler.close()
