"""JSON as columns has the same results as record by record, decoded or only checked.

Exercises ``json_check``.
"""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.formats.json.json_codec import json_codec
from penstock.formats.json.json_columns import json_columns
from penstock.model.sql.types import BIGINT, BOOLEAN, DOUBLE, INTEGER, STRING, Field
from penstock.model.user_code import UserCodeError

FIELDS = [
    Field("NAME", STRING),
    Field("N", INTEGER),
    Field("at", BIGINT),
    Field("X", DOUBLE),
    Field("OK", BOOLEAN),
]
NUMBERS = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
ITEMS = st.one_of(
    st.none(), st.booleans(), st.text(max_size=4), NUMBERS, st.just([1]), st.just({"a": 1})
)
FITTING = st.fixed_dictionaries(
    {
        "name": st.none() | st.text(max_size=4),
        "N": st.none() | st.integers(-(2**31), 2**31 - 1),
        "at": st.integers(-(2**63), 2**63 - 1),
        "x": st.none() | NUMBERS,
        "other": ITEMS,
        "OK": st.none() | st.booleans(),
    }
)
NAMES = st.sampled_from(["name", "NAME", "Name", "N", "n", "at", "x", "OK", "ok", "other"])
OBJECTS = st.dictionaries(NAMES, ITEMS, max_size=6)
SPACED = st.booleans()


def texts_of(objects: list[Any], *, is_spaced: bool) -> list[bytes]:
    option = orjson.OPT_INDENT_2 if is_spaced else None
    return [orjson.dumps(_finite(each), option=option) for each in objects]


def _finite(members: dict[str, Any]) -> dict[str, Any]:
    """orjson writes whole numbers of 64 bits at most."""
    return {k: float(v) if type(v) is int and abs(v) >= 2**63 else v for k, v in members.items()}


def one_by_one(texts: list[bytes]) -> list[tuple[Any, ...]] | None:
    _, decode = json_codec(FIELDS, is_unwrapped=False)
    try:
        return [decode(text) for text in texts]
    except ValueError:
        return None


def as_columns(texts: list[bytes], *, is_read: bool) -> list[tuple[Any, ...]] | None:
    """The rows of a batch, None where it is left to single records."""
    decode = json_columns(FIELDS, is_unwrapped=False, is_read=is_read).decode
    assert decode is not None
    try:
        found = decode(texts)
        return None if found is None else list(found)
    except (ValueError, LookupError, TypeError, UserCodeError):
        return None


@pytest.mark.parametrize("is_read", [True, False], ids=["read", "checked"])
@given(
    objects=st.lists(FITTING, min_size=1, max_size=4) | st.lists(OBJECTS, min_size=1, max_size=4),
    is_spaced=SPACED,
)
def test_columns_are_the_rows_of_their_records(
    objects: list[Any], is_spaced: bool, is_read: bool
) -> None:
    """Whatever is given as columns is the same, to the type, as from single records."""
    texts = texts_of(objects, is_spaced=is_spaced)
    found = as_columns(texts, is_read=is_read)
    if found is not None:
        assert repr(found) == repr(one_by_one(texts))


@given(objects=st.lists(OBJECTS, max_size=3), is_spaced=SPACED, data=st.data())
def test_what_a_check_lets_through_can_be_read(
    objects: list[Any], is_spaced: bool, data: st.DataObject
) -> None:
    """A check of a batch finds every record that its reader would refuse."""
    first = data.draw(FITTING)
    others = data.draw(st.lists(FITTING, max_size=3)) + objects
    texts = texts_of([first, *others], is_spaced=is_spaced)
    decode = json_columns(FIELDS, is_unwrapped=False, is_read=False).decode
    assert decode is not None
    try:
        is_let_through = decode(texts) is not None
    except (ValueError, LookupError, TypeError, UserCodeError):
        is_let_through = False
    assert not is_let_through or one_by_one(texts) is not None


PLAIN = b'{"name":"a","N":1,"at":2,"x":1.5,"OK":true}'


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        PLAIN[:-1],
        PLAIN.replace(b'"a"', b'"\xff"'),
        PLAIN.replace(b'"a"', b'"\n"'),
        PLAIN.replace(b'"N":1', b'"N":"word"'),
        PLAIN.replace(b'"N":1', b'"N":01'),
        PLAIN.replace(b"1.5", b"1e999"),
        PLAIN.replace(b"true", b"1"),
        PLAIN.replace(b'"x"', b'"x'),
    ],
)
def test_unreadable_record_is_found_though_nobody_reads_it(bad: bytes) -> None:
    """It would be dropped, so its batch must not pass as one without such records."""
    assert one_by_one([bad]) is None
    assert as_columns([PLAIN, bad, PLAIN], is_read=False) is None
    assert as_columns([PLAIN, PLAIN], is_read=False) == one_by_one([PLAIN, PLAIN])


@pytest.mark.parametrize("odd", [PLAIN + b"}", PLAIN + PLAIN, b"\0\0\0\0\1" + PLAIN])
@pytest.mark.parametrize("is_read", [True, False], ids=["read", "checked"])
def test_record_with_more_than_a_document_is_left_to_single_records(
    odd: bytes, is_read: bool
) -> None:
    assert one_by_one([odd]) == one_by_one([PLAIN])
    assert as_columns([PLAIN, odd, PLAIN], is_read=is_read) is None


def test_records_are_not_read_where_a_check_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a column that somebody asks for is read."""
    calls: list[Any] = []
    monkeypatch.setattr("penstock.formats.json.json_columns.loaded", calls.append)
    decode = json_columns(FIELDS, is_unwrapped=False, is_read=False).decode
    assert decode is not None
    found = decode([PLAIN] * 3)
    assert found is not None
    assert len(found) == 3
    assert calls == []
