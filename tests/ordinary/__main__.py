"""An ordinary day of an application: ``python -m tests.ordinary --minutes 30 --seed 7``.

Nothing is killed. Operators and other programs do what they do every day, and then every output,
every store and every answer is compared with plain Python.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from tests.ordinary.actions import KINDS
from tests.ordinary.run import Options, OrdinaryRun


def main(arguments: list[str]) -> int:
    """Run the test and return its exit status: 1 on any difference."""
    given = _parser().parse_args(arguments)
    actions = KINDS if given.actions == "all" else tuple(filter(None, given.actions.split(",")))
    unknown = sorted(set(actions) - {*KINDS, "none"})
    if unknown:
        sys.exit(f"--actions: {', '.join(unknown)} is not one of {', '.join(KINDS)}")
    chosen = tuple(kind for kind in actions if kind != "none")
    signal.signal(signal.SIGTERM, _leave)
    folder = Path(tempfile.mkdtemp(prefix="penstock-ordinary-")).resolve()
    print(f"seed {given.seed}, folder {folder}", flush=True)
    options = Options(given.minutes, given.seed, chosen, given.guarantee, given.rate)
    try:
        with OrdinaryRun(options, folder, lambda text: print(text, flush=True)) as run:
            outcome = run.run()
        print(outcome.text(), flush=True)
        return 0 if outcome.is_ok else 1
    finally:
        if not given.keep:
            shutil.rmtree(folder, ignore_errors=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.ordinary", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="how long actions happen")
    parser.add_argument("--seed", type=int, default=1, help="the seed of input and actions")
    parser.add_argument("--actions", default="all", help=f"none, all, or some of {','.join(KINDS)}")
    parser.add_argument(
        "--guarantee", default="at_least_once", choices=("at_least_once", "exactly_once_v2")
    )
    parser.add_argument("--rate", type=int, default=150, help="input records per second")
    parser.add_argument("--keep", action="store_true", help="keep the folder with all logs")
    return parser


def _leave(number: int, frame: object) -> None:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
