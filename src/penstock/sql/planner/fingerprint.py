"""A description of a query that shows which changes its state and its output survive.

The state of a query is everything up to its last join, aggregate or table. A change there is
refused. A changed WHERE over a stream can be accepted with CREATE OR REPLACE, as ksqlDB does it.
Over a table it cannot: an aggregate takes the old row of a change back, and the new condition does
not say whether the old one let that row in. What comes
after the state is free for a stream, whose rows are history. A table shows rows of long ago, too,
so that a plain CREATE has to be the same table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, get_args

from penstock.sql.ast.expressions import ColumnRef, Expression
from penstock.sql.ast.node import Node
from penstock.sql.ast.queries import UNIT_MS, TimeSpan, Within
from penstock.sql.ast.walk import rewrite, walk
from penstock.sql.catalog.catalog import DataSource, FormatSpec
from penstock.sql.catalog.schema import SYSTEM_COLUMNS
from penstock.sql.planner.plan import QueryPlan, expressions_of, inputs, steps_of
from penstock.sql.planner.steps import (
    AggregateStep,
    ChangesStep,
    DerivedStep,
    ExplodeStep,
    FilterStep,
    ForeignKeyJoinStep,
    JoinStep,
    ProjectStep,
    RekeyStep,
    RetimeStep,
    SourceStep,
    Step,
    TopStep,
    UnionStep,
    UnwindowStep,
)
from penstock.sql.syntax.format_expression import format_expression, format_order_item, identifier
from penstock.sql.syntax.format_query import format_window, format_within
from penstock.topology.upgrades.fingerprint import Line, Rule, Section, Statement, strictest

#: Fields that every step has. They follow from the steps before it.
_SHAPE = frozenset(member.name for member in fields(Step))
#: Formats that find a column by its name: rows with fewer columns stay readable.
_BY_NAME = ("JSON", "JSON_SR", "AVRO", "PROTOBUF")
#: Steps whose output rows depend on one input row only.
_STATELESS = (DerivedStep, ExplodeStep, FilterStep, ProjectStep, RetimeStep, UnionStep)


def statement_of(plan: QueryPlan) -> Statement:
    """Return the description of the state and the output of a persistent query."""
    assert plan.sink is not None
    sections = (_query_section(plan), _sink_section(plan.sink))
    return Statement(plan.sql, sections, plan.replaces)


# The query


def _query_section(plan: QueryPlan) -> Section:
    assert plan.sink is not None
    steps = list(steps_of(plan.step))
    describe = _Words(steps, is_table=plan.sink.is_table)
    return Section("query", tuple(line for step in steps for line in describe.lines(step)))


class _Words:
    """Names sources by their topics, so that another alias changes nothing."""

    def __init__(self, steps: Sequence[Step], *, is_table: bool) -> None:
        self._before_state = {id(b) for s in steps if _has_state(s) for b in steps_of(s)}
        self._taken_back = {id(b) for s in steps if _takes_back(s) for b in _tables_before(s)}
        self._joined = {id(b) for s in steps if _is_stream_join(s) for b in steps_of(s)}
        self._after = Rule.REPLACE if is_table else Rule.FREE
        self._aliases = dict(_aliases(steps))
        self._calls = dict(_calls(steps))
        #: By column: the strictest rule among the expressions that use it.
        self._used: dict[ColumnRef, Rule] = {}
        for step in steps:
            rule = self._rule(step)
            for ref in (ref for each in expressions_of(step) for ref in _refs(each)):
                self._used[ref] = strictest(rule, self._used.get(ref, Rule.FREE))

    def _rule(self, step: Step) -> Rule:
        """Return the rule for a changed expression; CREATE OR REPLACE may change WHERE."""
        if isinstance(step, FilterStep) and id(step) in self._taken_back:
            return Rule.FIXED
        if id(step) not in self._before_state:
            return self._after
        return Rule.REPLACE if isinstance(step, FilterStep) else Rule.FIXED

    def lines(self, step: Step) -> Iterator[Line]:
        rule = self._rule(step)
        match step:
            case SourceStep():
                yield from self._source(step)
            case FilterStep():
                yield Line(f"{step.clause} {self.sql(step.condition)}", rule)
            case RekeyStep():
                yield Line(f"PARTITION BY {self._list(step.expressions) or 'nothing'}")
            case RetimeStep():
                yield Line(f"time {self.sql(step.time)}")
            case ExplodeStep():
                yield Line(f"rows of {self._list(step.calls)}", rule)
            case JoinStep():
                within = "" if step.within is None else f" WITHIN {_within(step.within)}"
                yield Line(f"{step.kind} JOIN{within}")
            case ForeignKeyJoinStep():
                yield Line(f"{step.kind} JOIN ON {self._list(expressions_of(step))}")
            case AggregateStep():
                yield from self._aggregate(step)
            case ProjectStep():
                for expression in step.expressions:
                    yield Line(f"SELECT {self.sql(expression)}", rule)
            case TopStep() | UnwindowStep() | UnionStep() | ChangesStep():
                yield Line(self._words(step))
            case DerivedStep():
                pass
            case _:
                # A step that this module does not know is compared as a whole, and has state.
                yield Line(f"{type(step).__name__} {self._facts(step, _SHAPE)}")

    def _words(self, step: TopStep | UnwindowStep | UnionStep | ChangesStep) -> str:
        match step:
            case TopStep():
                items = [
                    replace(item, expression=self._plain(item.expression)) for item in step.order_by
                ]
                order = ", ".join(map(format_order_item, items))
                return f"the first {step.at_most} of {self._list(step.partition_by)} BY {order}"
            case UnwindowStep():
                return f"key with {' and '.join(step.bounds)} of windows"
            case UnionStep():
                return f"UNION ALL of {len(step.inputs)}"
            case ChangesStep():
                return "CHANGES"

    def _source(self, step: SourceStep) -> Iterator[Line]:
        source = step.source
        time = "" if source.timestamp is None else f", time {_timestamp(source)}"
        window = "" if source.window is None else f", windows {source.window.kind}"
        yield Line(
            f"FROM {source.kind} in topic {source.topic!r}, key {_format(source.key_format)},"
            f" value {_format(source.value_format)}{time}{window}"
        )
        if source.ttl_ms is not None:
            # Rows in the store keep their deadlines.
            yield Line(f"ROW_TTL {_duration(source.ttl_ms)}", Rule.REPLACE)
        alias = step.columns[0].source
        is_whole = id(step) in self._joined or source.is_table
        for column in source.schema.columns:
            ref = ColumnRef(column.name, alias)
            text = f"reads {self.sql(ref)} {column.type}"
            if is_whole:
                yield Line(text)
            elif source.value_format.name not in _BY_NAME:
                # A new column in the middle moves all columns after it.
                yield Line(text, self._rule(step))
            elif ref in self._used:
                yield Line(text, self._used[ref])
        # Stored rows do not contain pseudo columns that no expression uses.
        for name in sorted(SYSTEM_COLUMNS) if is_whole else ():
            if ColumnRef(name, alias) in self._used:
                yield Line(f"reads {self.sql(ColumnRef(name, alias))}")

    def _aggregate(self, step: AggregateStep) -> Iterator[Line]:
        if step.window_clause is not None:
            yield Line(f"WINDOW {format_window(rewrite(step.window_clause, _in_largest_unit))}")
        yield Line(f"GROUP BY {self._list(step.group_by)}")
        for call in step.calls:
            yield Line(f"aggregate {self.sql(call)}")
        if step.is_final:
            yield Line("EMIT FINAL")

    def sql(self, expression: Expression) -> str:
        return format_expression(self._plain(expression))

    def _plain(self, expression: Expression) -> Expression:
        return rewrite(expression, self._canonical)

    def _facts(self, value: Any, left_out: frozenset[str] = frozenset()) -> str:
        """Describe a value that has no SQL text by its fields, without spans."""
        if isinstance(value, get_args(Expression)):
            return self.sql(value)
        if isinstance(value, tuple):
            return f"({', '.join(self._facts(item) for item in value)})"
        if not is_dataclass(value):
            return str(value)
        members = [(m.name, getattr(value, m.name)) for m in fields(value) if m.compare]
        told = [
            f"{name} {self._facts(member)}"
            for name, member in members
            if name not in left_out and not _is_step(member)
        ]
        return ", ".join(told)

    def _list(self, expressions: Sequence[Expression]) -> str:
        return ", ".join(map(self.sql, expressions))

    def _canonical(self, node: Node) -> Node | None:
        if not isinstance(node, ColumnRef):
            return None
        if node.source is None:
            call = self._calls.get(node.name)
            return None if call is None else rewrite(call, self._canonical)
        # With one source only, its columns need no qualifier.
        is_only = len(self._aliases) == 1
        return replace(node, source=None if is_only else self._aliases.get(node.source))


def _has_state(step: Step) -> bool:
    """Return whether a store has the rows before a step, or values computed from them."""
    if isinstance(step, SourceStep | RekeyStep):
        return step.is_table
    if isinstance(step, JoinStep):
        return _is_stream_join(step)
    return not isinstance(step, _STATELESS)


def _takes_back(step: Step) -> bool:
    """Return whether a step needs the old row of a change; a stream-table join does not."""
    if isinstance(step, JoinStep):
        return step.is_table
    return not isinstance(step, _STATELESS)


def _tables_before(step: Step) -> Iterator[Step]:
    """Yield the steps whose changes reach a step as changes of a table."""
    for before in inputs(step):
        if before.is_table:
            yield before
            yield from _tables_before(before)


def _is_step(value: Any) -> bool:
    items = value if isinstance(value, tuple) else (value,)
    return any(isinstance(item, Step) for item in items)


def _is_stream_join(step: Step) -> bool:
    """Return whether a step stores whole rows of both sides; a table has its own store."""
    if isinstance(step, JoinStep):
        return not (step.left.is_table or step.right.is_table)
    return isinstance(step, ForeignKeyJoinStep)


def _calls(steps: Sequence[Step]) -> Iterator[tuple[str, Expression]]:
    """Map the generated names of aggregates to the calls that the user wrote."""
    for step in steps:
        if isinstance(step, AggregateStep):
            names = [column.name for column in step.columns[len(step.key) :]]
            yield from zip(names, step.calls, strict=False)


def _aliases(steps: Sequence[Step]) -> Iterator[tuple[str, str]]:
    """Name each source by its topic, and each inner query by its place."""
    seen: dict[str, int] = {}
    for step in steps:
        if not isinstance(step, SourceStep | DerivedStep) or not step.columns:
            continue
        name = step.source.topic if isinstance(step, SourceStep) else "subquery"
        seen[name] = seen.get(name, 0) + 1
        again = f" {seen[name]}" if seen[name] > 1 else ""
        yield step.columns[0].source or "", f"{name}{again}"


def _within(within: Within) -> str:
    return format_within(rewrite(within, _in_largest_unit))


def _duration(ms: int) -> str:
    span = _in_largest_unit(TimeSpan(ms, "MILLISECONDS"))
    assert isinstance(span, TimeSpan)
    return f"{span.count} {span.unit}"


def _in_largest_unit(node: Node) -> Node | None:
    """Return a time span in its largest unit: 60 SECONDS are 1 MINUTE."""
    if not isinstance(node, TimeSpan):
        return None
    unit = max((u for u, ms in UNIT_MS.items() if node.ms % ms == 0), key=UNIT_MS.__getitem__)
    return replace(node, count=node.ms // UNIT_MS[unit], unit=unit)


def _refs(expression: Node) -> frozenset[ColumnRef]:
    return frozenset(node for node in walk(expression) if isinstance(node, ColumnRef))


# The output


def _sink_section(sink: DataSource) -> Section:
    after = Rule.REPLACE if sink.is_table else Rule.FREE
    is_by_name = sink.value_format.name in _BY_NAME
    time = [] if sink.timestamp is None else [Line(f"time {_timestamp(sink)}", after)]
    columns = (
        Line(f"column {identifier(column.name)} {column.type}{key}")
        for members, key in ((sink.schema.key, " KEY"), (sink.schema.value, ""))
        for column in members
    )
    mode = ", present rows" if sink.lake_is_present else ""
    lake = [] if sink.lake is None else [Line(f"lake {sink.lake!r}{mode}", Rule.FREE)]
    window = "" if sink.window is None else f", windows {sink.window.kind} {sink.window.size_ms}"
    return Section(
        f"{sink.kind} {sink.name}",
        (
            Line(f"topic {sink.topic!r}"),
            Line(f"key {_format(sink.key_format)}{window}"),
            Line(f"value {_format(sink.value_format)}"),
            *time,
            *lake,
            *columns,
        ),
        growth=after if is_by_name else Rule.REPLACE,
    )


def _timestamp(source: DataSource) -> str:
    assert source.timestamp is not None
    written = f" as {source.timestamp.format!r}" if source.timestamp.format else ""
    return f"{identifier(source.timestamp.name)}{written}"


def _format(spec: FormatSpec) -> str:
    facts: Mapping[str, object] = {
        "delimiter": spec.properties.delimiter,
        "schema": spec.properties.schema_full_name,
        "schema id": spec.properties.schema_id,
        "nullable": spec.properties.nullable,
        "wrap": spec.wrap,
    }
    told = [f"{name} {value!s}" for name, value in facts.items() if value is not None]
    return f"{spec.name} ({', '.join(told)})" if told else spec.name
