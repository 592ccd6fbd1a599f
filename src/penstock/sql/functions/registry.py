"""Every function by name, and the choice of the overload that fits a call's arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from penstock.model.field_fold import FoldColumns
from penstock.model.sql.errors import AnalysisError, SqlTypeError, did_you_mean
from penstock.model.sql.types import BIGINT, INTEGER, SqlType
from penstock.sql.casting import caster
from penstock.sql.functions.signature import (
    AnyOf,
    Argument,
    Bindings,
    Signature,
    substitute,
    target_type,
)

Settings = Mapping[str, str]
#: Functions of other dialects, and what to write here.
INSTEAD = {
    "ARRAY_AGG": "COLLECT_LIST(x) returns an array",
    "JSON_VALUE": "write EXTRACTJSONFIELD(text, '$.path')",
    "JSON_EXTRACT_SCALAR": "write EXTRACTJSONFIELD(text, '$.path')",
    "JSON_ARRAYAGG": "COLLECT_LIST(x) returns an array",
    "NVL": "write COALESCE(a, b)",
    "ISNULL": "write x IS NULL",
    "IF": "write CASE WHEN condition THEN a ELSE b END",
    "DECODE": "write CASE x WHEN a THEN b END",
    "STRPOS": "write INSTR(text, part)",
    "LOCATE": "write INSTR(text, part)",
    "POSITION": "write INSTR(text, part)",
    "TRUNCATE": "write ROUND, FLOOR or CEIL",
    "TUMBLE_START": "write WINDOW TUMBLING (SIZE ...) behind the source, and WINDOWSTART",
    "TUMBLE_END": "write WINDOW TUMBLING (SIZE ...) behind the source, and WINDOWEND",
    "HOP_START": "write WINDOW HOPPING (SIZE ..., ADVANCE BY ...), and WINDOWSTART",
    "HOP_END": "write WINDOW HOPPING (SIZE ..., ADVANCE BY ...), and WINDOWEND",
    "SESSION_START": "write WINDOW SESSION (gap) behind the source, and WINDOWSTART",
    "SESSION_END": "write WINDOW SESSION (gap) behind the source, and WINDOWEND",
    "LAG": "write LATEST_BY_OFFSET(x, 2)[1]: the value before the last one of a group",
    "RANK": "number rows with ROW_NUMBER() OVER (PARTITION BY ... ORDER BY ...)",
    "DENSE_RANK": "number rows with ROW_NUMBER() OVER (PARTITION BY ... ORDER BY ...)",
    "REGEXP_LIKE": "write REGEXP_EXTRACT('pattern', text) IS NOT NULL",
    "STDDEV": "write STDDEV_SAMP(x)",
    "TIMESTAMPDIFF": "write UNIX_TIMESTAMP(b) - UNIX_TIMESTAMP(a), in milliseconds",
    "DATEDIFF": "write UNIX_DATE(b) - UNIX_DATE(a), in days",
}


@dataclass(frozen=True, slots=True)
class ScalarOverload:
    """One way to call a scalar function.

    ``implementation`` takes the values of a call. It is never called with a NULL unless
    ``takes_null``. If ``is_typed``, it takes the types of the arguments and returns that function.
    ``returns`` computes the type of the result if the signature does not contain it.
    ``over_columns`` takes the types of the arguments and returns a function over Arrow arrays,
    whose values may be NULL. ``check`` takes the values of the arguments that are texts in the
    statement, and None for the others; it refuses what would fail for every row.
    """

    signature: Signature
    implementation: Callable[..., Any]
    takes_null: bool = False
    is_typed: bool = False
    returns: Callable[[Sequence[Any]], SqlType] | None = None
    over_columns: Callable[[Sequence[Any]], Callable[..., Any]] | None = None
    check: Callable[[Sequence[str | None]], None] | None = None
    #: Returns the same overload with the settings of a query; None if they do not matter.
    configured: Callable[[Settings], ScalarOverload] | None = None


@dataclass(frozen=True, slots=True)
class TableOverload:
    """One way to call a table function; the implementation returns a list with a value per row.

    If ``is_typed``, it takes the types of the arguments and returns that function. ``returns``
    computes the type of a row if the signature does not contain it.
    """

    signature: Signature
    implementation: Callable[..., Any]
    is_typed: bool = False
    returns: Callable[[Sequence[Any]], SqlType] | None = None
    #: Returns the same overload with the settings of a query; None if they do not matter.
    configured: Callable[[Settings], TableOverload] | None = None


@dataclass(frozen=True, slots=True)
class Aggregator:
    """An aggregate function bound to its types: how to start, update and read a group's state.

    ``aggregate`` and ``undo`` take the state and then the values; they return a new state and do
    not modify the old one, because a store may still hold it. Without ``undo``, the function cannot
    aggregate a table, where old values have to be removed. ``arity`` is the number of arguments
    that are values; the literals after them are already bound.
    """

    initialize: Callable[[], Any]
    aggregate: Callable[..., Any]
    merge: Callable[[Any, Any], Any]
    map: Callable[[Any], Any]
    state_type: SqlType
    type: SqlType
    undo: Callable[..., Any] | None = None
    arity: int = 0
    #: Whether the state contains all values. The state of ksqlDB's aggregates never does.
    keeps_values: bool = False
    #: Whether it gets each value of a group once. The group's values are rows of another store.
    is_distinct: bool = False
    #: The most values that the row of a group can have; None if nothing limits them.
    most_values: int | None = 1
    #: Whether the state does not depend on the order of the values.
    is_order_free: bool = False
    #: ``aggregate`` for many records at once, see ``FieldFold``.
    over_columns: FoldColumns | None = None
    #: Replaces this aggregator in session windows, if merging states needs more than a state has.
    in_sessions: Aggregator | None = None


@dataclass(frozen=True, slots=True)
class AggregateOverload:
    """One way to call an aggregate function.

    The last ``constants`` arguments are literals; if ``columns`` is given, all arguments after that
    many are literals. ``bind`` takes the types of the others, the values of the literals and the
    query's settings.
    """

    signature: Signature
    bind: Callable[[Sequence[Any], Sequence[Any], Settings], Aggregator]
    constants: int = 0
    columns: int | None = None

    def arity(self, count: int) -> int:
        """Return how many of ``count`` arguments are values and not literals."""
        return count - self.constants if self.columns is None else min(count, self.columns)


Overload = TypeVar("Overload", ScalarOverload, TableOverload, AggregateOverload)


@dataclass(slots=True)
class Function(Generic[Overload]):
    """A name and its overloads."""

    name: str
    overloads: list[Overload] = field(default_factory=list)
    description: str = ""

    def choose(self, arguments: Sequence[Argument]) -> tuple[Overload, Bindings]:
        """Return the overload nearest to the arguments' types and its type variables.

        Raises SqlTypeError if no overload accepts them; the error lists the overloads.
        """
        matches = []
        for i, overload in enumerate(self.overloads):
            match = overload.signature.match(arguments)
            if match is not None:
                matches.append((match[0], i, overload, match[1]))
        if not matches:
            known = ", ".join(f"{self.name}{overload.signature}" for overload in self.overloads)
            raise SqlTypeError(
                "no-such-overload",
                f"function {self.name} does not accept parameters ({_shown(arguments)})",
                fix=f"it can be called as {known}",
            )
        cost, _, overload, bound = min(matches, key=lambda found: found[:2])
        ties = [match for match in matches if match[0] == cost]
        if len(matches) > 1 and (len(ties) > 1 or _is_guess(overload.signature, arguments)):
            raise self._ambiguous(arguments)
        return overload, bound

    def _ambiguous(self, arguments: Sequence[Argument]) -> SqlTypeError:
        return SqlTypeError(
            "ambiguous-call",
            f"several functions {self.name} take parameters ({_shown(arguments)})",
            fix="CAST an argument to the type that is meant",
        )


def _casts(
    types: Sequence[SqlType | None], targets: Sequence[SqlType | None]
) -> list[Callable[[Any], Any] | None]:
    return [
        caster(type_, target) if type_ is not None and target is not None else None
        for type_, target in zip(types, targets, strict=True)
    ]


def _converted_call(
    function: Callable[..., Any],
    types: Sequence[SqlType | None],
    targets: Sequence[SqlType | None],
) -> Callable[..., Any]:
    if list(types) == list(targets):
        return function
    casts = _casts(types, targets)
    return lambda *values: function(
        *(cast(v) if cast else v for cast, v in zip(casts, values, strict=True))
    )


def _converting(
    aggregator: Aggregator, types: Sequence[SqlType | None], targets: Sequence[SqlType | None]
) -> Aggregator:
    """Return an aggregator that converts arguments whose types differ from ``targets``."""
    casts = _casts(types, targets)
    merging = aggregator.in_sessions and _converting(aggregator.in_sessions, types, targets)
    aggregator = replace(aggregator, arity=len(types), in_sessions=merging)
    if list(types) == list(targets):
        return aggregator

    def converted(step: Callable[..., Any]) -> Callable[..., Any]:
        return lambda state, *values: step(
            state, *(c(v) if c else v for c, v in zip(casts, values, strict=True))
        )

    undo = aggregator.undo
    return replace(
        aggregator,
        aggregate=converted(aggregator.aggregate),
        undo=converted(undo) if undo else None,
    )


def _shown(arguments: Sequence[Argument]) -> str:
    return ", ".join("NULL" if argument is None else str(argument) for argument in arguments)


def _is_guess(signature: Signature, arguments: Sequence[Argument]) -> bool:
    """Return whether a whole number would become a DECIMAL; DOUBLE is preferred to that."""
    patterns = signature.expanded(len(arguments)) or ()
    return any(
        pattern == AnyOf("DECIMAL") and argument in (INTEGER, BIGINT)
        for pattern, argument in zip(patterns, arguments, strict=True)
    )


@dataclass(slots=True)
class FunctionRegistry:
    """The functions that a query can call. Names ignore case: they are kept in upper case."""

    scalars: dict[str, Function[ScalarOverload]] = field(default_factory=dict)
    tables: dict[str, Function[TableOverload]] = field(default_factory=dict)
    aggregates: dict[str, Function[AggregateOverload]] = field(default_factory=dict)
    #: Names of built-in functions that make way for a function of the user.
    yielding: set[str] = field(default_factory=set)
    #: Names of functions that want settings.
    configurable: set[str] = field(default_factory=set)

    def copy(self) -> FunctionRegistry:
        """Return a copy: functions that are added to it do not change this registry."""
        copied = FunctionRegistry(yielding=set(self.yielding), configurable=set(self.configurable))
        for mine, theirs in (
            (self.scalars, copied.scalars),
            (self.tables, copied.tables),
            (self.aggregates, copied.aggregates),
        ):
            for name, function in mine.items():
                own: Any = Function(name, list(function.overloads), function.description)
                theirs[name] = own
        return copied

    def configured(self, settings: Settings) -> FunctionRegistry:
        """Return these functions with the settings of a query, for those that want them."""
        if not self.configurable:
            return self
        found = self.copy()
        for functions in (found.scalars, found.tables):
            for name in self.configurable & functions.keys():
                entry: Any = functions[name]
                entry.overloads[:] = [
                    each if each.configured is None else each.configured(settings)
                    for each in entry.overloads
                ]
        return found

    def __contains__(self, name: str) -> bool:
        return any(name in each for each in (self.scalars, self.tables, self.aggregates))

    def names(self) -> list[str]:
        return sorted({*self.scalars, *self.tables, *self.aggregates})

    def is_aggregate(self, name: str) -> bool:
        return name in self.aggregates

    def is_table_function(self, name: str) -> bool:
        return name in self.tables

    def scalar(self, name: str) -> Function[ScalarOverload]:
        """Return a scalar function; raise an AnalysisError if the name is not one."""
        if name in self.scalars:
            return self.scalars[name]
        if name in self.aggregates:
            raise AnalysisError(
                "misplaced-aggregate",
                f"aggregate function {name} cannot be used here",
                fix="aggregates stand in SELECT and HAVING of a query with GROUP BY",
            )
        if name in self.tables:
            raise AnalysisError(
                "misplaced-table-function",
                f"table function {name} cannot be used here",
                fix="table functions stand in SELECT, not inside other functions or conditions",
            )
        raise self.unknown(name)

    def unknown(self, name: str) -> AnalysisError:
        return AnalysisError(
            "unknown-function",
            f"function {name!r} does not exist",
            fix=INSTEAD.get(name)
            or did_you_mean(name, self.names())
            or "SHOW FUNCTIONS lists all functions",
        )

    def make_way(self, name: str) -> None:
        """Remove the function of a name that a function of the user may take."""
        if name in self.yielding:
            self.yielding.discard(name)
            for functions in (self.scalars, self.tables, self.aggregates):
                functions.pop(name, None)

    def add_scalar(self, name: str, overload: ScalarOverload, description: str = "") -> None:
        entry = self.scalars.setdefault(name.upper(), Function(name.upper()))
        entry.overloads.append(overload)
        if overload.configured is not None:
            self.configurable.add(name.upper())
        entry.description = entry.description or description

    def add_table(self, name: str, overload: TableOverload, description: str = "") -> None:
        entry = self.tables.setdefault(name.upper(), Function(name.upper()))
        entry.overloads.append(overload)
        if overload.configured is not None:
            self.configurable.add(name.upper())
        entry.description = entry.description or description

    def add_aggregate(self, name: str, overload: AggregateOverload, description: str = "") -> None:
        entry = self.aggregates.setdefault(name.upper(), Function(name.upper()))
        entry.overloads.append(overload)
        entry.description = entry.description or description

    def bind_aggregate(
        self,
        name: str,
        types: Sequence[SqlType | None],
        values: Sequence[Any] = (),
        settings: Settings | None = None,
    ) -> Aggregator:
        """Bind an aggregate to the types of its arguments; ``values`` has the values of literals.

        ``values`` is as long as ``types``, with None for an argument that is not a literal.
        """
        function = self.aggregates.get(name)
        if function is None:
            raise self.unknown(name)
        overload, bound = function.choose(types)
        cut = overload.arity(len(types))
        constants = list(values)[cut:] if values else []
        if len(constants) < len(types) - cut or any(value is None for value in constants):
            raise SqlTypeError(
                "aggregate-needs-literal",
                f"the last {len(types) - cut} argument(s) of {name} must be literals",
            )
        patterns = overload.signature.expanded(len(types)) or ()
        targets = [target_type(p, t, bound) for p, t in zip(patterns, types, strict=True)][:cut]
        aggregator = overload.bind(targets, constants, settings or {})
        return _converting(aggregator, types[:cut], targets)

    def bind_table(
        self, name: str, types: Sequence[SqlType | None]
    ) -> tuple[SqlType, Callable[..., list[Any]]]:
        """Return the type of a table function's rows, and the function."""
        function = self.tables.get(name)
        if function is None:
            raise self.unknown(name)
        overload, bound = function.choose(types)
        implementation = overload.implementation
        if overload.is_typed:
            implementation = implementation(types)
        result = overload.returns(types) if overload.returns else None
        result = result or substitute(overload.signature.result, bound, types)
        patterns = overload.signature.expanded(len(types)) or ()
        targets = [target_type(p, t, bound) for p, t in zip(patterns, types, strict=True)]
        return result, _converted_call(implementation, types, targets)
