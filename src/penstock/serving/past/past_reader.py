"""Reads stores as of an earlier commit: the present, with what has changed since undone.

That costs as much as has changed since, however large the store is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.serving.application import (
    NoSuchCommitError,
    Queryable,
    Row,
    StoreChange,
    StoreInfo,
)
from penstock.serving.past.fitting import fits, order_of, place_of, row_of
from penstock.serving.past.looking_back import Before, Place, latest, look_back
from penstock.serving.past.values import Commit
from penstock.serving.question import KeyQuestion, Question, Scan

#: How many changes of a partition may lie between two moments that are compared.
MOST_CHANGES = 50_000
#: How far back the changes of one key are looked for.
_MOST_HISTORY = 200_000
#: How many of the newest changes of a partition show which keys are hot.
_HOT_CHANGES = 5_000


@dataclass(slots=True)
class PastPage:
    """Rows as they were, in order, and the rows of which nobody knows what they held.

    ``reached`` is the place after which the next page begins; None if this is the last one. A page
    may have no rows and still not be the last: all rows that were read may be newer.
    """

    rows: list[Row] = field(default_factory=list)
    unknown: list[Place] = field(default_factory=list)
    reached: bytes | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """One row that differs between two commits. None: it was not there.

    ``is_known``: whether it is known what it held before.
    """

    partition: int
    key: Any
    before: Row | None
    after: Row | None
    is_known: bool
    window_start: int | None = None
    window_end: int | None = None


@dataclass(frozen=True, slots=True)
class KeyHistory:
    """The changes of one key, newest first, each with the first commit that contains it."""

    changes: Sequence[tuple[StoreChange, int | None]]
    #: Whether these are all changes there have ever been.
    is_whole: bool


class PastReader:
    """Looks back at the stores of an application in this process."""

    def __init__(self, application: Queryable) -> None:
        self._application = application

    def commit(self, number: int) -> Commit:
        """Return a commit.

        Raises:
            NoSuchCommitError: ``commit-gone``: it is not among those that can be looked back at.
        """
        known = self._application.commits()
        found = next((each for each in known if each.number == number), None)
        if found is None:
            oldest, newest = (known[0].number, known[-1].number) if known else (0, 0)
            raise NoSuchCommitError(
                "commit-gone",
                f"commit {number} is not among those that can be looked back at:"
                f" {len(known)} between {oldest} and {newest}",
                fix="see /commits for all of them",
            )
        return found

    def read(self, info: StoreInfo, partition: int, question: Question, commit: Commit) -> PastPage:
        """Return the rows of one partition as they were after a commit."""
        end = self._end(info, partition, commit)
        answer = self._application.read(info.name, partition, question)
        now = answer.position.get(info.changelog, {}).get(partition, end)
        before = self._undo(info, partition, question, end, now)
        gone = before.found.keys() | before.unknown
        changed = {order_of(place) for place in gone}
        rows = [row for row in answer.rows if _order(info, row) not in changed]
        old = [row_of(info, change) for change in before.found.values() if change is not None]
        if isinstance(question, KeyQuestion):
            return PastPage((rows + old)[-1:], sorted(before.unknown))
        rows += [row for row in old if _is_on_page(row, question, answer.has_more, answer.rows)]
        rows.sort(key=lambda row: _order(info, row), reverse=question.reverse)
        reached = answer.rows[-1].order if answer.has_more and answer.rows else None
        return _cut(PastPage(rows, sorted(before.unknown), reached), question)

    def page(
        self, info: StoreInfo, partitions: Sequence[int], question: Scan, commit: Commit
    ) -> PastPage:
        """Return the rows of several partitions in one order."""
        parts = [
            self.read(info, partition, question, commit)  # type: ignore[arg-type]
            for partition in partitions
        ]
        ends = [part.reached for part in parts if part.reached is not None]
        nearest = (max if question.reverse else min)(ends) if ends else None
        rows = [row for part in parts for row in part.rows]
        if nearest is not None:
            # Behind it, a partition may have rows that were not read.
            rows = [row for row in rows if _is_up_to(row.order, nearest, question)]
        rows.sort(key=lambda row: row.order, reverse=question.reverse)
        unknown = [place for part in parts for place in part.unknown]
        return _cut(PastPage(rows, unknown, nearest), question)

    def difference(
        self, info: StoreInfo, partition: int, first: Commit, second: Commit, limit: int
    ) -> tuple[list[Difference], bool]:
        """Return the rows of one partition that differ between two commits, and if there are more.

        A row that was changed and changed back is listed with equal values.
        """
        start, end = self._end(info, partition, first), self._end(info, partition, second)
        changes = self._changes(info, partition, start, end)
        after = latest(changes, lambda change: place_of(info, change))
        places = sorted(after, key=order_of)
        chosen = places[:limit]
        before = self._before(info, partition, chosen, start)
        return [_difference(info, partition, place, before, after[place]) for place in chosen], len(
            places
        ) > limit

    def history(self, info: StoreInfo, partition: int, key: Any, limit: int) -> KeyHistory:
        """Return the newest changes of one key."""
        commits = self._application.commits()
        wanted = info.key_serde.serialize(info.changelog, key) or b""
        found: list[tuple[StoreChange, int | None]] = []
        end = self._newest(info, partition, commits)
        step, upper, is_whole = 2_000, end, True
        while upper > 0 and end - upper < _MOST_HISTORY and len(found) < limit:
            lower = max(upper - step, 0)
            read = self._application.changes(info.name, partition, lower, upper)
            is_whole = is_whole and read.is_whole
            for change in reversed(read.changes):
                if place_of(info, change).key == wanted:
                    found.append((change, _first_with(commits, info, change)))
            upper, step = lower, step * 2
            if read.begins >= upper:
                is_whole = is_whole and read.begins == 0
                upper = 0
        return KeyHistory(found[:limit], upper == 0 and is_whole and len(found) <= limit)

    def hot_keys(self, info: StoreInfo, partition: int, limit: int) -> list[tuple[Any, int]]:
        """Return the keys that changed most often lately, with how often."""
        end = self._newest(info, partition, self._application.commits())
        start = max(end - _HOT_CHANGES, 0)
        counts: Counter[bytes] = Counter()
        keys: dict[bytes, Any] = {}
        for change in self._application.changes(info.name, partition, start, end).changes:
            raw = place_of(info, change).key
            counts[raw] += 1
            keys[raw] = change.key
        return [(keys[raw], count) for raw, count in counts.most_common(limit)]

    def _undo(
        self, info: StoreInfo, partition: int, question: Question, end: int, now: int
    ) -> Before:
        """Return what rows that have changed since an offset held before it."""
        changes = self._changes(info, partition, end, now)
        places = {place_of(info, change) for change in changes}
        wanted = [place for place in places if fits(info, place, question)]
        return self._before(info, partition, wanted, end)

    def _before(self, info: StoreInfo, partition: int, wanted: Sequence[Place], end: int) -> Before:
        return look_back(
            lambda start, stop: self._application.changes(info.name, partition, start, stop),
            lambda change: place_of(info, change),
            wanted,
            end,
        )

    def _changes(
        self, info: StoreInfo, partition: int, start: int, end: int
    ) -> Sequence[StoreChange]:
        if end - start > MOST_CHANGES:
            raise NoSuchCommitError(
                "commit-too-far",
                f"{end - start} changes of partition {partition} of store {info.name!r} lie in"
                f" between, and at most {MOST_CHANGES} are looked at",
                fix="choose a later commit",
            )
        return self._application.changes(info.name, partition, start, end).changes

    def _end(self, info: StoreInfo, partition: int, commit: Commit) -> int:
        end = commit.end(info.changelog, partition)
        if not info.changelog or end is None:
            raise NoSuchCommitError(
                "commit-unknown-there",
                f"it is not known where store {info.name!r} stood at commit {commit.number}",
                fix="choose a later commit; a store without a changelog has no past",
            )
        return end

    def _newest(self, info: StoreInfo, partition: int, commits: Sequence[Commit]) -> int:
        if not commits:
            raise NoSuchCommitError("commit-gone", "no commit is known yet", fix="ask again")
        return self._end(info, partition, commits[-1])


def _order(info: StoreInfo, row: Row) -> bytes:
    if row.order:
        return row.order
    key = info.key_serde.serialize(info.changelog, row.key) or b""
    return order_of(Place(key, row.window_start, row.window_end))


def _cut(page: PastPage, question: Scan) -> PastPage:
    """Return a page with at most ``limit`` rows."""
    rows, limit = page.rows, question.limit
    if len(rows) <= limit:
        return page
    return PastPage(rows[:limit], page.unknown, rows[limit - 1].order)


def _is_up_to(order: bytes, end: bytes, question: Scan) -> bool:
    return order >= end if question.reverse else order <= end


def _is_on_page(row: Row, question: Scan, has_more: bool, rows: Sequence[Row]) -> bool:
    """Return whether a row of the past lies between the ends of the page that was read."""
    after, order = question.after, row.order
    if after is not None and (order >= after if question.reverse else order <= after):
        return False
    if not has_more or not rows:
        return True
    return _is_up_to(order, rows[-1].order, question)


def _difference(
    info: StoreInfo, partition: int, place: Place, before: Before, after: StoreChange
) -> Difference:
    old = before.found.get(place)
    return Difference(
        partition,
        after.key,
        None if old is None else row_of(info, old),
        None if after.value is None else row_of(info, after),
        place not in before.unknown,
        after.window_start,
        after.window_end,
    )


def _first_with(commits: Sequence[Commit], info: StoreInfo, change: StoreChange) -> int | None:
    """Return the first known commit that contains a change; None if it is older than all."""
    found = None
    for commit in reversed(commits):
        end = commit.end(info.changelog, change.partition)
        if end is None or end <= change.offset:
            return found
        found = commit.number
    # It may be older than the oldest commit that is known.
    return None
