"""The package ``ksql`` from PyPI against a server; it runs in an interpreter that has the package.

The package and the HTTP/2 client that it needs were last released for older versions of Python, so
names that have moved since are put back first. Its ``query`` ends with an error since Python 3.7,
so the method below it is called.
"""

from __future__ import annotations

import collections
import collections.abc
import json
import ssl
import sys
import time
from typing import Any


def _put_names_back() -> None:
    for name in ("Iterable", "Mapping", "MutableMapping", "MutableSet", "Sequence", "Callable"):
        setattr(collections, name, getattr(collections.abc, name))
    if not hasattr(ssl, "match_hostname"):
        ssl.match_hostname = lambda *_: None  # type: ignore[attr-defined]


def _row_of(client: Any, sql: str, seconds: float = 120.0) -> Any:
    """Ask until there is a row: the query that makes the table needs a moment."""
    deadline = time.monotonic() + seconds
    while True:
        lines = list(client.sa.query(sql))
        parts = [json.loads(text.strip("[], \n")) for text in lines if '"row"' in text]
        if parts or time.monotonic() > deadline:
            return parts
        time.sleep(0.2)


def main(url: str, prefix: str) -> None:
    """Create a stream and a table, insert, pull, push and terminate; print what came back."""
    _put_names_back()
    from ksql import KSQLAPI  # noqa: PLC0415 - only where the package is

    client = KSQLAPI(url, timeout=60)
    told: dict[str, Any] = {"version": client.get_ksql_version()}
    told["properties"] = len(client.get_properties())
    client.ksql(
        f"CREATE STREAM clicks (page VARCHAR KEY, n INT)"
        f" WITH (KAFKA_TOPIC='{prefix}clicks', VALUE_FORMAT='JSON', PARTITIONS=1)"
    )
    (made,) = client.ksql(
        f"CREATE TABLE sums WITH (KAFKA_TOPIC='{prefix}sums') AS"
        " SELECT page, SUM(n) AS total FROM clicks GROUP BY page"
    )
    rows = [{"PAGE": "a", "N": 1}, {"PAGE": "a", "N": 2}]
    told["acks"] = client.inserts_stream("clicks", rows)
    told["pull"] = _row_of(client, "SELECT * FROM sums WHERE page = 'a' AND total = 3")
    push = "SELECT n FROM clicks EMIT CHANGES LIMIT 2"
    earliest = {"auto.offset.reset": "earliest"}
    lines = list(client.sa.query(push, stream_properties=earliest))
    told["push"] = [text for text in lines if '"row"' in text]
    told["push over HTTP/2"] = list(client.query(push, stream_properties=earliest, use_http2=True))
    query_id = made["commandStatus"]["queryId"]
    told["terminated"] = client.ksql(f"TERMINATE {query_id}")[0]["commandStatus"]["status"]
    try:
        client.ksql("SELECT nonsense")
    except Exception as error:  # noqa: BLE001 - the package has errors of its own
        told["error"] = str(error)
    print(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
