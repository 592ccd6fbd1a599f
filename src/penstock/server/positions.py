"""Positions as text: consistency tokens of pull queries, continuation tokens of push queries."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping

import msgspec

from penstock.kafka.topic_reader import Positions
from penstock.server.errors import BadRequestError
from penstock.server.reading import Place

_VERSION = 1


class _Token(msgspec.Struct):
    """``e`` has the offset of the next record by topic and partition, ``s`` that of the first."""

    e: dict[str, dict[str, int]]
    s: dict[str, dict[str, int]] = {}
    v: int = _VERSION


def to_token(positions: Mapping[Place, int], starts: Mapping[Place, int] | None = None) -> str:
    """Return positions as a text that a client can send back, also in a URL or a header."""
    token = _Token(_nested(positions), _nested(starts or {}))
    return urlsafe_b64encode(msgspec.json.encode(token)).decode()


def from_token(text: str) -> tuple[Positions, Positions]:
    """Return the positions of a token, and where its query began.

    Raises:
        BadRequestError: ``bad-token``.
    """
    try:
        if not isinstance(text, str):
            raise ValueError("it is not a text")
        token = msgspec.json.decode(urlsafe_b64decode(text), type=_Token)
        if token.v != _VERSION:
            raise ValueError(f"its version is {token.v}")
        return _flat(token.e), _flat(token.s)
    except (ValueError, msgspec.MsgspecError) as error:
        raise BadRequestError(
            "bad-token",
            f"the token cannot be read: {error}",
            fix="send a token of this server unchanged, or leave it out",
        ) from None


def _nested(positions: Mapping[Place, int]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(positions.items()):
        found.setdefault(topic, {})[str(partition)] = offset
    return found


def _flat(nested: Mapping[str, Mapping[str, int]]) -> Positions:
    found = {
        (topic, int(partition)): offset
        for topic, of_topic in nested.items()
        for partition, offset in of_topic.items()
    }
    # Kafka's clients know negative offsets as other places, such as the end.
    if any(partition < 0 or offset < 0 for (_, partition), offset in found.items()):
        raise ValueError("it has a negative number")
    return found
