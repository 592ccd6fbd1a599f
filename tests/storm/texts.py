"""What is sent: statements and bodies, broken in many ways, and some that are only long."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import orjson

from tests.fuzz.mutations import mutated, seeds

_LONG = (
    f"CREATE STREAM many AS SELECT k, {', '.join(f'a + {i} AS c{i}' for i in range(300))} FROM s;",
    f"INSERT INTO u VALUES ('x', 1, '{'aB3+/' * 10_000}');",
    f"INSERT INTO u VALUES ('{'aB3+/' * 150_000}', 1, 2);",
    f"CREATE STREAM long AS SELECT '{'aB3+/' * 10_000}' FROM s;",
    f"SELECT REGEXP_EXTRACT('(a+)+$', '{'a' * 30_000}b') FROM s;",
    f"SELECT * FROM t WHERE b LIKE '{'%a' * 3_000}';",
    f"SELECT * FROM t WHERE k IN ({', '.join(str(i) for i in range(20_000))});",
    "x y " * 5_000,
    "(" * 20_000,
    "SELECT a" + "+1" * 5_000 + " FROM s EMIT CHANGES;",
    "SELECT " + "NOT " * 3_000 + "TRUE FROM s;",
    "'" * 100_001,
    "-- " * 100_000,
    "/*" * 50_000,
    "9" * 100_000,
    "SHOW STREAMS;" * 500,
    "SET 'auto.offset.reset'='earliest';" * 500,
)  # fmt: skip
_QUERIES = (
    "SELECT * FROM t WHERE k = 'a';", "SELECT * FROM t;", "SELECT a, COUNT(*) FROM s GROUP BY a;",
    "SELECT * FROM s EMIT CHANGES LIMIT 1;", "SELECT * FROM s EMIT CHANGES;", "PRINT 's';",
    "SELECT s.k, t.a FROM s JOIN t ON s.k = t.k EMIT CHANGES;",
)  # fmt: skip
_LISTINGS = (
    "SHOW STREAMS;", "SHOW TABLES EXTENDED;", "SHOW FUNCTIONS;", "DESCRIBE t EXTENDED;",
    "EXPLAIN SELECT * FROM s EMIT CHANGES;", "SHOW PROPERTIES;", "SHOW QUERIES;",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sent:
    """One request."""

    path: str
    body: bytes


def requests(seed: int) -> Iterator[Sent]:
    """Yield requests without end: one of twenty is long, one of five a broken body."""
    chance = random.Random(seed)
    corpus = [*seeds(), *(each.encode() for each in (*_QUERIES, *_LISTINGS))]
    texts = mutated(corpus, chance)
    bodies = mutated(_bodies(), chance)
    while True:
        path = chance.choice(["/ksql", "/ksql", "/query", "/query-stream"])
        draw = chance.random()
        if draw < 0.05:
            yield Sent(path, _body(path, chance.choice(_LONG)))
        elif draw < 0.25:
            path = chance.choice([path, "/inserts-stream", "/close-query", "/heartbeat", "/lag"])
            yield Sent(path, next(bodies))
        elif draw < 0.35:
            yield Sent(path, _body(path, chance.choice((*_QUERIES, *_LISTINGS))))
        else:
            yield Sent(path, _body(path, next(texts).decode("utf-8", "replace")))


def _body(path: str, sql: str) -> bytes:
    return orjson.dumps({"sql" if path == "/query-stream" else "ksql": sql})


def _bodies() -> list[bytes]:
    """Whole bodies, to be broken."""
    return [
        _body("/ksql", "SHOW STREAMS;"),
        orjson.dumps(
            {"ksql": "SHOW TABLES;", "streamsProperties": {"auto.offset.reset": "latest"}}
        ),
        orjson.dumps({"ksql": "SHOW ${x};", "sessionVariables": {"x": "STREAMS"}}),
        orjson.dumps({"sql": "SELECT * FROM t;", "properties": {"ksql.query.pull.table.scan": 1}}),
        b'{"target":"s"}\n{"K":"a","A":1,"B":"x","D":1.5,"C":[1],"M":{"a":1}}\n',
        orjson.dumps({"queryId": "abc"}),
        orjson.dumps({"hostInfo": {"host": "a", "port": 1}, "timestamp": 1}),
    ]
