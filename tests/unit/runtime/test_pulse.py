"""A process that stood still knows so before it claims anything: ``pulse``."""

from __future__ import annotations

from penstock.runtime.spark.driver.instances.pulse import Pulse, process_pulse


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def awake(clock: Clock, pulse: Pulse, seconds: float) -> None:
    for _ in range(int(seconds * 2)):
        clock.now_s += 0.5
        pulse.beat()


def test_a_process_that_is_awake_is_steady() -> None:
    clock = Clock()
    pulse = Pulse(clock)
    awake(clock, pulse, 30)
    assert pulse.is_steady(5.0)


def test_a_process_that_wakes_up_is_not_steady_for_a_while() -> None:
    """Neither before the first beat, nor until it can have heard from Kafka."""
    clock = Clock()
    pulse = Pulse(clock)
    awake(clock, pulse, 2)
    clock.now_s += 60
    assert not pulse.is_steady(5.0)
    pulse.beat()
    assert not pulse.is_steady(5.0)
    awake(clock, pulse, 2)
    assert not pulse.is_steady(5.0)
    awake(clock, pulse, 2)
    assert pulse.is_steady(5.0)


def test_a_short_pause_costs_nobody_the_lead() -> None:
    clock = Clock()
    pulse = Pulse(clock)
    clock.now_s += 4
    pulse.beat()
    assert pulse.is_steady(5.0)
    assert not pulse.is_steady(3.0)


def test_a_process_has_one_pulse() -> None:
    assert process_pulse() is process_pulse()
    assert process_pulse().is_steady(60.0)
