"""KD-75: customers, orders and shipments become shipped orders."""

import json
from collections import defaultdict
from typing import Any

from penstock.sql import SqlEngine
from tests.examples.play import EXAMPLES

FOLDER = EXAMPLES / "streaming_etl"


def records(file: str, part: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((FOLDER / file).read_text(encoding="utf-8"))[part]
    return found


def test_shipped_orders_have_customer_and_origin() -> None:
    """A customer is taken as of the order; a parcel that leaves after a week is left out."""
    engine = SqlEngine()
    engine.execute((FOLDER / "app.sql").read_text(encoding="utf-8"))
    written: dict[str, list[Any]] = defaultdict(list)
    with engine.local() as queries:
        for each in records("data.json", "inputs"):
            row = json.dumps(each["value"]).encode()
            queries.pipe(each["topic"], None, row, each["timestamp"])
        for topic, key, value, timestamp, *_ in queries.produced:
            written[topic].append(((key or b"").decode(), json.loads(value or b""), timestamp))
    expected: dict[str, list[Any]] = defaultdict(list)
    for each in records("expected.json", "outputs"):
        expected[each["topic"]].append((each["key"], each["value"], each["timestamp"]))
    assert written == expected
