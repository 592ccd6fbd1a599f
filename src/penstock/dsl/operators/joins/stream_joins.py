"""Chooses the join: of two streams, or of a stream with a table or a global table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.dsl.operators.joins.global_join import join_stream_with_global_table
from penstock.dsl.operators.joins.stream_join import join_streams
from penstock.dsl.operators.joins.stream_table_join import join_stream_with_table
from penstock.dsl.options.join_options import Joined, StreamJoined
from penstock.dsl.options.stream_options import not_none, options_of
from penstock.dsl.plan.stream import Stream
from penstock.dsl.plan.table import GlobalTable, Table
from penstock.errors import InvalidArgumentError
from penstock.model.site import caller_site
from penstock.model.windows.definitions import JoinWindows
from penstock.topology.nodes import JoinKind


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinArguments:
    """The arguments of ``join``. Some are for one kind of join only."""

    joiner: Callable[..., Any]
    windows: JoinWindows | None = None
    key_selector: Callable[[Any, Any], Any] | None = None
    joined: Joined[Any, Any, Any] | str | None = None
    stream_joined: StreamJoined[Any, Any, Any] | str | None = None
    name: str | None = None
    serdes: Mapping[str, Any] = field(default_factory=dict)


def join_serdes(key_serde: Any, value_serde: Any, other_value_serde: Any) -> dict[str, Any]:
    """Return the serdes that are given, by name of the option."""
    given = {
        "key_serde": key_serde,
        "value_serde": value_serde,
        "other_value_serde": other_value_serde,
    }
    return {name: serde for name, serde in given.items() if serde is not None}


def join_stream(stream: Stream, kind: JoinKind, other: Any, given: JoinArguments) -> Stream:
    """Join a stream with ``other``, after refusing arguments that are for another kind of join."""
    not_none(other, "the other side of a join")
    match getattr(other, "_stream", None) or getattr(other, "_table", None):
        case Stream() as right:
            return _with_stream(stream, kind, right, given)
        case Table() as table:
            return _with_table(stream, kind, table, given)
        case GlobalTable() as table:
            return _with_global_table(stream, kind, table, given)
        case _:
            fix = "join with a KStream, a KTable or a GlobalKTable"
            raise _misfit(kind, f"{other!r} is not a stream or table to join", fix)


def _with_stream(stream: Stream, kind: JoinKind, right: Stream, given: JoinArguments) -> Stream:
    if given.windows is None:
        fix = 'give windows, such as JoinWindows.of_time_difference_with_no_grace("5m")'
        raise _misfit(kind, "two streams are joined within windows, and none are given", fix)
    _refuse(kind, "of two streams", {"key_selector": given.key_selector, "joined": given.joined})
    how = options_of(StreamJoined, given.stream_joined, name=given.name, **given.serdes)
    return join_streams(stream, right, kind, given.joiner, given.windows, how)


def _with_table(stream: Stream, kind: JoinKind, table: Table, given: JoinArguments) -> Stream:
    _refuse_outer(kind, "table")
    misfits = {"windows": given.windows, "key_selector": given.key_selector}
    _refuse(kind, "with a table", misfits | {"stream_joined": given.stream_joined})
    how = options_of(Joined, given.joined, name=given.name, **given.serdes)
    return join_stream_with_table(stream, table, given.joiner, how, is_left=kind is JoinKind.LEFT)


def _with_global_table(
    stream: Stream, kind: JoinKind, table: GlobalTable, given: JoinArguments
) -> Stream:
    _refuse_outer(kind, "global table")
    if given.key_selector is None:
        fix = "give key_selector=lambda key, value: … that finds the global table's key"
        raise _misfit(kind, "the key to look up in the global table is not given", fix)
    misfits = {"windows": given.windows, "joined": given.joined, **given.serdes}
    _refuse(kind, "with a global table", misfits | {"stream_joined": given.stream_joined})
    is_left = kind is JoinKind.LEFT
    return join_stream_with_global_table(
        stream, table, given.key_selector, given.joiner, given.name, is_left=is_left
    )


def _refuse_outer(kind: JoinKind, other: str) -> None:
    if kind is JoinKind.OUTER:
        fix = "use left_join, or join two streams or two tables"
        raise _misfit(kind, f"a stream and a {other} have no outer join", fix)


def _refuse(kind: JoinKind, what: str, misfits: dict[str, Any]) -> None:
    for argument, value in misfits.items():
        if value is not None:
            problem = f"{argument} means nothing for a join {what}"
            raise _misfit(kind, problem, f"leave {argument} out")


def _misfit(kind: JoinKind, problem: str, fix: str) -> InvalidArgumentError:
    method = "join" if kind is JoinKind.INNER else f"{kind.value}_join"
    return InvalidArgumentError("bad-join", f"{method}: {problem}", fix, caller_site())
