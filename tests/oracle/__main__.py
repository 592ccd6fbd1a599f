"""The command: ``python -m tests.oracle PATH...``. Exit 0: all agree, 1: some do not, 2: misuse."""

from __future__ import annotations

import argparse
import dataclasses
import logging
import sys
from collections import Counter
from collections.abc import Iterator
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
from tests.oracle.run import ENGINES
from tests.oracle.staged import COLUMN_STAGINGS, STAGINGS, Staging
from tests.oracle.vector_report import vector_report


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
    before = logging.root.manager.disable
    if not options.verbose:
        # Cases drop and skip records on purpose; the library's warnings about it are no news.
        logging.disable(logging.CRITICAL)
    try:
        return _run(wanted, settings, options)
    finally:
        logging.disable(before)


def _run(wanted: list[Case], settings: Settings, options: argparse.Namespace) -> int:
    """Runs the chosen cases as the options say."""
    jobs = options.jobs or default_jobs(len(wanted))
    settings = dataclasses.replace(settings, jobs=jobs)
    if options.vector_report:
        print(vector_report(wanted))
        return 0
    if options.engine == "batch":
        return _check_history(_sample(wanted, options.sample), settings, options)
    if options.spark:
        return max(
            _check_on_spark(_sample(wanted, options.sample), options, layout)
            for layout in options.staging or (Staging("all"),)
        )
    if options.columns:
        compared = dataclasses.replace(settings, compares_engines=True)
        return max(
            _check(wanted, dataclasses.replace(compared, staging=staging), options, str(staging))
            for staging in options.staging or COLUMN_STAGINGS
        )
    if options.staged:
        return max(
            _check(wanted, dataclasses.replace(settings, staging=staging), options, str(staging))
            for staging in _stagings(options)
        )
    return max(
        _check(wanted, dataclasses.replace(settings, engine=engine), options)
        for engine in ENGINES
        if options.engine in (engine, "both")
    )


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
    parser.add_argument(
        "--engine", choices=(*ENGINES, "both", "batch"), default="both",
        help="how the test driver runs cases: over columns where it can, by record, or both ways;"
        " batch runs all records of a case at once, as history, and with --spark on Spark",
    )  # fmt: skip
    parser.add_argument(
        "--staged", action="store_true",
        help="run as on Spark, stage by stage, without Spark and Kafka",
    )  # fmt: skip
    parser.add_argument(
        "--staging", action="append", type=_staging, metavar="B,P,S,D",
        help="with --staged: only this way: records per batch (a number, random, all), partitions,"
        " slots, and after every batch nothing, restart, lose, crash or fail (repeat); with --spark"
        " partitions and slots count: all,4,2",
    )  # fmt: skip
    parser.add_argument(
        "--columns", action="store_true",
        help="run in stages over columns and by record: both must be the same",
    )  # fmt: skip
    parser.add_argument(
        "--vectorize", choices=("auto", "on", "strict", "off"), default="auto",
        help="with --staged: penstock.vectorize",
    )  # fmt: skip
    parser.add_argument(
        "--vector-report",
        action="store_true",
        help="say which topologies run over columns, and why the others do not",
    )
    parser.add_argument("--spark", action="store_true", help="run on real Spark and real Kafka")
    parser.add_argument(
        "--master", help="with --spark: where, such as local-cluster[2,2,1024] for two workers"
    )
    parser.add_argument(
        "--sample",
        type=int,
        default=0,
        metavar="N",
        help="with --spark or --engine batch: N cases spread evenly",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=0,
        metavar="N",
        help="processes; with --spark applications at a time",
    )
    parser.add_argument("--timeout", type=float, default=30.0, metavar="S", help="per case")
    parser.add_argument("--list", action="store_true", help="list the cases, run nothing")
    parser.add_argument(
        "--max-shown", type=int, default=20, metavar="N", help="disagreements shown, 0: all"
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="name agreeing cases, too")
    return parser


def _stagings(options: argparse.Namespace) -> list[Staging]:
    stagings = options.staging or STAGINGS
    return [dataclasses.replace(each, vectorize=options.vectorize) for each in stagings]


def _staging(text: str) -> Staging:
    batches, partitions, slots, disturbance = (*text.split(","), "1", "1", "")[:4]
    return Staging(batches, int(partitions), int(slots), disturbance)


def _sample(cases: list[Case], count: int) -> list[Case]:
    if not 0 < count < len(cases):
        return cases
    return [cases[number * len(cases) // count] for number in range(count)]


def _is_wanted(case: Case, needles: list[str]) -> bool:
    return all(case.matches(needle) for needle in needles)


def _list(cases: list[Case]) -> int:
    for case in cases:
        print(f"{case.path}\t{case.name}\t{','.join(case.data.get('features', []))}")
    return 0


def _check(
    cases: list[Case], settings: Settings, options: argparse.Namespace, title: str = ""
) -> int:
    return _judge(cases, check_all(cases, settings), options, title)


def _check_history(cases: list[Case], settings: Settings, options: argparse.Namespace) -> int:
    if not options.spark:
        settings = dataclasses.replace(settings, is_history=True)
        return _check(cases, settings, options, "history")
    # Only this way of running needs Spark.
    from tests.oracle.history_on_spark import check_history_on_spark  # noqa: PLC0415

    return _judge(cases, check_history_on_spark(cases), options, "history on Spark")


def _check_on_spark(cases: list[Case], options: argparse.Namespace, layout: Staging) -> int:
    # Only this way of running needs Spark and a broker.
    from tests.oracle.on_spark import check_on_spark  # noqa: PLC0415

    checked = check_on_spark(cases, layout, options.jobs, options.master)
    return _judge(cases, checked, options, f"on Spark, {layout}")


def _judge(
    cases: list[Case], checked: Iterator[Verdict], options: argparse.Namespace, title: str
) -> int:
    verdicts = []
    for verdict in checked:
        verdicts.append(verdict)
        if options.verbose and verdict.agrees:
            print(f"agree {cases[verdict.index].name}", flush=True)
    in_order = sorted(verdicts, key=lambda each: each.index)
    wrong = [each for each in in_order if not each.agrees and not each.is_excepted]
    _print_disagreements(cases, wrong, options.max_shown)
    for each in in_order:
        if each.is_excepted:
            print(f"excepted {cases[each.index].name}: {each.reason}")
    print(f"{title}: {summary(verdicts)}" if title else summary(verdicts), flush=True)
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
