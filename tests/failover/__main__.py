"""Kill the leader many times: ``python -m tests.failover --kills 20 --instances 3``."""

from __future__ import annotations

import argparse
import signal
import statistics
import tempfile
import time
from pathlib import Path

from tests.failover.harness import Instances


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.failover", description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--instances", type=int, default=3)
    parser.add_argument("--standbys", type=int, default=1)
    parser.add_argument("--stores", type=int, default=1)
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--clean", action="store_true", help="close the leader, do not kill it")
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = given.folder or Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        run(folder, given)


def run(folder: Path, given: argparse.Namespace) -> None:
    settings = {"num.standby.replicas": given.standbys, "app.stores": given.stores}
    how = signal.SIGTERM if given.clean else signal.SIGKILL
    with Instances(folder, partitions=given.partitions, **settings) as instances:
        gaps = []
        for number in range(given.instances):
            instances.start(number)
        instances.wait_for_output(0.0)
        for kill in range(given.kills):
            instances.wait_until_ready()
            leader = instances.leader()
            assert leader is not None, "nobody leads"
            began = time.monotonic()
            instances.kill(leader, how)
            # What was committed before the end may still be on its way.
            time.sleep(0.3)
            gap = instances.wait_for_output(began + 0.3) + 0.3
            gaps.append(gap)
            print(
                f"{kill + 1:3}: instance {leader} ended, next commit after {gap:.1f} s", flush=True
            )
            instances.start(leader)
        instances.stop_input()
        instances.wait_for_all()
        faults = instances.output.faults
        print(
            f"{len(gaps)} times, {instances.output.records} counts,"
            f" {len(faults)} lost or doubled; next commit after"
            f" {statistics.median(gaps):.1f} s (median), {max(gaps):.1f} s (worst)"
        )
        if faults:
            raise SystemExit("\n".join(faults[:20]))


if __name__ == "__main__":
    main()
