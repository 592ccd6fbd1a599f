"""Kafka's own verifiers with kills: ``python -m tests.verifiers smoke --kills driver,broker``.

Kafka's Java generates the input and judges the output of programs that are written with Penstock.
Without a name all verifiers run; without a guarantee each runs with every one that it can judge.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path
from subprocess import SubprocessError

from confluent_kafka import KafkaException

from penstock.errors import PenstockError
from penstock.kafka.download.jar_download import DownloadError
from penstock.kafka.installation import ensure_installed
from tests.verifiers.jars import LATEST, WITH_EOS, class_path
from tests.verifiers.kills import KINDS
from tests.verifiers.report import Verdict, table
from tests.verifiers.scenarios import BOTH, SCENARIOS
from tests.verifiers.trial import Options, Trial, TrialError


def main(arguments: list[str]) -> int:
    """Run the verifiers one after the other and return the exit status: 1 if one has failed."""
    parser = _parser()
    given = parser.parse_args(arguments)
    for name in given.names:
        if name not in SCENARIOS:
            parser.error(f"{name!r} is not one of {', '.join(SCENARIOS)}")
    kills = _chosen(parser, given.kills)
    planned = _planned(given.names, given.guarantee)
    if not planned:
        parser.error(f"none of these verifiers can judge {given.guarantee}")
    signal.signal(signal.SIGTERM, _leave)
    try:
        _download()
    except DownloadError as error:
        parser.exit(2, f"{error}\nthis needs Maven Central, or a mirror in ~/.m2/settings.xml\n")
    verdicts = []
    for name, guarantee in planned:
        brokers = given.brokers or SCENARIOS[name].brokers
        options = Options(guarantee, kills, given.seed, brokers, given.rounds)
        verdicts.append(run_one(name, options, keep=given.keep))
        _say(table(verdicts))
    return 0 if all(each.is_ok for each in verdicts) else 1


def run_one(name: str, options: Options, *, keep: bool = False) -> Verdict:
    """Run one verifier in a folder of its own. It is kept on request, and after a failure."""
    folder = Path(tempfile.mkdtemp(prefix=f"penstock-verifiers-{name}-")).resolve()
    _say(f"{name}: {options.guarantee}, seed {options.seed}, folder {folder}")
    verdict = Verdict(name, options.guarantee, wanted=options.kills)
    began_s = time.monotonic()
    with Trial(name, options, folder, _say) as trial:
        try:
            verdict.said = SCENARIOS[name].run(trial)
        except TrialError as error:
            trial.problems.append(str(error))
            trial.note_failures()
        except (PenstockError, KafkaException, OSError, SubprocessError) as error:
            # The other verifiers still have to run, and the table has to say what was wrong.
            traceback.print_exc()
            trial.problems.append(f"{type(error).__name__}: {error}")
        verdict.kills, verdict.problems = trial.kills, trial.problems
    verdict.seconds = time.monotonic() - began_s
    if verdict.is_ok and not keep:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        _say(f"{name}: the logs are in {folder}")
    return verdict


def _download() -> None:
    """Fetch the jars before anything is started."""
    _, distribution = ensure_installed()
    for version in (LATEST, WITH_EOS):
        class_path(version, distribution)


def _planned(names: list[str], guarantee: str | None) -> list[tuple[str, str]]:
    """Return each verifier with each guarantee that is wanted and that it can judge."""
    return [
        (name, each)
        for name in names or SCENARIOS
        for each in SCENARIOS[name].guarantees
        if guarantee in (None, each)
    ]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.verifiers", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(SCENARIOS)}")
    parser.add_argument("--kills", default="all", help=f"none, all, or some of {','.join(KINDS)}")
    parser.add_argument("--guarantee", choices=BOTH, help="only with this one")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the kills")
    parser.add_argument("--brokers", type=int, help="how many Kafka brokers; by default 3 or 1")
    parser.add_argument("--rounds", type=int, default=2, help="how often eos kills each kind")
    parser.add_argument("--keep", action="store_true", help="keep the folders with all logs")
    return parser


def _chosen(parser: argparse.ArgumentParser, given: str) -> tuple[str, ...]:
    if given == "none":
        return ()
    chosen = KINDS if given == "all" else tuple(given.split(","))
    unknown = sorted(set(chosen) - set(KINDS))
    if unknown:
        parser.error(f"--kills: {', '.join(unknown)} is not one of {', '.join(KINDS)}")
    return chosen


def _say(text: str) -> None:
    print(text, flush=True)


def _leave(number: int, frame: object) -> None:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
