"""Who may ask, and that nothing about the others is told."""

from base64 import b64encode

import pytest

from penstock.serving.credentials import Access, Credentials

KNOWN = Credentials.of(
    full_tokens=("full-token",),
    read_tokens=("read-token",),
    full_users=(("root", "pass:word"),),
    read_users=(("guest", "ä"),),
)


def basic(text: str) -> bytes:
    return b"Basic " + b64encode(text.encode())


@pytest.mark.parametrize(
    ("header", "access"),
    [
        (b"Bearer full-token", Access.FULL),
        (b"bearer read-token", Access.READ),
        (basic("root:pass:word"), Access.FULL),
        (basic("guest:ä"), Access.READ),
        (None, Access.NONE),
        (b"", Access.NONE),
        (b"Bearer", Access.NONE),
        (b"Bearer full-toke", Access.NONE),
        (b"Bearer full-token2", Access.NONE),
        (b"full-token", Access.NONE),
        (b"Basic full-token", Access.NONE),
        (b"Basic !!!", Access.NONE),
        (b"Bearer " + b64encode(b"root:pass:word"), Access.NONE),
        (basic("root:pass"), Access.NONE),
        (basic("root"), Access.NONE),
        (b"Bearer \xff\xfe", Access.NONE),
    ],
)
def test_only_what_was_given_is_let_in(header: bytes | None, access: Access) -> None:
    assert KNOWN.access(header) is access


def test_without_credentials_everyone_reads_and_nobody_writes() -> None:
    assert Credentials().access(None) is Access.READ
    assert Credentials().is_anonymous


def test_the_refusal_names_the_schemes_that_exist() -> None:
    assert Credentials.of(read_tokens=("t",)).challenge == 'Bearer realm="penstock"'
    assert KNOWN.challenge == 'Bearer realm="penstock", Basic realm="penstock"'


def test_secrets_cannot_be_shown() -> None:
    shown = f"{KNOWN!r} {KNOWN}"
    assert "token" not in shown.replace("Credentials", "")
    assert "word" not in shown
