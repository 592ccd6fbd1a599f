"""The command: ``python -m tests.sqlcases PATH...``. Exit 0: all agree, 1: some do not, 2: misuse.

Runs cases of the SQL dialect through the public engine, without Kafka and Spark, and prints what
disagrees, what is excepted and why, a table per file, and how many agree. ``--spark`` runs them on
Spark against a broker, ``--rest`` through a server over HTTP; ``--columns`` asks instead whether
columns change anything. ``--sample N`` takes N of them, the same ones each time.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from tests.sqlcases.cases import Case, case_files, cases_in
from tests.sqlcases.history import HISTORY
from tests.sqlcases.in_columns import check_in_columns
from tests.sqlcases.run import ENGINES, check
from tests.sqlcases.verdict import Verdict


def main(arguments: list[str] | None = None) -> int:
    """Runs the command and gives its exit code."""
    options = _parser().parse_args(arguments)
    missing = [path for path in options.paths if not path.exists()]
    if missing:
        print(f"sqlcases: no such file or folder: {missing[0]}", file=sys.stderr)
        return 2
    if not options.log:
        # Cases feed records on purpose that cannot be read or computed.
        logging.disable(logging.CRITICAL)
    cases = [case for path in case_files(options.paths) for case in cases_in(path)]
    wanted = [case for case in cases if _is_wanted(case, options.only)]
    all_verdicts: list[list[Verdict]] = []
    try:
        if options.rest:
            all_verdicts.append(_over_rest(_sampled(wanted, options.sample)))
        elif options.spark:
            all_verdicts.append(_on_spark(wanted, options.sample))
        else:
            engines = HISTORY if options.engine in HISTORY else ENGINES
            runs = [run for name, run in engines.items() if options.engine in (name, "both")]
            chosen = _sampled(wanted, options.sample)
            for run in [check_in_columns] if options.columns else runs:
                all_verdicts.append(_verdicts(chosen, options.jobs, run))
    finally:
        logging.disable(logging.NOTSET)
    return max(_told(verdicts, options) for verdicts in all_verdicts)


def _told(verdicts: list[Verdict], options: argparse.Namespace) -> int:
    _report(verdicts, verbose=options.verbose, table=not options.no_table)
    agreeing = sum(verdict.agrees for verdict in verdicts)
    excepted = [verdict for verdict in verdicts if verdict.reason is not None]
    for verdict in excepted:
        print(f"excepted {verdict.file}: {verdict.name}: {verdict.reason}")
    apart = f", {len(excepted)} are excepted" if excepted else ""
    over_columns = sum(verdict.ran_over_columns for verdict in verdicts)
    way = f", {over_columns} of them over columns" if over_columns else ""
    print(f"sql cases: {agreeing} of {len(verdicts)} agree{apart}{way}")
    return 0 if agreeing + len(excepted) == len(verdicts) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.sqlcases", description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="case file or folder")
    parser.add_argument(
        "--only", action="append", default=[], metavar="TEXT",
        help="only cases whose file or name contains TEXT (repeat: all must match)",
    )  # fmt: skip
    parser.add_argument("--verbose", action="store_true", help="show statements of disagreements")
    parser.add_argument("--jobs", type=int, default=1, help="processes to run cases in")
    parser.add_argument("--log", action="store_true", help="keep the log of processing errors")
    parser.add_argument("--spark", action="store_true", help="run on Spark and a real broker")
    parser.add_argument("--rest", action="store_true", help="run through a server, over HTTP")
    parser.add_argument(
        "--engine", choices=(*ENGINES, "both", *HISTORY), default="both",
        help="each record as a batch over columns where it can, by record, or both ways;"
        " batch: all records of a query at once, as history",
    )  # fmt: skip
    parser.add_argument(
        "--columns", action="store_true", help="run queries over columns and record at a time"
    )
    parser.add_argument("--sample", type=int, metavar="N", help="take N cases, not all")
    parser.add_argument("--no-table", action="store_true", help="leave the table per file out")
    return parser


def _is_wanted(case: Case, only: list[str]) -> bool:
    text = f"{case.file} {case.name}".lower()
    return all(part.lower() in text for part in only)


def _sampled(cases: list[Case], size: int | None) -> list[Case]:
    return cases if size is None else random.Random(6).sample(cases, min(size, len(cases)))


def _on_spark(cases: list[Case], size: int | None) -> list[Verdict]:
    # Spark is heavy: whoever runs cases in process need not load it.
    from tests.sqlcases.on_spark import check_on_spark, sample_of, skip_reason  # noqa: PLC0415

    chosen = sample_of(cases, len(cases) if size is None else size)
    skipped = Counter(reason for case in cases if (reason := skip_reason(case)) is not None)
    for reason, number in skipped.most_common():
        print(f"left out: {number} because {reason}")
    return _told_one_by_one(chosen, check_on_spark(chosen))


def _told_one_by_one(cases: list[Case], found: Iterable[Verdict]) -> list[Verdict]:
    _STATEMENTS.update({(case.file, case.name): case.statements for case in cases})
    verdicts = []
    for verdict in found:
        verdicts.append(verdict)
        mark = "agrees" if verdict.agrees else "DISAGREES"
        print(f"{len(verdicts):4} {mark:9} {verdict.file}: {verdict.name}", flush=True)
    return verdicts


def _over_rest(cases: list[Case]) -> list[Verdict]:
    # A server is heavy: whoever runs cases in process need not load it.
    from tests.sqlcases.over_rest import check_over_rest  # noqa: PLC0415

    return _told_one_by_one(cases, check_over_rest(cases))


_STATEMENTS: dict[tuple[str, str], list[str]] = {}


def _verdicts(
    cases: list[Case], jobs: int, run: Callable[[Case], Verdict] = check
) -> list[Verdict]:
    _STATEMENTS.update({(case.file, case.name): case.statements for case in cases})
    if jobs <= 1 or len(cases) < 2:
        return [run(case) for case in cases]
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        return pool.map(run, cases, chunksize=8)


def _report(verdicts: Iterable[Verdict], *, verbose: bool, table: bool) -> None:
    totals: Counter[str] = Counter()
    agreeing: Counter[str] = Counter()
    for verdict in verdicts:
        totals[verdict.file] += 1
        agreeing[verdict.file] += verdict.agrees
        if not verdict.agrees and verdict.reason is None:
            print(f"{verdict.file}: {verdict.name}")
            if verbose:
                for statement in _STATEMENTS[verdict.file, verdict.name]:
                    print(f"    | {statement}")
            for problem in verdict.problems:
                print("    " + problem.replace("\n", "\n    "))
    if table:
        print()
        for file, total in sorted(totals.items()):
            share = 100 * agreeing[file] / total
            print(f"{file:40} {agreeing[file]:5} of {total:5}  {share:5.1f} %")


if __name__ == "__main__":
    sys.exit(main())
