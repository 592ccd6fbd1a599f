"""No text of a client holds the server: the time grows with its length, not with its square."""

import time
from collections.abc import Callable

import pytest

from penstock.model.sql.errors import SqlError
from penstock.server.security.masking import blotted, masked
from penstock.sql.pull.shape import shape_of
from penstock.sql.syntax import masking
from penstock.sql.syntax.parser import split_statements

_SIZE = 20_000
#: What is repeated; quotes and comments among them do not end.
_PIECES = (
    "a", "A_1.", "1", " ", "\n", "=", "a=", "a='", "'a'=", "'", "''x", '"', "`", "a.", "é",
    "/* ", "-- ", "$$ ", "${", "= ", "x '", "'a'='b''", ";", "(", "password ",
)  # fmt: skip


_LONG_S = 1.5


def _split(text: str) -> None:
    try:
        split_statements(text)
    except SqlError as error:
        str(error.with_source(text))


@pytest.mark.parametrize("function", [masked, blotted, masking.blotted, shape_of, _split])
def test_a_long_text_takes_time_by_its_length(function: Callable[[str], object]) -> None:
    """A word of 40 kB once held the server for half a minute."""
    for piece in _PIECES:
        for start in ("", "'", "CREATE SINK CONNECTOR c WITH ("):
            text = start + piece * (_SIZE // len(piece))
            took_s = _seconds(function, text)
            if took_s >= _LONG_S:
                # The garbage of the tests before may have been collected meanwhile.
                took_s = _seconds(function, text)
            assert took_s < _LONG_S, (piece, start)


def _seconds(function: Callable[[str], object], text: str) -> float:
    # Not of the process: threads that other tests have left may be busy.
    began = time.thread_time()
    function(text)
    return time.thread_time() - began


def test_a_secret_whose_quote_does_not_end_is_hidden() -> None:
    """The error about the missing quote shows the statement."""
    assert masked("SET 'sasl.password' = 'p w;") == "SET 'sasl.password' = '[hidden]"
    assert blotted("SET 'sasl.password' = 'p w;") == "SET 'sasl.password' = '****"


def test_a_quote_in_a_comment_does_not_uncover_a_secret() -> None:
    """Names are looked for in front of equals signs."""
    assert "'p'" not in masked("-- don't\nSET 'ssl.key.password' = 'p';")


def test_a_statement_whose_quote_does_not_end_has_no_shape() -> None:
    """It must not find the plan of a statement that ends."""
    assert shape_of("SELECT n FROM t WHERE id = 'a") is None
