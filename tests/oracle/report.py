"""Runs many cases, in several processes if asked, and prints where they disagree."""

from __future__ import annotations

import multiprocessing
import os
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path

from tests.oracle.cases import Case
from tests.oracle.compare import ASPECTS, STRICT_ASPECTS, Difference, compare
from tests.oracle.exceptions import LATER, columns_reason
from tests.oracle.history import check_history
from tests.oracle.run import Engine, execute
from tests.oracle.staged import Staging
from tests.oracle.staged_check import check_columns, check_staged

_CHUNK = 16


@dataclass(frozen=True, slots=True)
class Settings:
    """What to compare and how. ``only`` empty means everything."""

    only: tuple[str, ...] = ()
    is_strict: bool = False
    timeout_s: float = 30.0
    jobs: int = 1
    #: Run in stages as on Spark, instead of in the test driver.
    staging: Staging | None = None
    #: How the test driver runs the case.
    engine: Engine = "records"
    #: Compare a staged run over columns with one by record, instead of with the golden.
    compares_engines: bool = False
    #: Run all records at once, as history, in this process.
    is_history: bool = False

    @property
    def aspects(self) -> tuple[str, ...]:
        return self.only or (ASPECTS + STRICT_ASPECTS if self.is_strict else ASPECTS)

    def concerns(self, case: Case) -> bool:
        """Tells whether the golden has anything that ``only`` asks for."""
        return not self.only or any(aspect in case.golden for aspect in self.only)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The differences of one case; none means that it agrees, a reason that it may differ."""

    index: int
    differences: tuple[Difference, ...]
    reason: str | None = None
    #: Whether some batch ran over columns.
    ran_over_columns: bool = False

    @property
    def agrees(self) -> bool:
        return not self.differences

    @property
    def is_excepted(self) -> bool:
        return bool(self.differences) and self.reason is not None


def verdict(index: int, case: Case, settings: Settings) -> Verdict:
    """Runs and judges one case."""
    if settings.is_history:
        return _judged(index, lambda: check_history(case, settings.timeout_s))
    staging = settings.staging
    if staging is None:
        return check(index, case, settings)
    if settings.compares_engines:
        return _compared(index, case, staging, settings.timeout_s)
    return _judged(index, lambda: check_staged(case, staging, settings.timeout_s))


def _judged(index: int, run: Callable[[], tuple[Sequence[Difference], str | None]]) -> Verdict:
    try:
        differences, reason = run()
    except Exception as error:  # noqa: BLE001
        return Verdict(index, (crash(error),))
    return Verdict(index, tuple(differences), reason)


def _compared(index: int, case: Case, staging: Staging, timeout_s: float) -> Verdict:
    """Compares a staged run over columns with one by record."""
    try:
        found = check_columns(case, staging, timeout_s)
    except Exception as error:  # noqa: BLE001
        return Verdict(index, (crash(error),))
    reason = columns_reason(case.data)
    return Verdict(index, tuple(found or ()), reason, ran_over_columns=found is not None)


def check(index: int, case: Case, settings: Settings) -> Verdict:
    """Runs and compares one case. A crash of this adapter is a disagreement as well."""
    try:
        describe_only = settings.only == ("describe",)
        outcome = execute(
            case.data,
            timeout_s=settings.timeout_s,
            describe_only=describe_only,
            engine=settings.engine,
        )
        ran_over_columns = any(batch.ran_over_columns for batch in outcome.batches)
        # Over columns a node sees all that one record becomes before the next node sees any of
        # it, and a store is written once per key: the order between topics, which Kafka does not
        # keep either, and the number of records in a changelog may differ.
        hidden = STRICT_ASPECTS if ran_over_columns else ()
        aspects = tuple(aspect for aspect in settings.aspects if aspect not in hidden)
        found = tuple(compare(case.golden, outcome, aspects))
    except Exception as error:  # noqa: BLE001
        return Verdict(index, (crash(error),))
    reason = LATER.get(case.data["name"])
    if ran_over_columns:
        reason = reason or columns_reason(case.data)
    return Verdict(index, found, reason, ran_over_columns=ran_over_columns)


def crash(error: Exception) -> Difference:
    """A failure of the adapter itself, as a disagreement."""
    lines = traceback.format_exception(error)[-3:]
    return Difference("adapter", "".join(lines).rstrip())


def check_all(cases: Sequence[Case], settings: Settings) -> Iterator[Verdict]:
    """Gives a verdict per case, in any order."""
    if settings.jobs <= 1:
        for index, case in enumerate(cases):
            yield verdict(index, case, settings)
        return
    yield from _check_in_processes(cases, settings)


class _Work:
    """What the workers do. They are forked and find it here, so that only indexes travel."""

    cases: Sequence[Case] = ()
    settings = Settings()


def _check_chunk(indexes: Sequence[int]) -> list[Verdict]:
    return [verdict(index, _Work.cases[index], _Work.settings) for index in indexes]


def _check_in_processes(cases: Sequence[Case], settings: Settings) -> Iterator[Verdict]:
    _Work.cases, _Work.settings = cases, settings
    chunks = [range(len(cases))[i : i + _CHUNK] for i in range(0, len(cases), _CHUNK)]
    crashed: list[Sequence[int]] = []
    with _pool(settings.jobs) as pool:
        for chunk, verdicts in _finished(pool, chunks):
            if verdicts is None:
                crashed.append(chunk)
            else:
                yield from verdicts
    # A process that died takes the whole pool with it: what is left runs in fresh processes.
    for chunk in crashed:
        yield from _check_apart(chunk)


def _finished(
    pool: ProcessPoolExecutor, chunks: Sequence[Sequence[int]]
) -> Iterator[tuple[Sequence[int], list[Verdict] | None]]:
    """Gives the verdicts of each chunk as it is done, or None if its process died."""
    waiting: dict[Future[list[Verdict]], Sequence[int]] = {}
    for chunk in chunks:
        try:
            waiting[pool.submit(_check_chunk, chunk)] = chunk
        except BrokenProcessPool:
            yield chunk, None
    for future in as_completed(waiting):
        died = isinstance(future.exception(), BrokenProcessPool)
        yield waiting[future], None if died else future.result()


def _check_apart(indexes: Sequence[int]) -> list[Verdict]:
    """Runs a chunk in a process of its own, and if that dies each of its cases in one."""
    try:
        with _pool(1) as pool:
            return pool.submit(_check_chunk, indexes).result()
    except BrokenProcessPool:
        if len(indexes) > 1:
            return [verdict for index in indexes for verdict in _check_apart([index])]
        return [Verdict(indexes[0], (Difference("crash", "the process of this case died"),))]


def _pool(jobs: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("fork"))


def default_jobs(cases: int) -> int:
    """Gives one process per processor, but not for a handful of cases."""
    return 1 if cases < 4 * _CHUNK else min(os.cpu_count() or 1, 16)


def text_of(case: Case, verdict: Verdict) -> str:
    """Gives the disagreement of one case as text."""
    lines = [f"DISAGREE {case.name}  ({_short(case.path)})"]
    for difference in verdict.differences:
        head, *rest = difference.text.split("\n")
        lines.append(f"  {difference.aspect}: {head}")
        lines += [f"    {line}" for line in rest]
    return "\n".join(lines)


def _short(path: Path) -> str:
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def summary(verdicts: Sequence[Verdict]) -> str:
    """Gives the last line of the command's output."""
    agreeing = sum(each.agrees for each in verdicts)
    excepted = sum(each.is_excepted for each in verdicts)
    apart = f", {excepted} are excepted" if excepted else ""
    over_columns = sum(each.ran_over_columns for each in verdicts)
    way = f", {over_columns} of them over columns" if over_columns else ""
    return f"oracle: {agreeing} of {len(verdicts)} cases agree{apart}{way}"
