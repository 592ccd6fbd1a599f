"""Rows to write: as JSON values, in requests of several rows, with their acknowledgements."""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

from penstock.client import wire
from penstock.client.errors import ClientError, InsertError, code_of
from penstock.errors import InvalidArgumentError

#: How many rows one request carries, and how long it waits for more of them.
BATCH_ROWS = 500
LINGER_S = 0.05


@dataclass(frozen=True, slots=True)
class InsertAck:
    """The server has written row ``seq`` of a stream of inserts, counted from 0."""

    seq: int


def json_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row as JSON values: dates as ISO text, bytes in base64.

    Raises:
        InvalidArgumentError: ``bad-row``.
    """
    if not isinstance(row, Mapping):
        raise InvalidArgumentError(
            "bad-row",
            f"a row is a mapping from column to value, not {type(row).__name__}",
            fix="write {'COLUMN': value, ...}",
        )
    return {str(name): _json(value, str(name)) for name, value in row.items()}


def _json(value: Any, where: str) -> Any:
    match value:
        case float() if not math.isfinite(value):
            # JSON has no such numbers. The server reads and writes them as these texts.
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case None | bool() | int() | float() | str():
            return value
        case bytes() | bytearray():
            return b64encode(value).decode()
        case Decimal():
            # Text keeps all digits; the server reads it as a DECIMAL.
            return str(value)
        case datetime():
            moment = value.astimezone(UTC) if value.tzinfo else value
            return moment.replace(tzinfo=None).isoformat(timespec="milliseconds")
        case date() | time():
            return value.isoformat()
        case Mapping():
            return {str(k): _json(v, f"{where}.{k}") for k, v in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_json(item, where) for item in value]
        case _:
            raise InvalidArgumentError(
                "bad-row", f"column {where}: {type(value).__name__} is not a value of SQL"
            )


def request_of(target: str, rows: Sequence[Mapping[str, Any]]) -> wire.Request:
    """Return the request that writes rows."""
    return wire.inserts(target, [json_row(row) for row in rows])


def acks_of(lines: Iterable[bytes], first: int, count: int) -> list[InsertAck]:
    """Return the acknowledgements of one request, whose first row has number ``first``.

    Raises:
        InsertError: the server refused a row; the rows after it are not written.
        ClientError: ``no-ack``: the server did not say what became of a row.
    """
    acks: list[InsertAck] = []
    for line in lines:
        data = wire.loads(line)
        seq = first + int(data.get("seq", 0))
        if data.get("status") != "ok":
            number = int(data.get("error_code") or 50000)
            raise InsertError(
                code_of(number), str(data.get("message") or "the row was refused"), None,
                f"row {seq}", seq, number,
            )  # fmt: skip
        acks.append(InsertAck(seq))
    if len(acks) != count:
        raise ClientError(
            "no-ack",
            f"the server acknowledged {len(acks)} of {count} rows, from row {first} on",
            fix="the others may or may not be written: compare before you send them again",
        )
    return sorted(acks, key=lambda ack: ack.seq)
