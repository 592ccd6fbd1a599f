"""Set quotas of a user, which the Kafka client for Python cannot do: one request by hand."""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping

_ALTER_CLIENT_QUOTAS = 49


def set_quotas(servers: str, user: str, quotas: Mapping[str, float | None]) -> None:
    """Set quotas such as ``producer_byte_rate``; None removes one.

    Raises:
        AssertionError: the broker has refused the change.
    """
    changes = b"".join(
        _text(name) + struct.pack(">d?", value or 0.0, value is None)
        for name, value in quotas.items()
    )
    entity = struct.pack(">i", 1) + _text("user") + _text(user)
    body = struct.pack(">i", 1) + entity + struct.pack(">i", len(quotas)) + changes + b"\0"
    head = struct.pack(">hhi", _ALTER_CLIENT_QUOTAS, 0, 1) + _text("ordinary")
    host, _, port = servers.partition(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(struct.pack(">i", len(head + body)) + head + body)
        with connection.makefile("rb") as answer:
            found = answer.read(struct.unpack(">i", answer.read(4))[0])
    # Correlation id, throttle time and the number of entities come before the error code.
    (error,) = struct.unpack_from(">h", found, 12)
    assert error == 0, f"quotas {dict(quotas)} of user {user!r}: error {error}"


def _text(value: str) -> bytes:
    return struct.pack(">h", len(value)) + value.encode()
