"""What a program's ``prepare`` may do wrong; brokers are in ``tests/integration/spark``."""

from pathlib import Path

import pytest

from penstock import StreamsBuilder
from penstock.cli.private_broker import _fill
from penstock.cli.program import LoadedProgram
from penstock.errors import StreamsError, TopologyError


def program(failure: Exception) -> LoadedProgram:
    def prepare(servers: str) -> None:
        raise failure

    return LoadedProgram(Path("shop.py"), StreamsBuilder().build(), {}, prepare)


def test_failing_prepare_names_the_line() -> None:
    """The program is the user's, so a traceback through Penstock helps nobody."""
    with pytest.raises(StreamsError, match="program-failed") as raised:
        _fill(program(KeyError("topic")), "127.0.0.1:1")
    assert raised.value.at == f"test_private_broker.py:{program.__code__.co_firstlineno + 2}"
    assert "KeyError('topic')" in raised.value.message
    assert "--bootstrap" in (raised.value.fix or "")


def test_errors_that_explain_themselves_pass() -> None:
    with pytest.raises(TopologyError, match="no-such"):
        _fill(program(TopologyError("no-such", "no")), "127.0.0.1:1")
