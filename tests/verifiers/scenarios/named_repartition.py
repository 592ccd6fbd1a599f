"""``StreamsNamedRepartitionTest``: the changed program goes on with the state of the first one.

Kafka's test looks only for output of the changed version. Here every sum is compared, too: a record
counts by the version that has read it, and the offsets at the change say which one that was.
"""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict

from penstock.serde.serdes import Serdes
from tests.verifiers.produced import feed_through_kills
from tests.verifiers.programs import named_repartition
from tests.verifiers.programs.named_repartition import APPLICATION, INPUT, SUMS
from tests.verifiers.programs.optimized import key_of
from tests.verifiers.trial import Trial, TrialError

_PARTITIONS = 6
_SETTINGS = {"statestore.cache.max.bytes": 0, "commit.interval.ms": 100}


def run(trial: Trial) -> str:
    """Run both versions with kills; the second one is refused until its plan is accepted."""
    trial.create_topics(dict.fromkeys(named_repartition.TOPICS, _PARTITIONS))
    _run_version(trial, "named-repartition", {})
    at_change = trial.group_offsets(APPLICATION)
    _check_refusal(trial)
    name, _, digest = _accepted(trial).partition("=")
    trial.report(f"the changed plan is accepted: {name}={digest}")
    _run_version(trial, "named-repartition-changed", {name: digest})
    _compare(trial, at_change)
    return "refused, accepted, and every sum goes on"


def _run_version(trial: Trial, program: str, settings: dict[str, str]) -> None:
    trial.start_app(program, APPLICATION, {**_SETTINGS, **settings})
    trial.wait_for_app()
    feed_through_kills(trial, INPUT)
    trial.close_app()


def _check_refusal(trial: Trial) -> None:
    """Start the changed program as it is, which has to be refused and to say how to go on."""
    app = trial.start_app("named-repartition-changed", APPLICATION, _SETTINGS)
    trial.leave_alone()
    trial.wait(lambda: not app.is_running, 120.0, "the refusal of the changed program")
    text = trial.app_text
    if "plan-changed" not in text or "penstock.accepted.plan=" not in text:
        raise TrialError(f"the changed program was not refused: {app.last_error()}")


def _accepted(trial: Trial) -> str:
    """Ask for the setting that accepts the plan, as an operator does."""
    target = f"{named_repartition.__file__}:build_changed"
    command = [
        sys.executable, "-m", "penstock", "plan", target, "--accept", "-b", trial.servers,
        "-c", f"application.id={APPLICATION}",
    ]  # fmt: skip
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=120,
        env=trial.environment(),
    )  # fmt: skip
    if done.returncode:
        raise TrialError(f"the plan is not accepted: {done.stdout}{done.stderr}")
    return done.stdout.strip()


def _compare(trial: Trial, at_change: dict[tuple[str, int], int]) -> None:
    sums: defaultdict[str, int] = defaultdict(int)
    for partition, offset, _, value in trial.read(INPUT):
        number = int((value or b"0").decode())
        is_changed = offset >= at_change.get((INPUT, partition), 0)
        sums[key_of(str(number))] += number + is_changed
    integer = Serdes.integer()
    found = {
        (key or b"").decode(): integer.deserialize(SUMS, value)
        for _, _, key, value in trial.read(SUMS)
    }
    trial.compare(SUMS, dict(sums), found)
