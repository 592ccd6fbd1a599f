"""The command: ``python -m tests.oracle PATH...``. Exit 0: all agree, 1: some do not, 2: misuse."""

from __future__ import annotations

import argparse
import dataclasses
import logging
import sys
from collections import Counter
from pathlib import Path

from tests.oracle.cases import Case, CaseFileError, case_files, load
from tests.oracle.compare import ASPECTS
from tests.oracle.report import (
    Settings,
    Verdict,
    check_all,
    default_jobs,
    summary,
    text_of,
)


def main(arguments: list[str] | None = None) -> int:
    """Runs the command and gives its exit code."""
    options = _parser().parse_args(arguments)
    settings = Settings(tuple(options.only), options.strict, options.timeout)
    try:
        cases = [case for path in case_files(options.paths) for case in load(path)]
    except CaseFileError as error:
        print(f"oracle: {error}", file=sys.stderr)
        return 2
    wanted = [case for case in cases if _is_wanted(case, options.k) and settings.concerns(case)]
    if options.list:
        return _list(wanted)
    if not options.verbose:
        # Cases drop and skip records on purpose; the library's warnings about it are no news.
        logging.disable(logging.CRITICAL)
    jobs = options.jobs or default_jobs(len(wanted))
    return _check(wanted, dataclasses.replace(settings, jobs=jobs), options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="case file or folder")
    parser.add_argument(
        "-k", action="append", default=[], metavar="TEXT",
        help="only cases whose name or a feature contains TEXT (repeat: all must match)",
    )  # fmt: skip
    parser.add_argument(
        "--only", action="append", default=[], choices=ASPECTS, help="compare only this"
    )
    parser.add_argument(
        "--strict", action="store_true",
        help="compare the order across topics and the record counts of internal topics too",
    )  # fmt: skip
    parser.add_argument("--jobs", type=int, default=0, metavar="N", help="processes")
    parser.add_argument("--timeout", type=float, default=30.0, metavar="S", help="per case")
    parser.add_argument("--list", action="store_true", help="list the cases, run nothing")
    parser.add_argument(
        "--max-shown", type=int, default=20, metavar="N", help="disagreements shown, 0: all"
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="name agreeing cases, too")
    return parser


def _is_wanted(case: Case, needles: list[str]) -> bool:
    return all(case.matches(needle) for needle in needles)


def _list(cases: list[Case]) -> int:
    for case in cases:
        print(f"{case.path}\t{case.name}\t{','.join(case.data.get('features', []))}")
    return 0


def _check(cases: list[Case], settings: Settings, options: argparse.Namespace) -> int:
    verdicts = []
    for verdict in check_all(cases, settings):
        verdicts.append(verdict)
        if options.verbose and verdict.agrees:
            print(f"agree {cases[verdict.index].name}", flush=True)
    wrong = sorted((v for v in verdicts if not v.agrees), key=lambda verdict: verdict.index)
    _print_disagreements(cases, wrong, options.max_shown)
    print(summary(verdicts))
    return 1 if wrong else 0


def _print_disagreements(cases: list[Case], wrong: list[Verdict], max_shown: int) -> None:
    shown = wrong[:max_shown] if max_shown else wrong
    for verdict in shown:
        print(text_of(cases[verdict.index], verdict))
    if len(shown) < len(wrong):
        print(f"... and {len(wrong) - len(shown)} more (--max-shown 0 shows all)")
    aspects = Counter(aspect for v in wrong for aspect in {d.aspect for d in v.differences})
    if aspects:
        print("disagreements by aspect: " + ", ".join(f"{n} {a}" for a, n in aspects.most_common()))


if __name__ == "__main__":
    sys.exit(main())
