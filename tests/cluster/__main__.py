"""The operator's cluster test: ``python -m tests.cluster --minutes 30 --seed 7``.

It starts three Kafka brokers, a Spark standalone cluster with two workers and an application,
feeds it, kills and pauses all of them at random, and then compares every result.
"""

from __future__ import annotations

import argparse
import atexit
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.cluster.faults import KINDS, Faults
from tests.cluster.hosts import Nest
from tests.cluster.run import ClusterRun, Options
from tests.cluster.spark_cluster import SparkCluster
from tests.cluster.standalone import Standalone

_LOCAL_KINDS = tuple(kind for kind in KINDS if kind not in ("executor", "worker", "decommission"))


def main(
    arguments: list[str],
    make_spark: Callable[[Nest], SparkCluster] = Standalone,
    kinds: tuple[str, ...] = KINDS,
    make_faults: type[Faults] = Faults,
) -> int:
    """Run the test and return its exit status: 1 on any difference."""
    given = _parser(kinds).parse_args(arguments)
    options = Options(
        minutes=given.minutes,
        seed=given.seed,
        faults=_chosen(given.faults, _LOCAL_KINDS if given.local else kinds),
        rate=given.rate,
        brokers=given.brokers,
        is_local=given.local,
    )
    signal.signal(signal.SIGTERM, _leave)
    folder = Path(tempfile.mkdtemp(prefix="penstock-cluster-")).resolve()
    _say(f"seed {options.seed}, folder {folder}")
    run = ClusterRun(options, folder, _say, make_spark=make_spark, make_faults=make_faults)
    atexit.register(run.end)
    try:
        with run:
            outcome = run.run()
        _say(outcome.text())
        return 0 if outcome.is_ok else 1
    finally:
        if not given.keep:
            shutil.rmtree(folder, ignore_errors=True)


def _say(text: str) -> None:
    print(text, flush=True)


def _parser(kinds: tuple[str, ...]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.cluster", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="how long faults happen")
    parser.add_argument("--seed", type=int, default=1, help="the seed of input and faults")
    parser.add_argument("--faults", default="all", help=f"none, all, or some of {','.join(kinds)}")
    parser.add_argument("--rate", type=int, default=300, help="input records per second")
    parser.add_argument("--brokers", type=int, default=3, help="how many Kafka brokers")
    parser.add_argument("--local", action="store_true", help="Spark inside the driver, local[2]")
    parser.add_argument("--keep", action="store_true", help="keep the folder with all logs")
    return parser


def _chosen(given: str, possible: tuple[str, ...]) -> tuple[str, ...]:
    if given == "none":
        return ()
    chosen = possible if given == "all" else tuple(given.split(","))
    unknown = sorted(set(chosen) - set(possible))
    if unknown:
        sys.exit(f"--faults: {', '.join(unknown)} is not one of {', '.join(possible)}")
    return chosen


def _leave(number: int, frame: object) -> None:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
