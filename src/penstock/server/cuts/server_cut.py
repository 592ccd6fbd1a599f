"""A cut of the server: where every topic was, and the rows of its tables there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.kafka.topic_reader import Positions
from penstock.server.errors import ServerError
from penstock.sql.pull.table_rows import TableRows


class NoCutError(ServerError):
    """There is no cut that the request could be answered from."""

    status, error_code = 503, 50300


@dataclass(frozen=True, slots=True)
class ServerCut:
    """One state of all queries of a server together.

    Each query contains exactly what its sources had before ``positions``, and has written exactly
    what its sink has before them.
    """

    #: Grows with every cut, also over restarts: the time at which it was begun, in milliseconds.
    number: int
    positions: Positions
    #: The numbers of the queries' own cuts, by query id.
    queries: Mapping[str, int]
    #: The rows of tables, by name.
    tables: Mapping[str, TableRows]
    #: The topics that the cut does not cover, each with the reason.
    left_out: Mapping[str, str]
