"""Functions of users: ``@udf``, ``@udtf`` and ``@udaf``, with SQL types from Python's hints.

>>> @udf
... def twice(x: int) -> int:
...     return 2 * x
>>> twice.name
'TWICE'
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, overload

from penstock.model.sql.errors import AnalysisError, SqlError
from penstock.sql.catalog.type_names import resolve
from penstock.sql.functions.column_functions import column_call, one_row_call
from penstock.sql.functions.hints import (
    Parameter,
    element_of,
    has_open_decimal,
    hints_of,
    parameters_of,
    pattern_of,
    site_of,
    wants_settings,
)
from penstock.sql.functions.registry import (
    AggregateOverload,
    Aggregator,
    FunctionRegistry,
    ScalarOverload,
    Settings,
    TableOverload,
)
from penstock.sql.functions.signature import AnyOf, Pattern, Signature, substitute
from penstock.sql.functions.signature_text import parse_signature
from penstock.sql.functions.user_calls import (
    Declared,
    TypeOf,
    aggregator,
    scalar_call,
    table_call,
    with_settings,
)
from penstock.sql.syntax.parser import parse_type

_STEPS = ("initialize", "aggregate", "merge")


@dataclass(frozen=True, slots=True)
class UserFunction:
    """A function of a user under its SQL name, ready to be added to a registry.

    Calling it calls the Python function. ``overload`` adds another signature to the same name.
    """

    name: str
    function: Callable[..., Any]
    add_to: Callable[[FunctionRegistry], None]
    overloads: list[UserFunction] = field(default_factory=list)

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)

    def overload(self, other: UserFunction) -> UserFunction:
        """Add another function under this one's name; the arguments' types choose between them."""
        self.overloads.append(other)
        return self

    def register(self, registry: FunctionRegistry) -> None:
        """Add the function and its overloads; from then on queries can call it."""
        registry.make_way(self.name.upper())
        self.add_to(registry)
        for other in self.overloads:
            other.register(registry)


Decorator = Callable[[Callable[..., Any]], UserFunction]


@overload
def udf(description: Callable[..., Any], /) -> UserFunction: ...


@overload
def udf(
    description: str = "",
    *,
    name: str | None = None,
    signature: str | Signature | None = None,
    returns: str | TypeOf | None = None,
    takes_null: bool = False,
    columns: bool = False,
) -> Decorator: ...


def udf(
    description: str | Callable[..., Any] = "",
    *,
    name: str | None = None,
    signature: str | Signature | None = None,
    returns: str | TypeOf | None = None,
    takes_null: bool = False,
    columns: bool = False,
) -> UserFunction | Decorator:
    """Make a Python function a scalar function of SQL.

    A NULL reaches a parameter whose hint is ``Optional``; a NULL for another parameter makes the
    result NULL. The result is checked: a call that returns a value of another type is NULL, and
    the processing log says why. A parameter ``settings`` that is given by name only gets the
    settings ``ksql.functions.<name>.*`` of the query, without that prefix.

    Args:
        description: what DESCRIBE FUNCTION shows; the docstring's first line otherwise.
        name: the SQL name; the Python name otherwise.
        signature: parameters and result, such as ``"ARRAY<A>, A... -> A"``, instead of hints.
        returns: the result's type as SQL, for types that hints cannot say: ``"DECIMAL(10, 2)"``,
            or a function that returns it for the arguments' types.
        takes_null: call the function with None for every NULL.
        columns: the function takes and returns Arrow arrays of many rows, NULLs included. Each
            row's result must depend on that row alone.
    """

    def declare(function: Callable[..., Any]) -> UserFunction:
        declared = _declared(function, name, signature, returns, takes_null=takes_null or columns)
        if columns and not declared.shape.parameters:
            raise AnalysisError(
                "no-columns",
                f"{declared.name} works on columns and has no parameter",
                fix="give it a parameter, or leave out columns=True",
                at=declared.at,
            )
        call = one_row_call if columns else scalar_call

        def made(work: Callable[..., Any]) -> ScalarOverload:
            return ScalarOverload(
                declared.shape,
                lambda types: call(work, declared, types),
                any(declared.takes_null),
                is_typed=True,
                returns=declared.returns,
                over_columns=(lambda types: column_call(work, declared, types))
                if columns
                else None,
            )

        overload_ = _configurable(made, function, declared.name)
        text = _description(function, description)
        return UserFunction(
            declared.name, function, lambda r: r.add_scalar(declared.name, overload_, text)
        )

    return declare(description) if callable(description) else declare


@overload
def udtf(description: Callable[..., Any], /) -> UserFunction: ...


@overload
def udtf(
    description: str = "",
    *,
    name: str | None = None,
    signature: str | Signature | None = None,
    returns: str | TypeOf | None = None,
    takes_null: bool = False,
) -> Decorator: ...


def udtf(
    description: str | Callable[..., Any] = "",
    *,
    name: str | None = None,
    signature: str | Signature | None = None,
    returns: str | TypeOf | None = None,
    takes_null: bool = False,
) -> UserFunction | Decorator:
    """Make a Python function a table function: a row for each element that it returns or yields.

    With ``signature`` or ``returns`` the result is the type of one element. A NULL for a parameter
    whose hint is not ``Optional`` results in no rows.

    Args:
        description: what DESCRIBE FUNCTION shows; the docstring's first line otherwise.
        name: the SQL name; the Python name otherwise.
        signature: parameters and the type of one row, instead of hints.
        returns: the type of one row, where hints cannot say it.
        takes_null: call the function with None for every NULL.
    """

    def declare(function: Callable[..., Any]) -> UserFunction:
        declared = _declared(
            function, name, signature, returns, takes_null=takes_null, is_table=True
        )

        def made(work: Callable[..., Any]) -> TableOverload:
            return TableOverload(
                declared.shape,
                lambda types: table_call(work, declared, types),
                is_typed=True,
                returns=declared.returns,
            )

        overload_ = _configurable(made, function, declared.name)
        text = _description(function, description)
        return UserFunction(
            declared.name, function, lambda r: r.add_table(declared.name, overload_, text)
        )

    return declare(description) if callable(description) else declare


@overload
def udaf(description: type, /) -> UserFunction: ...


@overload
def udaf(
    description: str = "",
    *,
    signature: str | None = None,
    state: str | TypeOf | None = None,
    name: str | None = None,
    returns: str | TypeOf | None = None,
    constants: int = 0,
    columns: int | None = None,
) -> Callable[[type], UserFunction]: ...


def udaf(
    description: str | type = "",
    *,
    signature: str | None = None,
    state: str | TypeOf | None = None,
    name: str | None = None,
    returns: str | TypeOf | None = None,
    constants: int = 0,
    columns: int | None = None,
) -> UserFunction | Callable[[type], UserFunction]:
    """Make a class an aggregate function.

    The class has ``initialize()``, ``aggregate(state, *values)`` and ``merge(a, b)``. It may have
    ``map(state)``, which makes the result, and ``undo(state, *values)``, which takes a row of a
    table back. The hints of ``aggregate`` declare the parameters, that of ``initialize`` the
    state, and that of ``map`` the result. Parameters of ``__init__`` are literals that
    follow the values in a call. A NULL for a parameter of ``aggregate`` that is hinted, and not
    ``Optional``, leaves the state as it is.

    Args:
        description: what DESCRIBE FUNCTION shows; the docstring's first line otherwise.
        signature: parameters and result, such as ``"ARRAY<A>, INTEGER -> A"``, instead of hints.
        state: the SQL type of each group's state, or a function of the arguments' types.
        name: the SQL name; the class's name otherwise.
        returns: the result's type, or a function of the arguments' types.
        constants: with ``signature``, how many last arguments of a call are literals.
        columns: with ``signature``, how many first arguments are not literals, when any number of
            literals follows.
    """

    def declare(class_: type) -> UserFunction:
        _check_steps(class_)
        made = _aggregate(class_, name, signature, returns, state)
        declared = made.declared
        literals = constants if signature is not None else made.constants
        values = columns if signature is not None else made.columns

        def bind(types: Sequence[Any], given: Sequence[Any], settings: Settings) -> Aggregator:
            whole = [*types, *(None for _ in given)]
            state_type = made.state_of(types) if made.state_of else None
            if state_type is None:
                assert made.state is not None
                state_type = substitute(made.state, declared.bound(whole), types)
            typed = _with_values(declared, whole, types)
            one = with_settings(class_, declared.name, settings)(*given)
            return aggregator(one, typed, types, (made.state, state_type))

        overload_ = AggregateOverload(declared.shape, bind, literals, values)
        text = _description(class_, description)
        return UserFunction(
            declared.name, class_, lambda r: r.add_aggregate(declared.name, overload_, text)
        )

    return declare(description) if isinstance(description, type) else declare


Made = TypeVar("Made", ScalarOverload, TableOverload)


def _configurable(
    made: Callable[[Callable[..., Any]], Made], function: Callable[..., Any], name: str
) -> Made:
    """Return the overload of a function, which may want the settings of a query."""
    found = made(with_settings(function, name, {}))
    if not wants_settings(function):
        return found
    return replace(found, configured=lambda given: made(with_settings(function, name, given)))


# Declarations


@dataclass(frozen=True, slots=True)
class _Aggregate:
    """An aggregate function as its class declares it; ``state`` comes from type hints."""

    declared: Declared
    state: Pattern | None
    state_of: TypeOf | None
    constants: int = 0
    columns: int | None = None


def _declared(
    function: Callable[..., Any],
    name: str | None,
    signature: str | Signature | None,
    returns: str | TypeOf | None,
    *,
    takes_null: bool,
    is_table: bool = False,
) -> Declared:
    at, type_of = site_of(function), _type_of(returns, function)
    parameters = parameters_of(function, is_hinted=signature is None)
    if signature is not None:
        shape = _parsed(signature, function)
        flags = _flags(parameters, len(shape.parameters))
        # A lambda or a function written in C has no hints. Then a table function is called with
        # NULLs.
        nulls = tuple(takes_null or (is_table if flag is None else flag) for flag in flags)
        return Declared(_name(function, name), shape, nulls, type_of, at)
    result: Pattern = AnyOf("ANY")
    if type_of is None:
        result = pattern_of(function, "return", hints_of(function).get("return"))
        if is_table:
            result = element_of(result) or result
        _check_decimal(function, result, parameters)
    shape = _shape(parameters, result)
    nulls = tuple(takes_null or bool(parameter.takes_null) for parameter in parameters)
    return Declared(_name(function, name), shape, nulls, type_of, at)


def _shape(parameters: Sequence[Parameter], result: Pattern) -> Signature:
    variadic = [n for n, parameter in enumerate(parameters) if parameter.is_variadic]
    return Signature(
        tuple(parameter.pattern or AnyOf("ANY") for parameter in parameters),
        result,
        variadic[0] if variadic else None,
        sum(parameter.has_default for parameter in parameters),
    )


def _aggregate(
    class_: Any,
    name: str | None,
    signature: str | None,
    returns: str | TypeOf | None,
    state: str | TypeOf | None,
) -> _Aggregate:
    values = parameters_of(class_.aggregate, 2, is_hinted=signature is None)
    if signature is not None:
        return _aggregate_of_text(class_, name, signature, (returns, state), values)
    is_plain = class_.__init__ is object.__init__
    literals = [] if is_plain else parameters_of(class_.__init__, 1)
    state_pattern = None
    if state is None:
        hint = hints_of(class_.initialize).get("return")
        state_pattern = pattern_of(class_.initialize, "return", hint)
        _check_decimal(class_.initialize, state_pattern, values)
    state_of, type_of = _type_of(state, class_), _type_of(returns, class_)
    result = state_pattern or AnyOf("ANY")
    if type_of is None and hasattr(class_, "map"):
        result = pattern_of(class_.map, "return", hints_of(class_.map).get("return"))
        _check_decimal(class_.map, result, values)
    elif type_of is None:
        type_of = state_of
    shape = _shape([*values, *literals], result)
    nulls = (*_nulls_of(values), *(True for _ in literals))
    declared = Declared(_name(class_, name), shape, nulls, type_of, site_of(class_))
    has_any = any(parameter.is_variadic or parameter.has_default for parameter in literals)
    columns = len(values) if has_any else None
    return _Aggregate(declared, state_pattern, state_of, len(literals), columns)


def _aggregate_of_text(
    class_: Any,
    name: str | None,
    signature: str,
    types: tuple[str | TypeOf | None, str | TypeOf | None],
    values: list[Parameter],
) -> _Aggregate:
    returns, state = types
    if state is None:
        raise AnalysisError(
            "no-state-type",
            f"{class_.__name__} has a signature, and the type of its state is not known",
            fix="add state='...', or leave out the signature and use hints",
            at=site_of(class_),
        )
    shape = _parsed(signature, class_)
    nulls = (*_nulls_of(values), *(True for _ in shape.parameters))[: len(shape.parameters)]
    declared = Declared(
        _name(class_, name), shape, nulls, _type_of(returns, class_), site_of(class_)
    )
    return _Aggregate(declared, None, _type_of(state, class_))


def _with_values(declared: Declared, whole: Sequence[Any], types: Sequence[Any]) -> Declared:
    """Return the declaration of ``aggregate``, which takes the values without the literals."""
    result = declared.returns(types) if declared.returns else None
    found = result or substitute(declared.shape.result, declared.bound(whole), types)
    patterns = declared.patterns(len(whole))[: len(types)]
    flags: Any = replace(declared.shape, parameters=declared.takes_null).expanded(len(whole))  # type: ignore[arg-type]
    shape = Signature(patterns, declared.shape.result)
    return replace(
        declared, shape=shape, takes_null=(flags or ())[: len(types)], returns=lambda _: found
    )


def _nulls_of(values: list[Parameter]) -> tuple[bool, ...]:
    """Return which values of an aggregate may be NULL: all whose hint does not exclude it."""
    return tuple(value.takes_null is not False for value in values)


def _flags(parameters: list[Parameter], count: int) -> list[bool | None]:
    """Return for each parameter of a signature whether its hint allows NULL; None without a hint.

    ``*values`` in Python stands for all remaining parameters.
    """
    flags: list[bool | None] = []
    for parameter in parameters:
        rest = max(0, count - len(flags)) if parameter.is_variadic else 1
        flags.extend([parameter.takes_null] * rest)
    return [*flags, *[None] * count][:count]


def _check_steps(class_: Any) -> None:
    missing = [step for step in _STEPS if not callable(getattr(class_, step, None))]
    if missing:
        raise AnalysisError(
            "incomplete-aggregate",
            f"{class_.__name__} has no {' and no '.join(f'{step}()' for step in missing)}",
            fix="an aggregate function is a class with initialize(self), aggregate(self, state,"
            " *values) and merge(self, a, b)",
            at=site_of(class_),
        )


def _check_decimal(
    function: Callable[..., Any], result: Pattern, parameters: Sequence[Parameter]
) -> None:
    """Refuse a DECIMAL result if no parameter determines its number of digits."""
    takes = any(p.pattern is not None and has_open_decimal(p.pattern) for p in parameters)
    if has_open_decimal(result) and not takes:
        raise AnalysisError(
            "no-sql-type",
            f"{function.__qualname__} returns a Decimal, and nothing says how many digits it has",
            fix="write returns='DECIMAL(10, 2)', or hint Annotated[Decimal, 'DECIMAL(10, 2)']",
            at=site_of(function),
        )


def _parsed(signature: str | Signature, function: Callable[..., Any]) -> Signature:
    if isinstance(signature, Signature):
        return signature
    try:
        return parse_signature(signature)
    except SqlError as error:
        raise error.located(site_of(function)) from None


def _type_of(written: str | TypeOf | None, function: Callable[..., Any]) -> TypeOf | None:
    if not isinstance(written, str):
        return written
    try:
        type_ = resolve(parse_type(written))
    except SqlError as error:
        # The span is a position in the text of the type, not in a statement.
        raise type(error)(error.code, error.message, error.fix, site_of(function)) from None
    return lambda _: type_


def _description(function: Callable[..., Any], given: str | Callable[..., Any]) -> str:
    if isinstance(given, str) and given:
        return given
    return (function.__doc__ or "").strip().split("\n")[0]


def _name(function: Callable[..., Any], name: str | None) -> str:
    return (name or function.__name__).upper()
