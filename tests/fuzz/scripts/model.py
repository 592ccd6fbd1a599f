"""What a script must give, computed plainly: one record at a time, with lists and dictionaries.

It shares no code with the engine. It knows nothing of stores, formats, batches over columns,
changelogs and restarts: they must not change anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.fuzz.scripts.evaluate import Row, evaluate, folded
from tests.fuzz.scripts.language import STREAMS, TABLES, Join, Query, Script, Window, Written

Change = tuple[Any, Row | None, Row | None, int]
DAY = 86_400_000


# Sources and joins: what a query works on, as rows or as changes of rows


class Table:
    """The rows of a table by key, with their times."""

    def __init__(self) -> None:
        self.rows: dict[Any, tuple[Row, int]] = {}

    def put(self, key: Any, row: Row | None, timestamp: int) -> Row | None:
        """Replace a row; return the old one."""
        old = self.rows.pop(key, None)
        if row is not None:
            self.rows[key] = row, timestamp
        return None if old is None else old[0]

    def get(self, key: Any) -> tuple[Row | None, int]:
        return self.rows.get(key, (None, -1))


class StreamStreamJoin:
    """Remembers every record of both sides; nothing is ever too old."""

    def __init__(self, join: Join, nulls: dict[str, Row]) -> None:
        assert join.within is not None
        self.join = join
        self.nulls = nulls
        self.seen: dict[bool, list[tuple[Any, Row, int]]] = {True: [], False: []}
        self.waiting: list[tuple[bool, Any, Row, int]] = []
        self.stream_time = -1

    def process(
        self, is_left: bool, key: Any, row: Row | None, timestamp: int
    ) -> Iterator[tuple[Any, Row, int]]:
        # Time moves on with every record, also with those that take no part.
        self.stream_time = max(self.stream_time, timestamp)
        if row is None:
            return
        keeps = self.join.kind == "FULL" or (is_left and self.join.kind == "LEFT")
        if key is None:
            # It cannot have a partner. Only an outer side shows it.
            if keeps:
                yield None, self.merged(is_left, row, None), timestamp
            return
        yield from self._closed()
        before, after = (each * 1000 for each in self.join.within or (0, 0))
        if not is_left:
            before, after = after, before
        partners = [
            (other, at)
            for other_key, other, at in self.seen[not is_left]
            if other_key == key and timestamp - before <= at <= timestamp + after
        ]
        self.seen[is_left].append((key, row, timestamp))
        for other, at in sorted(partners, key=lambda partner: partner[1]):
            self.waiting = [w for w in self.waiting if w[2] is not other]
            yield key, self.merged(is_left, row, other), max(timestamp, at)
        if keeps and not partners:
            # As in Kafka Streams, a record that is older than its partners could be does not wait.
            if self.join.grace is None or timestamp + after < self.stream_time:
                yield key, self.merged(is_left, row, None), timestamp
            else:
                self.waiting.append((is_left, key, row, timestamp))

    def _closed(self) -> Iterator[tuple[Any, Row, int]]:
        """Show the records of an outer side that can have no partner any more."""
        before, after = (each * 1000 for each in self.join.within or (0, 0))
        grace = (self.join.grace or 0) * 1000
        for entry in sorted(self.waiting, key=lambda w: w[3]):
            is_left, key, row, timestamp = entry
            if timestamp + (after if is_left else before) + grace < self.stream_time:
                self.waiting.remove(entry)
                yield key, self.merged(is_left, row, None), timestamp

    def merged(self, is_left: bool, row: Row, other: Row | None) -> Row:
        return row | (other if other is not None else self.nulls["right" if is_left else "left"])


# One query


class QueryModel:
    """One persistent query; ``process`` takes a record of a source and returns what is written."""

    def __init__(self, query: Query, tables: set[str], columns: dict[str, list[str]]) -> None:
        self.query = query
        self.tables = tables
        self.columns = columns
        self.state: dict[str, Table] = {name: Table() for name in tables}
        self.groups: dict[Any, list[Row]] = {}
        self.group_times: dict[Any, int] = {}
        self.results: dict[Any, dict[str, Any]] = {}
        self.sessions: dict[Any, list[tuple[int, int, list[Row]]]] = {}
        self.stream_time = -1
        if query.join is not None and query.join.within is not None:
            nulls = {"left": self._nulls(query.source), "right": self._nulls(query.join.source)}
            self.stream_join = StreamStreamJoin(query.join, nulls)

    def reads(self) -> tuple[str, ...]:
        join = self.query.join
        return (self.query.source,) if join is None else (self.query.source, join.source)

    def process(self, topic: str, key: Any, value: Any, timestamp: int) -> list[Written]:
        row = self._row(topic, key, value)
        if self.query.join is None and topic not in self.tables:
            return [*self._stream(key, row, timestamp)]
        if self.query.join is None:
            return [*self._table(topic, key, row, timestamp)]
        return [*self._joined(topic, key, row, timestamp)]

    def _row(self, topic: str, key: Any, value: Any) -> Row | None:
        if value is None:
            return None
        fields = dict(value)
        names = self.columns[topic]
        return {self._key_column(topic): key} | {(topic, n): fields.get(n) for n in names}

    def _key_column(self, topic: str) -> tuple[str, str]:
        return topic, "K" if topic in (*TABLES, *STREAMS) else "ID"

    def _nulls(self, topic: str) -> Row:
        names = ((topic, name) for name in self.columns[topic])
        return dict.fromkeys([self._key_column(topic), *names])

    # Streams

    def _stream(self, key: Any, row: Row | None, timestamp: int) -> Iterator[Written]:
        query = self.query
        if row is None:
            if query.where is None and query.group_by is None:
                if query.partition_by is not None:
                    # Only the key's own column has a value.
                    known = self._nulls(query.source) | {self._key_column(query.source): key}
                    key = evaluate(query.partition_by, known)
                yield Written(key, None, timestamp)
            return
        if query.where is not None and not evaluate(query.where, row):
            return
        if query.group_by is not None:
            yield from self._grouped(evaluate(query.group_by, row), row, timestamp)
            return
        if query.partition_by is not None:
            key = evaluate(query.partition_by, row)
        yield Written(key, self._projected(row), timestamp)

    def _projected(self, row: Row) -> dict[str, Any]:
        return {item.alias: evaluate(item.expression, row) for item in self.query.items}

    # Groups of streams

    def _grouped(self, group: Any, row: Row, timestamp: int) -> Iterator[Written]:
        if group is None:
            return
        window = self.query.window
        if window is None:
            yield from self._added(group, row, timestamp)
            return
        before = self.stream_time
        self.stream_time = max(self.stream_time, timestamp)
        if window.kind == "SESSION":
            yield from self._session(group, row, timestamp, before)
            return
        for start in _starts(window, timestamp):
            end = start + window.size * 1000
            if end > self.stream_time - _grace(window):
                yield from self._added((group, start, end), row, timestamp)

    def _added(self, place: Any, row: Row, timestamp: int) -> Iterator[Written]:
        rows = self.groups.setdefault(place, [])
        rows.append(row)
        self.group_times[place] = max(timestamp, self.group_times.get(place, -1))
        yield from self._result(place, rows, self.group_times[place])

    def _session(self, group: Any, row: Row, timestamp: int, before: int) -> Iterator[Written]:
        window = self.query.window
        assert window is not None
        gap = window.size * 1000
        mine = self.sessions.setdefault(group, [])
        # What nobody could add to before this record is forgotten.
        forgotten = before - gap - _grace(window)
        near = [
            each
            for each in sorted(mine, key=lambda s: (s[0], s[1]))
            if each[0] <= timestamp + gap and each[1] >= timestamp - gap and each[1] > forgotten
        ]
        start = min([timestamp, *(each[0] for each in near)])
        end = max([timestamp, *(each[1] for each in near)])
        if end < self.stream_time - gap - _grace(window):
            return
        for each in near:
            mine.remove(each)
            if (start, end) != (timestamp, timestamp):
                yield from self._result((group, each[0], each[1]), None, each[1])
        rows = [one for each in near for one in each[2]] + [row]
        mine.append((start, end, rows))
        yield from self._result((group, start, end), rows, end)

    def _result(self, place: Any, rows: list[Row] | None, timestamp: int) -> Iterator[Written]:
        """Show the row of a group; with HAVING a row that was never shown is not deleted."""
        old = self._shown(self.results.pop(place, None))
        found = None
        if rows is not None:
            found = {call.alias: folded(call, rows) for call in self.query.aggregates}
            self.results[place] = found
        new = self._shown(found)
        if self.query.having is None or new is not None or old is not None:
            yield Written(place, new, timestamp)

    def _shown(self, found: dict[str, Any] | None) -> dict[str, Any] | None:
        if found is None or self.query.having is None:
            return found
        seen: Row = {("", alias): value for alias, value in found.items()}
        return found if evaluate(self.query.having, seen) else None

    # Tables

    def _table(self, topic: str, key: Any, row: Row | None, timestamp: int) -> Iterator[Written]:
        if key is None:
            return
        old = self.state[topic].put(key, row, timestamp)
        yield from self._changed((key, row, old, timestamp))

    def _changed(self, change: Change) -> Iterator[Written]:
        key, new, old, timestamp = change
        query = self.query
        if query.where is not None:
            new = new if new is not None and evaluate(query.where, new) else None
            old = old if old is not None and evaluate(query.where, old) else None
        if query.group_by is not None:
            yield from self._regrouped(new, old, timestamp)
        elif query.where is None or new is not None or old is not None:
            yield Written(key, None if new is None else self._projected(new), timestamp)

    def _regrouped(self, new: Row | None, old: Row | None, timestamp: int) -> Iterator[Written]:
        assert self.query.group_by is not None
        before = None if old is None else evaluate(self.query.group_by, old)
        after = None if new is None else evaluate(self.query.group_by, new)
        for group in [before] if before == after else [before, after]:
            if group is None:
                continue
            rows = self.groups.get(group)
            if group == before and rows is not None:
                rows.remove(old)  # type: ignore[arg-type]
            if group == after:
                rows = self.groups.setdefault(group, [])
                rows.append(new)  # type: ignore[arg-type]
            if rows is not None:
                at = max(timestamp, self.group_times.get(group, -1))
                self.group_times[group] = at
                yield from self._result(group, rows, at)

    # Joins

    def _joined(self, topic: str, key: Any, row: Row | None, timestamp: int) -> Iterator[Written]:
        join = self.query.join
        assert join is not None
        is_left = topic == self.query.source
        if join.within is not None:
            # A stream is joined by the value of its column, which need not be its key.
            on = join.left if is_left else join.right
            place = None if row is None else evaluate(on, row)
            for found in self.stream_join.process(is_left, place, row, timestamp):
                yield from self._stream(*found)
        elif self.query.source not in self.tables:
            yield from self._stream_table(join, is_left, key, row, timestamp)
        elif join.left.name == "K":
            yield from self._table_table(join, is_left, key, row, timestamp)
        else:
            yield from self._foreign_key(join, is_left, key, row, timestamp)

    def _stream_table(
        self, join: Join, is_left: bool, key: Any, row: Row | None, timestamp: int
    ) -> Iterator[Written]:
        if not is_left:
            if key is not None:
                self.state[join.source].put(key, row, timestamp)
            return
        if row is None:
            return
        place = evaluate(join.left, row)
        partner, _ = (None, -1) if place is None else self.state[join.source].get(place)
        if partner is None and join.kind == "INNER":
            return
        right = self._nulls(join.source) if partner is None else partner
        yield from self._stream(place, row | right, timestamp)

    def _table_table(
        self, join: Join, is_left: bool, key: Any, row: Row | None, timestamp: int
    ) -> Iterator[Written]:
        if key is None:
            return
        mine, other = self.query.source, join.source
        if not is_left:
            mine, other = other, mine
        old = self.state[mine].put(key, row, timestamp)
        partner, at = self.state[other].get(key)
        keeps = join.kind == "FULL" or (is_left and join.kind == "LEFT")
        if partner is None and not keeps:
            return
        if partner is None and row is None and old is None:
            return
        needs_left = not is_left and join.kind == "LEFT"
        if needs_left and partner is None:
            return

        def whole(own: Row | None) -> Row | None:
            if own is None and (partner is None or join.kind == "INNER"):
                return None
            if own is None and is_left and join.kind == "LEFT":
                return None
            return (self._nulls(mine) if own is None else own) | (
                self._nulls(other) if partner is None else partner
            )

        time = timestamp if partner is None else max(timestamp, at)
        yield from self._changed((key, whole(row), whole(old), time))

    def _foreign_key(
        self, join: Join, is_left: bool, key: Any, row: Row | None, timestamp: int
    ) -> Iterator[Written]:
        """Only the last row of each key is right: when it changes is the engine's affair."""
        if key is None:
            return
        mine = self.query.source if is_left else join.source
        self.state[mine].put(key, row, timestamp)
        lefts = self.state[self.query.source].rows
        touched = [k for k, (left, _) in lefts.items() if evaluate(join.left, left) == key]
        for left_key in [key] if is_left else touched:
            left = self.state[self.query.source].get(left_key)[0]
            found = None
            if left is not None:
                place = evaluate(join.left, left)
                right = None if place is None else self.state[join.source].get(place)[0]
                if right is not None or join.kind == "LEFT":
                    found = left | (self._nulls(join.source) if right is None else right)
            if found is not None and self.query.where is not None:
                found = found if evaluate(self.query.where, found) else None
            yield Written(left_key, None if found is None else self._projected(found), timestamp)


