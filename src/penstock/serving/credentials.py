"""Who may ask: bearer tokens and users of basic authentication, compared in constant time."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import dataclass, field
from enum import IntEnum
from hashlib import sha256
from hmac import compare_digest
from typing import NamedTuple


class Access(IntEnum):
    """What a caller may do; each level includes those below it."""

    NONE = 0
    READ = 1
    #: Rows, streams, tables and queries of the SQL server may be changed, too.
    WRITE = 2
    FULL = 3


class Caller(NamedTuple):
    """The sender of a request. Requests with the same credentials have the same caller."""

    access: Access
    #: A digest of the credentials; empty for a caller without any.
    digest: bytes = b""
    #: The name of a user of basic authentication; a token has none.
    name: str = ""


@dataclass(frozen=True, slots=True)
class Credentials:
    """The callers that a server knows. It keeps digests only, so that no secret can leak.

    Without any credentials everyone may read.
    """

    _known: tuple[tuple[bytes, Access], ...] = field(default=(), repr=False)
    _schemes: frozenset[str] = frozenset()

    @staticmethod
    def of(
        *,
        full_tokens: tuple[str, ...] = (),
        write_tokens: tuple[str, ...] = (),
        read_tokens: tuple[str, ...] = (),
        full_users: tuple[tuple[str, str], ...] = (),
        write_users: tuple[tuple[str, str], ...] = (),
        read_users: tuple[tuple[str, str], ...] = (),
    ) -> Credentials:
        tokens = [(each, Access.FULL) for each in full_tokens]
        tokens += [(each, Access.WRITE) for each in write_tokens]
        tokens += [(each, Access.READ) for each in read_tokens]
        users = [(f"{name}:{word}", Access.FULL) for name, word in full_users]
        users += [(f"{name}:{word}", Access.WRITE) for name, word in write_users]
        users += [(f"{name}:{word}", Access.READ) for name, word in read_users]
        known = [(_digest(b"bearer", text.encode()), access) for text, access in tokens]
        known += [(_digest(b"basic", text.encode()), access) for text, access in users]
        schemes = {"Bearer"} if tokens else set()
        return Credentials(tuple(known), frozenset(schemes | ({"Basic"} if users else set())))

    @property
    def is_anonymous(self) -> bool:
        return not self._known

    @property
    def challenge(self) -> str:
        """The ``WWW-Authenticate`` header of a refusal."""
        names = [f'{scheme} realm="penstock"' for scheme in sorted(self._schemes, reverse=True)]
        return ", ".join(names)

    def access(self, authorization: bytes | None) -> Access:
        """Return what the sender of an ``Authorization`` header may do."""
        return self.caller(authorization).access

    def caller(self, authorization: bytes | None) -> Caller:
        """Return who has sent an ``Authorization`` header.

        All known credentials are compared, so that the time does not reveal a near match.
        """
        if not self._known:
            return Caller(Access.READ)
        scheme, _, given = (authorization or b"").partition(b" ")
        scheme, given = scheme.lower(), given.strip()
        if scheme == b"basic":
            try:
                given = b64decode(given, validate=True)
            except ValueError:
                given = b""
        digest = _digest(scheme, given)
        name = given.partition(b":")[0].decode("utf-8", "replace") if scheme == b"basic" else ""
        found = Access.NONE
        for known, access in self._known:
            if compare_digest(known, digest) and access > found:
                found = access
        return Caller(found, digest, name)


#: Everyone may read.
ANYONE = Credentials()


def _digest(scheme: bytes, secret: bytes) -> bytes:
    return sha256(scheme + b"\0" + secret).digest()
