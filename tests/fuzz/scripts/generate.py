"""Random scripts and records, each made by one seed."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

from tests.fuzz.scripts.language import (
    COLUMNS,
    END_KEY,
    STREAMS,
    TABLES,
    Aggregate,
    Apply,
    Batch,
    Event,
    Expression,
    Item,
    Join,
    Query,
    Ref,
    Script,
    Value,
    Window,
)

#: Aggregates that a table can take rows back from, and those whose states sessions can merge.
_UNDOABLE = ("COUNT", "SUM", "MIN", "MAX")
_MERGEABLE = (*_UNDOABLE, "COLLECT_LIST")
_ALL = (*_MERGEABLE, "LATEST_BY_OFFSET", "EARLIEST_BY_OFFSET")
_KEYS = ("x", "y", "z", "xx")
_TEXTS = ("x", "y", "z", "", "Abc", "ü", None)
_END_MS = 10_000_000
#: The columns of sources by type, with the key.
_TYPES = {"K": "VARCHAR", **COLUMNS}


class Generator:
    """Makes one script. ``sources`` has the columns of everything a query can read."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.tables = set(TABLES)
        self.sources: dict[str, dict[str, str]] = {
            name: dict(_TYPES) for name in (*STREAMS, *TABLES)
        }

    def script(self) -> Script:
        queries = [self.query("O")]
        first = queries[0]
        # Of a join on a foreign key a second query sees rows that come and go, or does not. Of a
        # join of streams it sees them in another order.
        is_settled = first.join is None or not (_is_foreign(first.join) or first.join.within)
        if first.window is None and is_settled and self.random.random() < 0.3:
            self.sources["O"] = {
                "ID": first.key_type,
                **{each.alias: self.type_of(each.expression) for each in first.items},
                **{each.alias: self.aggregate_type(each) for each in first.aggregates},
            }
            if first.is_table:
                self.tables.add("O")
            queries.append(self.query("P", source="O", is_table=first.is_table))
        batches = self.batches(queries)
        # With a cache a second query, or the groups of a table, never see some rows. Neither are
        # deletions of nothing seen, which would show a row as a changed query has it.
        has_cache = len(queries) == 1 and not any(batch.change for batch in batches)
        if first.group_by is not None and self.is_table(first.source):
            has_cache = False
        if (
            first.window is not None
            and first.window.kind == "SESSION"
            and first.window.grace is not None
        ):
            # A session that its store has forgotten may still be in the cache.
            has_cache = False
        return Script(
            tuple(queries),
            tuple(batches),
            self.random.choice(("KAFKA", "JSON")),
            self.random.choice((0, 0, 10_000_000)) if has_cache else 0,
        )

    def is_table(self, source: str) -> bool:
        return source in self.tables

    # Expressions

    def type_of(self, node: Expression) -> str:
        match node:
            case Ref(source, name):
                return self.sources[source][name]
            case Value(value):
                return "VARCHAR" if isinstance(value, str) else "INT"
            case Apply("UCASE" | "||", _, _):
                return "VARCHAR"
            case Apply("LEN", _, _):
                return "INT"
            case Apply("CASE", _, operands):
                return self.type_of(operands[1])
            case Apply(_, _, operands):
                types = {self.type_of(operand) for operand in operands}
                return next(t for t in ("DOUBLE", "BIGINT", "INT", "VARCHAR") if t in types)

    def aggregate_type(self, call: Aggregate) -> str:
        if call.name == "COUNT" or call.operand is None:
            return "BIGINT"
        inner = self.type_of(call.operand)
        return f"ARRAY<{inner}>" if call.name == "COLLECT_LIST" else inner

    def column(self, sources: list[str], *types: str) -> Ref | None:
        found = [
            Ref(source, name)
            for source in sources
            for name, type_ in self.sources[source].items()
            if type_ in types
        ]
        return self.random.choice(found) if found else None

    def number(self, sources: list[str], depth: int = 2) -> Expression:
        pick = self.random.random()
        leaf = self.column(sources, "INT", "BIGINT", "DOUBLE")
        if depth == 0 or pick < 0.5:
            return leaf or Value(self.random.randint(-3, 9))
        inner = self.number(sources, depth - 1)
        if pick < 0.7:
            operator = self.random.choice("+-*")
            return Apply(
                operator, f"({{}} {operator} {{}})", (inner, Value(self.random.randint(1, 4)))
            )
        if pick < 0.8:
            return Apply("COALESCE", "COALESCE({}, {})", (inner, Value(self.random.randint(0, 3))))
        text = self.column(sources, "VARCHAR")
        if pick < 0.9 and text is not None:
            return Apply("LEN", "LEN({})", (text,))
        condition = self.condition(sources, depth - 1)
        return Apply("CASE", "CASE WHEN {} THEN {} ELSE {} END", (condition, inner, inner))

    def text(self, sources: list[str], depth: int = 2) -> Expression:
        pick = self.random.random()
        leaf = self.column(sources, "VARCHAR") or Value("q")
        if depth == 0 or pick < 0.6:
            return leaf
        inner = self.text(sources, depth - 1)
        if pick < 0.75:
            return Apply("UCASE", "UCASE({})", (inner,))
        if pick < 0.9:
            return Apply("||", "({} || {})", (inner, Value("-")))
        return Apply("COALESCE", "COALESCE({}, {})", (inner, Value("none")))

    def condition(self, sources: list[str], depth: int = 2) -> Expression:
        pick = self.random.random()
        if depth > 0 and pick < 0.3:
            operator = self.random.choice(("AND", "OR"))
            parts = (self.condition(sources, depth - 1), self.condition(sources, depth - 1))
            return Apply(operator, f"({{}} {operator} {{}})", parts)
        if depth > 0 and pick < 0.38:
            return Apply("NOT", "NOT ({})", (self.condition(sources, depth - 1),))
        is_text = self.random.random() < 0.35
        value = self.text(sources, 1) if is_text else self.number(sources, 1)
        if pick < 0.5:
            operator = self.random.choice(("IS NULL", "IS NOT NULL"))
            return Apply(operator, f"{{}} {operator}", (value,))
        if pick < 0.6 and not is_text:
            low = self.random.randint(-2, 4)
            bounds = Value(low), Value(low + self.random.randint(0, 5))
            return Apply("BETWEEN", "{} BETWEEN {} AND {}", (value, *bounds))
        if pick < 0.7 and is_text:
            return Apply("IN", "{} IN ({}, {})", (value, Value("x"), Value("y")))
        operator = self.random.choice(("=", "<>", "<", ">="))
        other = Value("x") if is_text else Value(self.random.randint(-2, 8))
        return Apply(operator, f"{{}} {operator} {{}}", (value, other))

    # Queries

    def query(self, name: str, source: str | None = None, *, is_table: bool = False) -> Query:
        if source is None:
            is_table = self.random.random() < 0.35
            source = self.random.choice(TABLES if is_table else STREAMS)
            join = self.join(source, is_table) if self.random.random() < 0.5 else None
        else:
            join = None
        key: Expression | None = Ref(source, "K" if "K" in self.sources[source] else "ID")
        if join is not None and not is_table:
            key = join.left
        if join is not None and join.kind == "FULL":
            key = None
        query = Query(
            name,
            source,
            key,
            "VARCHAR" if key is None else self.type_of(key),
            is_table,
            join=join,
            items=self.items([source] if join is None else [source, join.source]),
        )
        sources = [source] if join is None else [source, join.source]
        if self.random.random() < 0.5:
            query = replace(query, where=self.condition(sources))
        # What a join writes may come in another order, or only its last rows are known.
        has_order = join is None or (join.within is None and not _is_foreign(join))
        if has_order and self.random.random() < 0.5:
            return self.grouped(query, sources, is_source_table=is_table)
        if not is_table and join is None and self.random.random() < 0.2:
            place = self.column(sources, "VARCHAR", "INT", "BIGINT")
            if place is not None:
                return replace(query, partition_by=place, key=place, key_type=self.type_of(place))
        return query

    def items(self, sources: list[str]) -> tuple[Item, ...]:
        return tuple(self.item(sources, n) for n in range(self.random.randint(1, 3)))

    def item(self, sources: list[str], number: int) -> Item:
        node = self.number(sources) if self.random.random() < 0.6 else self.text(sources)
        if isinstance(node, Ref):
            # A column that is the key may stand in SELECT only once.
            if self.type_of(node) == "VARCHAR":
                node = Apply("||", "({} || {})", (node, Value("")))
            else:
                node = Apply("+", "({} + {})", (node, Value(0)))
        return Item(node, f"X{number}")

    def join(self, source: str, is_table: bool) -> Join:
        partner = self.random.choice(TABLES if is_table else (*TABLES, *STREAMS))
        while partner == source:
            partner = self.random.choice(TABLES if is_table else (*TABLES, *STREAMS))
        left, right = Ref(source, "K"), Ref(partner, "K")
        if partner in STREAMS:
            if self.random.random() < 0.3:
                left = Ref(source, "B")
            within = self.random.choice(((0, 0), (5, 5), (10, 10), (3, 12), (20, 0)))
            kind = self.random.choice(("INNER", "INNER", "LEFT", "FULL"))
            grace = self.random.choice((None, 30)) if kind != "INNER" else None
            return Join(kind, partner, left, right, within, grace)
        if is_table:
            if self.random.random() < 0.25:
                return Join(self.random.choice(("INNER", "LEFT")), partner, Ref(source, "B"), right)
            return Join(self.random.choice(("INNER", "LEFT", "FULL")), partner, left, right)
        if self.random.random() < 0.3:
            left = Ref(source, "B")
        return Join(self.random.choice(("INNER", "LEFT")), partner, left, right)

    def grouped(self, query: Query, sources: list[str], *, is_source_table: bool) -> Query:
        place = self.column(sources, "VARCHAR", "INT", "BIGINT")
        if query.join is not None and place == query.join.right:
            # ksqlDB groups by the key of the join, also where there is no partner.
            place = query.join.left
        assert place is not None
        window = None if is_source_table or self.random.random() < 0.5 else self.window()
        names: tuple[str, ...] = _ALL
        if is_source_table:
            names = _UNDOABLE
        elif window is not None and window.kind == "SESSION":
            names = _MERGEABLE
        calls = []
        for n in range(self.random.randint(1, 3)):
            name = self.random.choice(names)
            operand: Expression | None = self.number(sources, 1)
            if name == "COUNT" and self.random.random() < 0.5:
                operand = None
            if operand is not None and not _has_column(operand):
                operand = self.column(sources, "INT", "BIGINT", "DOUBLE")
                name = name if operand is not None else "COUNT"
            calls.append(Aggregate(name, operand, f"G{n}"))
        having = self.having(calls) if self.random.random() < 0.3 else None
        return replace(
            query,
            key=place,
            key_type=self.type_of(place),
            is_table=True,
            items=(),
            aggregates=tuple(calls),
            group_by=place,
            window=window,
            having=having,
        )

    def having(self, calls: list[Aggregate]) -> Expression | None:
        plain = [call for call in calls if call.name != "COLLECT_LIST"]
        if not plain:
            return None
        call = self.random.choice(plain)
        operator = self.random.choice(("<", ">=", "="))
        # Written as the call, and looked up by the call's alias.
        shown = call.sql().rpartition(" AS ")[0].replace("{", "{{").replace("}", "}}")
        number = Value(self.random.randint(0, 4))
        return Apply(operator, f"{shown} {operator} {{1}}", (Ref("", call.alias), number))

    def window(self) -> Window:
        kind = self.random.choice(("TUMBLING", "HOPPING", "SESSION"))
        size = self.random.choice((5, 10, 20))
        advance = size if kind != "HOPPING" else self.random.choice((5, size // 2 or 1, 3))
        return Window(kind, size, min(size, advance), self.random.choice((None, 0, 5, 15)))

    # Records

    def batches(self, queries: list[Query]) -> list[Batch]:
        first = queries[0]
        topics = [first.source] if first.join is None else [first.source, first.join.source]
        is_mixed = len(topics) == 2 and self.random.random() < 0.5 and not _needs_repartition(first)
        changes = self.changes(queries[-1])
        if first.join is not None and first.join.grace is not None:
            # Whether a record still waits for its partner depends on the wall clock.
            changes = []
        last = queries[-1]
        if last.window is not None and last.window.grace is not None:
            # An operator with another number begins with a clock of its own.
            changes = []
        now, batches = 0, []
        for number in range(self.random.randint(2, 5)):
            chosen = topics if is_mixed else [self.random.choice(topics)]
            events = []
            for _ in range(self.random.choice((0, 2, 5, 9, 20))):
                now += self.random.choice((0, 0, 1, 2, 5, 13)) * 1000
                events.append(self.event(self.random.choice(chosen), now))
            if is_mixed:
                events = _without_ties(events)
            restarts = number > 0 and self.random.random() < 0.4
            change = None
            if number > 0 and changes and self.random.random() < 0.3:
                change = changes.pop()
            batches.append(Batch(tuple(events), restarts, self.random.random() < 0.5, change))
        if first.join is not None and first.join.grace is not None:
            # So that everything that waits for a partner is shown.
            last = [Event(t, END_KEY, (("A", 0),), _END_MS + n) for n, t in enumerate(topics * 2)]
            batches.extend(Batch((event,)) for event in last)
        return batches

    def event(self, topic: str, now: int) -> Event:
        late = self.random.choice((0, 0, 0, 0, 1, 3, 7, 12, 25)) * 1000
        beside = self.random.choice((0, 0, 0, 1, -1))
        key = None if self.random.random() < 0.07 else self.random.choice(_KEYS)
        value = None if self.random.random() < 0.15 else self.value()
        return Event(topic, key, value, max(0, now - late + beside))

    def value(self) -> tuple[tuple[str, Any], ...]:
        fields: dict[str, Any] = {
            "A": self.random.choice((None, *range(-3, 9))),
            "B": self.random.choice(_TEXTS),
            "D": self.random.choice((None, -1.5, 0.0, 0.5, 2.0, 7.25)),
        }
        # A field may be missing, which is NULL as well.
        return tuple(
            (n, v) for n, v in fields.items() if v is not None or self.random.random() < 0.5
        )

    def changes(self, query: Query) -> list[Query]:
        """Return versions of a query that may take its place, the last one first."""
        sources = [query.source] if query.join is None else [query.source, query.join.source]
        found: list[Query] = []
        for _ in range(2):
            pick = self.random.random()
            # A table takes rows back from its groups: those that the old condition let in.
            takes_back = query.group_by is not None and self.is_table(query.source)
            if pick < 0.4 and not takes_back:
                query = replace(query, where=self.condition(sources))
            elif query.having is not None and pick < 0.7:
                query = replace(query, having=self.having([*query.aggregates]))
            elif query.items:
                extra = self.item(sources, len(query.items))
                query = replace(query, items=(*query.items, extra))
            else:
                continue
            found.insert(0, query)
        return found


def generate(seed: int) -> Script:
    """Return the script of a seed."""
    return Generator(seed).script()


def _is_foreign(join: Join) -> bool:
    return join.source in TABLES and join.left.source in TABLES and join.left.name != "K"


def _needs_repartition(query: Query) -> bool:
    return query.join is not None and query.join.left.name != "K"


def _has_column(node: Expression) -> bool:
    match node:
        case Ref():
            return True
        case Apply(_, _, operands):
            return any(_has_column(operand) for operand in operands)
        case _:
            return False


def _without_ties(events: list[Event]) -> list[Event]:
    """Leave out records of one topic with the time of another's: either may come first."""
    owners: dict[int, str] = {}
    return [e for e in events if owners.setdefault(e.timestamp, e.topic) == e.topic]
