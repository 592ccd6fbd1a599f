"""INSERT with several rows: all of them, in order, or none."""

import pytest

from penstock.sql import SqlEngine, SqlError
from tests.unit.sql.queries import ORDERS, engine_of


def test_rows_go_out_in_order() -> None:
    """Each row is a record of its own; the result says how many."""
    engine = engine_of(ORDERS)
    (result,) = engine.execute("INSERT INTO orders VALUES (1, 'fig', 2), (2, 'nut', 3);")
    assert result.message == "2 rows inserted"
    assert [record.key for record in engine.outbox] == [b"1", b"2"]


def test_one_bad_row_keeps_all_back() -> None:
    """A statement is carried out as a whole."""
    engine: SqlEngine = engine_of(ORDERS)
    with pytest.raises(SqlError, match="wrong-number-of-values"):
        engine.execute("INSERT INTO orders VALUES (1, 'fig', 2), (2);")
    assert engine.outbox == []
