"""How a source reads a record again that it has processed before: ``operators.topics.source``."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from penstock import Serdes
from penstock.errors import UnavailableError
from penstock.kernel.operators.topics.source import SourceDecoder
from penstock.kernel.record_queue import RawRecord
from penstock.kernel.settings import TaskSettings
from penstock.topology.nodes import Source

RECORD = RawRecord("in", 0, 5, 70, b"k", b"v", ())


def decoder(decode: Any) -> SourceDecoder:
    settings = TaskSettings(application_id="app")
    node = Source(
        name="source",
        topics=("in",),
        key_serde=Serdes.string(),
        value_serde=Serdes.serde_from(str.encode, decode),
    )
    task: Any = SimpleNamespace(settings=settings, defaults=settings.defaults)
    return SourceDecoder(node, task)


def test_record_that_was_skipped_is_skipped_again() -> None:
    """A table that is restored from its topic has the rows that it had before."""

    def broken(data: bytes) -> str:
        raise ValueError("not a value")

    assert decoder(broken).restored(RECORD, -1) is None
    assert decoder(bytes.decode).restored(RECORD, -1) == 70


def test_record_is_not_skipped_when_what_it_needs_cannot_be_reached() -> None:
    """The record may be a good one, and its row would be missing in the restored table."""

    def away(data: bytes) -> str:
        raise UnavailableError("registry-unavailable", "the registry is away")

    with pytest.raises(UnavailableError, match="the registry is away"):
        decoder(away).restored(RECORD, -1)
