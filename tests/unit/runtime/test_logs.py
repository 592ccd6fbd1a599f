"""Log lines in JSON."""

from __future__ import annotations

import io
import json
import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from py4j.protocol import Py4JError, Py4JNetworkError

from penstock.config import StreamsConfig
from penstock.errors import StreamsError
from penstock.runtime.logs import (
    expect_no_answer_of_jvm,
    is_fault,
    log_about,
    use_log_format,
)

LOGGER = logging.getLogger("penstock.runtime.test")


@pytest.fixture
def lines() -> Iterator[Any]:
    logger = logging.getLogger("penstock")
    before = logger.handlers[:], logger.propagate, logger.level
    stream = io.StringIO()
    config = StreamsConfig({"application.id": "app", "penstock.log.format": "json"})
    use_log_format(config, stream)
    # A second application of the process takes over; no line is written twice.
    use_log_format(config, stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    logger.handlers, logger.propagate = before[:2]
    logger.setLevel(before[2])


def test_a_line_says_what_it_is_about(lines: Any) -> None:
    LOGGER.info("began %d", 1)
    with log_about(batch=7), log_about(task="0_1"):
        LOGGER.warning("dropped")
    LOGGER.info("ended")
    first, second, third = lines()
    assert (first["message"], first["level"], first["application"]) == ("began 1", "INFO", "app")
    assert first["time"].endswith("+00:00")
    assert (second["batch"], second["task"], second["logger"]) == (7, "0_1", LOGGER.name)
    assert "batch" not in third


def test_facts_belong_to_one_thread(lines: Any) -> None:
    with log_about(batch=7):
        other = threading.Thread(target=lambda: LOGGER.info("elsewhere"))
        other.start()
        other.join()
    assert "batch" not in lines()[0]


def test_an_error_has_its_stack_on_one_line(lines: Any) -> None:
    try:
        raise ValueError("two\nlines")
    except ValueError:
        LOGGER.exception("failed")
    (line,) = lines()
    assert line["error"] == "ValueError"
    assert "two\nlines" in line["stack"]


def test_text_leaves_logging_alone() -> None:
    logger = logging.getLogger("penstock")
    before = logger.handlers[:]
    use_log_format(StreamsConfig({"application.id": "app"}))
    assert logger.handlers == before


@pytest.mark.parametrize(
    "error",
    [
        StreamsError("broker-away", "it is away"),
        KafkaException(KafkaError(KafkaError._TRANSPORT)),
        Py4JError("the JVM is gone"),
        ConnectionResetError(),
    ],
)
def test_errors_from_outside_are_not_faults(error: Exception) -> None:
    """They say what is wrong; only a fault of this library needs a traceback."""
    assert not is_fault(error)
    assert is_fault(AttributeError("jobs"))


def test_what_py4j_logs_of_a_killed_jvm_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    """It comes from the root logger; other lines of the root logger stay."""
    root = logging.getLogger()
    before = [*root.filters]
    try:
        expect_no_answer_of_jvm()
        for error in (Py4JNetworkError("Answer from Java side is empty"), ValueError("mine")):
            try:
                raise error
            except Exception:
                logging.exception("failed")
        logging.error("plain")
    finally:
        root.filters[:] = before
    assert [(line.message, bool(line.exc_info)) for line in caplog.records] == [
        ("failed", True), ("plain", False),
    ]  # fmt: skip
    assert caplog.records[0].exc_info[0] is ValueError  # type: ignore[index]
