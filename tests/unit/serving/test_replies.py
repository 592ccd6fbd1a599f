"""Every error has a status; what may hold data is not told."""

from __future__ import annotations

import pytest

pytest.importorskip("starlette", reason="needs penstock-streams[server]")

from penstock.errors import (
    InvalidArgumentError,
    PenstockError,
    SerializationError,
    StoreError,
    StreamsError,
    UnknownStoreError,
    UnsupportedOperationError,
)
from penstock.serving.application import NotAvailableError
from penstock.serving.replies import ascii_bytes, problem


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (NotAvailableError("partition-moving", "m"), 503),
        (StreamsError("worker-lost", "m"), 503),
        (UnknownStoreError("store-not-ready", "m"), 503),
        (UnknownStoreError("unknown-store", "m"), 404),
        (InvalidArgumentError("bad-key", "m"), 400),
        (UnsupportedOperationError("unsupported-question", "m"), 400),
        (SerializationError("wrong-type", "m"), 400),
        (TimeoutError(), 504),
    ],
)
def test_errors_have_their_status(error: Exception, status: int) -> None:
    found, model, headers = problem(error)
    assert found == status
    assert dict(headers).get(b"retry-after") == (b"1" if status in (503, 504) else None)
    if isinstance(error, PenstockError):
        assert model.code == error.code


@pytest.mark.parametrize(
    "error",
    [StoreError("store-damaged", "row hunter2"), RuntimeError("hunter2"), KeyError("hunter2")],
)
def test_what_was_not_foreseen_is_logged_and_not_told(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    status, model, _ = problem(error)
    assert status == 500
    assert "hunter2" not in model.message + model.code
    assert "hunter2" in caplog.text


def test_headers_cannot_be_split() -> None:
    assert ascii_bytes("a\r\nset-cookie: ä") == b"a  set-cookie: \\xe4"
