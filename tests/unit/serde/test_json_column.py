"""Many values become JSON, and JSON becomes values, as each of them does by itself."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.serde.json_column import dumped, loaded

SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text() | st.floats()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=6
)


@given(st.lists(VALUES, max_size=6))
def test_texts_are_those_of_the_values_one_by_one(values: list[Any]) -> None:
    """In number, in order and to the byte."""
    assert dumped(values) == [orjson.dumps(value) for value in values]


@pytest.mark.parametrize(
    "values",
    [
        [],
        ["\n", "a,\n,b", ",\\n,"],
        [[",\n,"], {",\n,": ",\n,"}],
        [1, orjson.Fragment(b"[2,\n,3]"), 4],
        [orjson.Fragment(b"\n"), orjson.Fragment(b"\n")],
    ],
    ids=["nothing", "line breaks in text", "and inside of values", "ready JSON", "and no more"],
)
def test_what_stands_between_values_may_stand_in_them(values: list[Any]) -> None:
    """A value is never cut in two, and two are never taken for one."""
    assert dumped(values) == [orjson.dumps(value) for value in values]


def test_option_holds_for_every_value() -> None:
    """Names that are no text need one."""
    assert dumped([{1: "a"}, {None: 2}], orjson.OPT_NON_STR_KEYS) == [b'{"1":"a"}', b'{"null":2}']


def test_value_without_json_form_is_refused() -> None:
    """With the error that it causes by itself."""
    with pytest.raises(TypeError, match="set"):
        dumped([1, {2}])


#: Some are JSON, some are parts of it that may become JSON together.
TEXTS = st.sampled_from(
    [b"1", b"[1", b"2]", b"1,2", b"", b"{}", b'{"a":1', b'"b":2}', b'"', b" 1 "]
)


def read(texts: list[bytes]) -> list[Any] | None:
    try:
        return [orjson.loads(text) for text in texts]
    except ValueError:
        return None


@given(st.lists(st.one_of(TEXTS, VALUES.map(orjson.dumps)), max_size=6))
def test_values_are_those_of_the_texts_one_by_one(texts: list[bytes]) -> None:
    """What is no JSON by itself is none beside others."""
    expected = read(texts)
    if expected is None:
        with pytest.raises(ValueError):  # noqa: PT011 - orjson's own
            loaded(texts)
    else:
        assert loaded(texts) == expected
