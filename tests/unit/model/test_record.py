"""Records: what their headers may be."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import StreamsError
from penstock.model.record import FixedKeyRecord, Record


@pytest.mark.parametrize("kind", [Record, FixedKeyRecord])
@pytest.mark.parametrize("given", [{"a": b"1"}, [("a", "1")], [(b"a", b"1")], ["a"]])
def test_headers_that_kafka_cannot_write_are_refused(kind: Any, given: Any) -> None:
    """They are refused where they are made, not in a batch that is written later."""
    record = kind("k", "v", 0)
    for make in (lambda: record.with_headers(given), lambda: kind("k", "v", 0, given)):
        with pytest.raises(StreamsError) as caught:
            make()
        assert caught.value.code == "bad-header"


@pytest.mark.parametrize("kind", [Record, FixedKeyRecord])
def test_a_list_of_pairs_becomes_a_tuple(kind: Any) -> None:
    """Records are compared and kept, so their headers do not change."""
    pairs = [("a", b"1"), ("a", None)]
    assert kind("k", "v", 0, pairs).headers == tuple(pairs)
    assert kind("k", "v", 0).with_headers(pairs).headers == tuple(pairs)
