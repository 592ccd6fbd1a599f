"""Whichever process dies, no record is lost, and with exactly-once none is counted twice."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.chaos.harness import Chaos

#: Every step of a batch at which a process can die.
STEPS = ("planned", "prepared", "read", "processed", "written", "committed", "ran")


def check(chaos: Chaos, *, exactly_once: bool) -> None:
    """Compares everything that was committed with what the input asks for."""
    ids = chaos.enriched_ids()
    lost = chaos.produced - len(ids)
    doubled = sum(count - 1 for count in ids.values())
    assert lost == 0, f"{lost} payments lost"
    if exactly_once:
        assert doubled == 0, f"{doubled} payments doubled"
        assert chaos.totals() == chaos.expected


def faults(folder: Path, steps: tuple[str, ...]) -> str:
    """One kill at each step, each in a batch of its own, each once."""
    wanted = []
    for batch, step in enumerate(steps, 1):
        token = folder / f"fault-{step}"
        token.touch()
        wanted.append(f"{step}:{batch}:{token}")
    return ",".join(wanted)


def kill_at(folder: Path, steps: tuple[str, ...], batch_records: int = 3_000) -> None:
    """Exactly-once holds at each fault point, with the state directory lost on the way."""
    with Chaos(folder, batch_records=batch_records) as chaos:
        chaos.produce(batch_records * (len(steps) + 2))
        wanted = faults(folder, steps)
        chaos.wait_for_all(60 * (len(steps) + 1), wanted)
        chaos.lose_state()
        chaos.produce(batch_records)
        chaos.wait_for_all(180, wanted)
        assert chaos.stop_app() == 0, chaos.log_tail()
        assert not list(folder.glob("fault-*")), "a fault point was never reached"
        check(chaos, exactly_once=True)


@pytest.mark.spark
@pytest.mark.kafka
def test_a_kill_inside_a_batch_changes_nothing(tmp_path: Path, needs_java: None) -> None:
    """A worker dies, then the driver, and with the driver all local state is gone."""
    with Chaos(tmp_path, batch_records=3_000) as chaos:
        chaos.produce(12_000)
        wanted = faults(tmp_path, ("written", "ran"))
        chaos.start_app(wanted)
        chaos.await_death(300)
        assert not list(tmp_path.glob("fault-*")), "a fault point was never reached"
        chaos.lose_state()
        chaos.wait_for_all(300)
        assert chaos.stop_app() == 0, chaos.log_tail()
        check(chaos, exactly_once=True)


@pytest.mark.chaos
def test_a_kill_at_every_step_of_a_batch_changes_nothing(tmp_path: Path) -> None:
    kill_at(tmp_path, STEPS)


@pytest.mark.chaos
def test_a_kill_in_a_backlog_changes_nothing(tmp_path: Path) -> None:
    """Batches so large that workers have read ahead of them."""
    kill_at(tmp_path, ("read", "processed", "written", "committed"), batch_records=60_000)


@pytest.mark.chaos
@pytest.mark.parametrize("guarantee", ["exactly_once_v2", "at_least_once"])
def test_random_kills_of_everything(tmp_path: Path, guarantee: str) -> None:
    """At least 20 kills of driver, workers, broker and state while 200k records go through."""
    with Chaos(tmp_path, guarantee=guarantee, batch_records=8_000, seed=7) as chaos:
        actions = [chaos.kill_driver, chaos.kill_worker, chaos.kill_broker, chaos.lose_state]
        chaos.ensure_app()
        while sum(chaos.kills.values()) < 24 or chaos.produced < 200_000:
            if chaos.produced < 200_000:
                chaos.produce(8_000)
            time.sleep(chaos.random.uniform(1, 12))
            chaos.random.choices(actions, weights=(3, 6, 2, 1))[0]()
            chaos.ensure_app()
        chaos.wait_for_all(900)
        assert chaos.stop_app() == 0, chaos.log_tail()
        print(dict(chaos.kills))
        check(chaos, exactly_once=guarantee == "exactly_once_v2")