def _starts(window: Window, timestamp: int) -> list[int]:
    size, advance = window.size * 1000, window.advance * 1000
    return [
        start for start in range(0, timestamp + 1, advance) if start <= timestamp < start + size
    ]


def _grace(window: Window) -> int:
    if window.grace is not None:
        return window.grace * 1000
    return max(0, DAY - window.size * 1000)


# The whole script


def expected(script: Script) -> list[list[Written]]:
    """Return for each query what it writes, in order."""
    columns = {name: ["A", "B", "D"] for name in ("S", "U", "T", "V")}
    tables = set(TABLES)
    models: list[QueryModel] = []
    for query in script.queries:
        models.append(QueryModel(query, set(tables), dict(columns)))
        columns[query.name] = [each.alias for each in query.items]
        columns[query.name] += [each.alias for each in query.aggregates]
        if query.is_table:
            tables.add(query.name)
    written: list[list[Written]] = [[] for _ in models]
    for batch in script.batches:
        if batch.change is not None:
            models[-1].query = batch.change
        topics: dict[str, list[tuple[Any, Any, int]]] = {}
        for event in batch.events:
            topics.setdefault(event.topic, []).append((event.key, event.value, event.timestamp))
        for number, model in enumerate(models):
            new = [out for each in _in_turn(model, topics) for out in model.process(*each)]
            written[number] += new
            topics[model.query.name] = [
                (out.key, out.value and tuple(out.value.items()), out.timestamp) for out in new
            ]
    return written


def _in_turn(
    model: QueryModel, topics: dict[str, list[tuple[Any, Any, int]]]
) -> Iterator[tuple[str, Any, Any, int]]:
    """Yield the records a query reads: of two topics, the one whose next record is older."""
    left = {topic: list(topics.get(topic, ())) for topic in model.reads()}
    while any(left.values()):
        topic = min((t for t in left if left[t]), key=lambda t: left[t][0][2])
        yield topic, *left[topic].pop(0)
