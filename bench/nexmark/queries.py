"""The texts of the queries: ours, Flink's, and DuckDB's, which say what the rows must be."""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).resolve().parent

#: The names of all queries, in their order.
NAMES = tuple(f"q{number}" for number in range(24))
#: Those that Flink has a text of.
FLINK_NAMES = NAMES[:23]
#: By kind of event the topic with it. The side input is a table of numbers and texts.
TOPICS = {kind: f"nexmark-{kind}" for kind in ("person", "auction", "bid", "side-input")}
#: Bids are joined with the side input by their auction, modulo this number.
_SIDE_INPUTS = 10_000
_FIRST_AUCTION = 1_000


def side_input(count: int) -> dict[int, str]:
    """Return the side input for so many events: a value for each of their auctions."""
    auctions = range(_FIRST_AUCTION, _FIRST_AUCTION + count * 3 // 50 + 3)
    return {number % _SIDE_INPUTS: f"value {number % _SIDE_INPUTS}" for number in auctions}


def ours(name: str) -> str:
    """Return the statements of a query; the stream or table of its name has the result."""
    return _text("ours", name)


def sources() -> str:
    """Return the statements that declare the topics."""
    return _text("ours", "sources")


def flink(name: str) -> str:
    """Return the query as it is written for Flink."""
    return _text("flink", name)


def expected(name: str) -> str:
    """Return a query for DuckDB over tables with all events."""
    return _text("expected", name)


def _text(folder: str, name: str) -> str:
    return (_FOLDER / folder / f"{name}.sql").read_text(encoding="utf-8")
