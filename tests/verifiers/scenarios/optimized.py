"""``StreamsOptimizedTest``: run, reset, and run again with shared repartition topics.

Kafka's test looks only for output. Here every sum is compared with plain Python, too.
"""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict

from penstock.serde.serdes import Serdes
from tests.verifiers.produced import feed_through_kills
from tests.verifiers.programs import optimized
from tests.verifiers.programs.optimized import JOINED, LENGTHS, SUMS, key_of
from tests.verifiers.trial import Trial, TrialError

_PARTITIONS = 6
_SETTINGS = {"statestore.cache.max.bytes": 0, "commit.interval.ms": 100}


def run(trial: Trial) -> str:
    """Run both versions with kills; the second one has to compute everything anew."""
    trial.create_topics(dict.fromkeys(optimized.TOPICS, _PARTITIONS))
    _run_version(trial, "optimized-none", 4)
    trial.report("reset")
    _reset(trial)
    _run_version(trial, "optimized-all", 1)
    _compare(trial)
    return "4 repartition topics, then 1; every sum is right"


def _run_version(trial: Trial, program: str, repartition_topics: int) -> None:
    settings = {
        **_SETTINGS,
        # Where the input lies decides nothing; both versions have to see all of it.
        "topology.optimization": program.rpartition("-")[2],
    }
    trial.start_app(program, optimized.APPLICATION, settings)
    trial.wait_for_app()
    trial.wait_for_app(f"REPARTITION TOPIC COUNT={repartition_topics}\n", 1.0)
    feed_through_kills(trial, optimized.INPUT)
    trial.close_app()


def _reset(trial: Trial) -> None:
    """Reset the application as an operator does, with the product's own tool."""
    command = [
        sys.executable, "-m", "penstock", "reset", "--bootstrap-server", trial.servers,
        "--application-id", optimized.APPLICATION, "--input-topics", optimized.INPUT,
        "--state-dir", str(trial.folder / "state"), "--force",
    ]  # fmt: skip
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=120,
        env=trial.environment(),
    )  # fmt: skip
    if done.returncode:
        raise TrialError(f"the reset failed: {done.stdout}{done.stderr}")


def _compare(trial: Trial) -> None:
    """Compare the last sum of each key; under at least once it may be greater."""
    lengths: defaultdict[str, int] = defaultdict(int)
    sums: defaultdict[str, int] = defaultdict(int)
    for _, _, _, value in trial.read(optimized.INPUT):
        text = (value or b"").decode()
        lengths[key_of(text)] += len(text)
        sums[key_of(text)] += int(text)
    integer = Serdes.integer()
    found_lengths = {
        (key or b"").decode(): integer.deserialize(LENGTHS, value)
        for _, _, key, value in trial.read(LENGTHS)
    }
    found_sums = {
        (key or b"").decode(): int((value or b"0").decode())
        for _, _, key, value in trial.read(SUMS)
    }
    trial.compare(LENGTHS, dict(lengths), found_lengths)
    trial.compare(SUMS, dict(sums), found_sums)
    joined = [
        ((key or b"").decode(), (value or b"").decode()) for *_, key, value in trial.read(JOINED)
    ]
    wrong = [(key, value) for key, value in joined if key != key_of(value.partition(":")[0])]
    if not joined or wrong:
        trial.problems.append(f"{len(joined)} joined records, under a wrong key: {wrong[:5]}")
