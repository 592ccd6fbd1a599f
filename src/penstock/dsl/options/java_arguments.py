"""Refuses arguments in the order of Kafka Streams' Java API, and says what to write instead.

In Java options follow by type: ``table.join(other, joiner, Materialized.as("m"))``. Here most of
them are named: ``table.join(other, joiner, materialized=Materialized.as_("m"))``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar

from penstock.dsl.options.join_options import Joined, StreamJoined, TableJoined
from penstock.dsl.options.materialized import Materialized
from penstock.dsl.options.naming import Named
from penstock.dsl.options.stream_options import (
    Consumed,
    Grouped,
    Printed,
    Produced,
    Repartitioned,
)
from penstock.errors import InvalidArgumentError
from penstock.model.site import caller_site

_Face = TypeVar("_Face", bound=type)

_KEYWORDS: dict[type, str] = {
    Consumed: "consumed",
    Grouped: "grouped",
    Joined: "joined",
    Materialized: "materialized",
    Named: "name",
    Printed: "printed",
    Produced: "produced",
    Repartitioned: "repartitioned",
    StreamJoined: "stream_joined",
    TableJoined: "table_joined",
}
#: What Java calls an extractor or selector before the joiner, by the argument that it is here.
_SELECTORS = {"foreign_key": "foreign_key=extractor", "key": "key=selector"}
#: Who takes the serdes that people give to operators without any.
_SERDES = "group_by_key, repartition, join, to_table or to"
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def names_options(face: _Face) -> _Face:
    """Decorate a face: its public methods refuse options that stand where Java has them."""
    for name, method in list(vars(face).items()):
        if inspect.isfunction(method) and not name.startswith("_"):
            parameters = list(inspect.signature(method).parameters.values())[1:]
            if {each.name for each in parameters} & {*_KEYWORDS.values()}:
                setattr(face, name, _checked(method, parameters))
    return face


def _checked(
    method: Callable[..., Any], parameters: Iterable[inspect.Parameter]
) -> Callable[..., Any]:
    keywords = {each.name for each in parameters}
    places = [each.name for each in parameters if each.kind in _POSITIONAL]
    takes_more = any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters)
    takes_any_name = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters)

    @wraps(method)
    def call(self: Any, *given: Any, **named: Any) -> Any:
        for number, argument in enumerate(given):
            place = places[number] if number < len(places) else None
            keyword = _KEYWORDS.get(type(argument))
            if keyword is not None:
                _check_option(method.__name__, argument, keyword, place, keywords, takes_more)
            elif callable(argument) and place in (None, "windows") and not takes_more:
                _refuse_function(method.__name__, keywords)
        for name in named:
            if name in ("key", "value") and name not in keywords and not takes_any_name:
                _refuse_serde(method.__name__, name)
        return method(self, *given, **named)

    return call


def _check_option(
    operator: str,
    option: Any,
    keyword: str,
    place: str | None,
    keywords: set[str],
    takes_more: bool,
) -> None:
    """Refuse an option at the place of another argument. A name may stand for options."""
    if keyword not in keywords or place == keyword:
        return
    if isinstance(option, Named) and (takes_more or place is not None):
        return
    kind = type(option).__name__
    written = f"{keyword}={kind}{'(…)' if kind == 'Named' else '.as_(…)'}"
    raise InvalidArgumentError(
        "java-order",
        f"{operator}: a {kind} stands where "
        + ("nothing" if place is None else repr(place))
        + " is expected; Java finds options by their type, Python by their name",
        fix=f"name it: {operator}(…, {written})",
        at=caller_site(),
    )


def _refuse_serde(operator: str, name: str) -> None:
    """Refuse a serde where no bytes are made: operators that write or store take serdes."""
    raise InvalidArgumentError(
        "no-serde-here",
        f"{operator} has no argument {name!r}: it makes no bytes",
        fix=f"give {name}= to the operator behind it that does: {_SERDES}",
        at=caller_site(),
    )


def _refuse_function(operator: str, keywords: set[str]) -> None:
    """Refuse the selector that Java has before the joiner."""
    for keyword, written in _SELECTORS.items():
        if keyword in keywords and "joiner" in keywords:
            raise InvalidArgumentError(
                "java-order",
                f"{operator}: two functions are given one after the other, as in Java",
                fix=f"give the joiner, and name the other: {operator}(other, joiner, {written})",
                at=caller_site(),
            )
