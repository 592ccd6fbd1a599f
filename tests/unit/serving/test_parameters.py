"""The query of a URL, read strictly: what is not understood is refused, not ignored."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("msgspec", reason="needs penstock-streams[server]")

from penstock.errors import InvalidArgumentError
from penstock.serving.parameters import (
    KEY_PARAMETERS,
    SCAN_PARAMETERS,
    Parameters,
    cursor_text,
    next_page,
    parameters,
    peer_query,
    position_bound,
    unquoted,
)


def test_every_parameter_has_its_type() -> None:
    query = (
        b"from=a%2Fb&to=%C3%A4&reverse=true&limit=7&after=AP8&cursors=false&time_from=0"
        b"&time_to=9&key_format=base64&partitions=3,1,3&stale=true&max_lag=5"
    )
    assert parameters(query, SCAN_PARAMETERS) == Parameters(
        start="a/b", end="ä", reverse=True, limit=7, after=b"\x00\xff", cursors=False,
        time_from=0, time_to=9, key_format="base64", partitions=(1, 3), stale=True, max_lag=5,
    )  # fmt: skip
    assert parameters(b"as_of=4", KEY_PARAMETERS).as_of == 4


@pytest.mark.parametrize(
    "query",
    [
        b"limit=-1", b"limit=0", b"limit=+1", b"limit=1e3", b"limit=", b"limit=%D9%A1",
        b"reverse=1", b"stale", b"after=a", b"partitions=", b"partitions=1,,2",
        b"partitions=999999", b"key_format=x", b"unknown=1", b"limit=1&limit=1", b"from=%ff",
        b"time_from=99999999999999999999", b"\xff=1",
    ],
)  # fmt: skip
def test_the_rest_is_refused(query: bytes) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        parameters(query, SCAN_PARAMETERS)
    assert caught.value.code == "bad-request"


def test_staleness_is_accepted_by_either_parameter() -> None:
    assert parameters(b"stale=true", SCAN_PARAMETERS).allows_stale
    assert parameters(b"max_lag=0", SCAN_PARAMETERS).allows_stale
    assert not parameters(b"stale=false", SCAN_PARAMETERS).allows_stale


@given(st.binary(max_size=20), st.text(min_size=1, max_size=10))
def test_the_next_page_asks_the_same_behind_a_row(order: bytes, start: str) -> None:
    query = urlsplit(next_page("/stores/s", b"limit=3&after=AAAA", order)).query
    assert parameters(query.encode(), SCAN_PARAMETERS) == Parameters(limit=3, after=order)


def test_another_instance_is_asked_for_its_share_only() -> None:
    asked = peer_query(b"from=a%26b&limit=3&partitions=0,1,2&stale=true", [1, 2], 3)
    assert parse_qs(asked) == {
        "from": ["a&b"], "stale": ["true"], "partitions": ["1,2"], "limit": ["3"],
        "cursors": ["true"],
    }  # fmt: skip


def test_a_bound_is_what_a_position_header_says() -> None:
    assert position_bound(None) is None
    assert position_bound(b'{"t":{"0":42}}') == {"t": {0: 42}}
    for bad in (b"", b"[]", b'{"t":1}', b'{"t":{"x":1}}', b'{"t":{"0":"1"}}', b"\xff"):
        with pytest.raises(InvalidArgumentError):
            position_bound(bad)


def test_parts_of_a_path_are_utf_8() -> None:
    assert unquoted(b"a%2Fb%20%C3%A4") == "a/b ä"
    assert unquoted(b"100%") == "100%"
    with pytest.raises(InvalidArgumentError):
        unquoted(b"%ff")


def test_cursors_fit_a_url() -> None:
    assert cursor_text(b"\xff\xfe\xfd\xfc") == "__79_A"
