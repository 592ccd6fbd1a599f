"""Chooses the join: of two streams, or of a stream with a table or a global table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from penstock.dsl.operators.joins.global_join import join_stream_with_global_table
from penstock.dsl.operators.joins.stream_join import join_streams
from penstock.dsl.operators.joins.stream_table_join import join_stream_with_table
from penstock.dsl.options.join_options import Joined, StreamJoined
from penstock.dsl.options.stream_options import not_none, options_of
from penstock.dsl.plan.stream import Stream
from penstock.dsl.plan.table import GlobalTable, Table
from penstock.errors import InvalidArgumentError
from penstock.expr.expression import Expression
from penstock.model.site import caller_site
from penstock.model.windows.definitions import JoinWindows
from penstock.serde.base import Serde
from penstock.topology.nodes import JoinKind


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinArguments:
    """The arguments of ``join``. Some are for one kind of join only."""

    joiner: Callable[..., Any]
    windows: JoinWindows | None = None
    key: Any = None
    value: Any = None
    other_value: Any = None
    joined: Joined[Any, Any, Any] | str | None = None
    stream_joined: StreamJoined[Any, Any, Any] | str | None = None
    name: str | None = None

    def serdes(self, kind: JoinKind, what: str) -> dict[str, Any]:
        """Return the serdes that are given; refuse a function, which only a global table takes."""
        if isinstance(self.key, FunctionType | Expression):
            problem = f"key={self.key!r} finds a key, which means nothing for a join {what}"
            fix = "give the serde of the keys; to join on another key, use select_key(…) first"
            raise _misfit(kind, problem, fix)
        given = {"key": self.key, "value": self.value, "other_value": self.other_value}
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
    _refuse(kind, "of two streams", {"joined": given.joined})
    serdes = given.serdes(kind, "of two streams")
    how = options_of(StreamJoined, given.stream_joined, name=given.name, **serdes)
    return join_streams(stream, right, kind, given.joiner, given.windows, how)


def _with_table(stream: Stream, kind: JoinKind, table: Table, given: JoinArguments) -> Stream:
    _refuse_outer(kind, "table")
    misfits = {"windows": given.windows, "stream_joined": given.stream_joined}
    _refuse(kind, "with a table", misfits)
    serdes = given.serdes(kind, "with a table")
    how = options_of(Joined, given.joined, name=given.name, **serdes)
    return join_stream_with_table(stream, table, given.joiner, how, is_left=kind is JoinKind.LEFT)


def _with_global_table(
    stream: Stream, kind: JoinKind, table: GlobalTable, given: JoinArguments
) -> Stream:
    _refuse_outer(kind, "global table")
    fix = "give key=lambda key, value: … that finds the global table's key"
    if given.key is None:
        raise _misfit(kind, "the key to look up in the global table is not given", fix)
    if isinstance(given.key, type | str | Serde):
        raise _misfit(kind, f"key={given.key!r} is a serde, and a global table has its own", fix)
    misfits = {
        name: getattr(given, name)
        for name in ("windows", "joined", "stream_joined", "value", "other_value")
    }
    _refuse(kind, "with a global table", misfits)
    is_left = kind is JoinKind.LEFT
    return join_stream_with_global_table(
        stream, table, given.key, given.joiner, given.name, is_left=is_left
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
