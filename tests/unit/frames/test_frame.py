"""Rows as tables of Arrow, pandas and Polars."""

import sys

import pandas as pd
import polars as pl
import pytest

from penstock.errors import MissingExtraError
from penstock.frames.frame import Frame


def test_frame_becomes_a_table_of_each_library() -> None:
    frame = Frame(("country", "n"), [("NO", 2), ("PT", 1)])
    assert frame.to_arrow().to_pydict() == {"country": ["NO", "PT"], "n": [2, 1]}
    assert isinstance(frame.to_polars(), pl.DataFrame)
    assert frame.to_polars().row(0) == ("NO", 2)
    assert isinstance(frame.to_pandas(), pd.DataFrame)
    assert frame.to_pandas()["n"].sum() == 3


@pytest.mark.parametrize(("method", "package"), [("to_polars", "polars"), ("to_pandas", "pandas")])
def test_a_missing_library_is_named_with_its_extra(
    method: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=r"penstock-streams\[frames\]"):
        getattr(Frame(("n",), [(1,)]), method)()


def test_a_long_frame_is_drawn_with_its_first_rows() -> None:
    """A page with a million rows would stop the browser."""
    html = Frame(("n",), [(number,) for number in range(1_060)])._repr_html_()
    assert html.count("<tr>") == 51
    assert "1,010 more rows" in html
