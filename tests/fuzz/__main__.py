"""The command: ``python -m tests.fuzz``. Exit 0: nothing found, 1: something is wrong.

Without ``--scripts`` it feeds broken SQL to parser and engine: a text must run or be refused. It
uses atheris, which watches coverage, where it is installed; else mutations of our own. With
``--scripts N`` it runs N random scripts and compares what they write with a plain recomputation.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

from tests.fuzz.mutations import mutated, seeds
from tests.fuzz.scripts.command import run
from tests.fuzz.target import Target


def main(arguments: list[str] | None = None) -> int:
    """Runs the command and gives its exit code."""
    options = _parser().parse_args(arguments)
    if options.scripts is not None:
        return run(options.scripts, options.seed)
    has_atheris = importlib.util.find_spec("atheris") is not None
    if has_atheris and not options.plain:
        return _with_atheris(options.seconds, options.seed)
    return _plain(options.seconds, options.seed)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="how long to go on")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other texts")
    parser.add_argument("--scripts", type=int, help="run so many random scripts instead")
    parser.add_argument("--plain", action="store_true", help="no atheris, even if it is there")
    return parser


def _plain(seconds: float, seed: int) -> int:
    target, chance = Target(), random.Random(seed)
    deadline = time.monotonic() + seconds
    tried = 0
    for text in mutated(seeds(), chance):
        if time.monotonic() > deadline:
            break
        tried += 1
        try:
            target(text)
        # Finding out what else is raised is what this is for.
        except Exception:  # noqa: BLE001
            traceback.print_exc()
            print(f"fuzz: text {tried} of seed {seed} raises: {text!r}")
            return 1
    print(f"fuzz: {tried} texts, nothing found")
    return 0


def _with_atheris(seconds: int, seed: int) -> int:
    """Starts a process of its own: modules are instrumented while they are imported."""
    options = [f"-max_total_time={seconds}", f"-seed={seed}", "-max_len=2000"]
    with tempfile.TemporaryDirectory() as folder:
        for number, text in enumerate(seeds()):
            (Path(folder) / f"seed-{number}").write_bytes(text)
        command = [sys.executable, "-m", "tests.fuzz.with_atheris", *options, folder]
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
