"""A small SQL server for tests: the wire format of the real one over a dictionary of rows.

It knows as much SQL as a test needs: CREATE, DROP, SHOW, DESCRIBE, INSERT of the client, and SELECT
of all rows, or of rows with one value in the first column.
"""

import asyncio
import json
import re
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from granian.constants import Interfaces
from granian.server.embed import Server
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

DELIMITED = "application/vnd.ksqlapi.delimited.v1"


@dataclass
class Source:
    """A stream or table with its columns and rows; a table has the last row of each key."""

    kind: str
    name: str
    columns: dict[str, str]
    rows: list[list[Any]] = field(default_factory=list)
    follower: str | None = None

    def add(self, row: list[Any]) -> None:
        if self.kind == "TABLE":
            self.rows = [each for each in self.rows if each[0] != row[0]]
        self.rows.append(row)

    def description(self) -> dict[str, Any]:
        fields = [
            {"name": name, "schema": {"type": type_}, "type": "KEY" if i == 0 else None}
            for i, (name, type_) in enumerate(self.columns.items())
        ]
        return {
            "name": self.name, "type": self.kind, "topic": self.name.lower(), "fields": fields,
            "keyFormat": "KAFKA", "valueFormat": "JSON", "extended": False, "readQueries": [],
            "writeQueries": [], "statement": "", "partitions": 1, "replication": 1,
        }  # fmt: skip


class RefusedError(Exception):
    """An answer with ksqlDB's error object."""

    def __init__(self, number: int, message: str, sql: str = "") -> None:
        super().__init__(message)
        self.number, self.message, self.sql = number, message, sql


class FakeServer:
    """The state of the server, and what it was asked."""

    def __init__(self) -> None:
        self.sources: dict[str, Source] = {}
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.closed: list[str] = []
        self.open_queries = 0
        #: Statements that begin with these words are refused.
        self.refused: dict[str, str] = {}
        #: Extra entities by statement.
        self.answers: dict[str, dict[str, Any]] = {}
        self.authorization: str | None = None
        #: Lines that a push query sends before it goes on for ever.
        self.push_rows: list[Any] = []
        self.does_push_end = False
        #: Whether push queries send nothing at all.
        self.is_silent = False
        #: The cut that pull queries are answered from, if they are.
        self.cut: int | None = None
        self.sequence = 0
        self.url = ""

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/ksql", self._ksql, methods=["POST"]),
                Route("/query-stream", self._query, methods=["POST"]),
                Route("/inserts-stream", self._inserts, methods=["POST"]),
                Route("/close-query", self._close, methods=["POST"]),
                Route("/info", self._info),
                Route("/healthcheck", self._health),
                Route("/clusterStatus", self._health),
                Route("/is_valid_property/{name}", self._property),
                Route("/status/{path:path}", self._status),
                Route("/text", self._text),
            ],
            exception_handlers={RefusedError: _refusal},
        )

    async def _ksql(self, request: Request) -> Response:
        body = await self._body(request)
        entities: list[dict[str, Any]] = []
        for sql in _split(_substituted(body["ksql"], body.get("sessionVariables") or {})):
            try:
                entities.append(self._entity(sql))
            except RefusedError as error:
                return _error(error, entities)
        return JSONResponse(entities, media_type="application/vnd.ksql.v1+json")

    def _entity(self, sql: str) -> dict[str, Any]:
        for words, message in self.refused.items():
            if sql.upper().startswith(words):
                raise RefusedError(40001, message, sql)
        if sql in self.answers:
            return {"statementText": sql, **self.answers[sql]}
        word = sql.split(maxsplit=1)[0].upper()
        if word == "SELECT":
            raise RefusedError(40002, "use /query", sql)
        if word in ("SHOW", "LIST"):
            return {"statementText": sql, "warnings": [], **self._shown(sql.upper())}
        if word == "DESCRIBE":
            name = sql.split()[1].strip("`;").upper()
            if name not in self.sources:
                raise RefusedError(40001, f"Could not find STREAM/TABLE '{name}'", sql)
            return {
                "@type": "sourceDescription",
                "sourceDescription": self.sources[name].description(),
            }
        return self._changed(sql)

    def _shown(self, sql: str) -> dict[str, Any]:
        listed = {
            kind: [s for s in self.sources.values() if s.kind == kind]
            for kind in ("STREAM", "TABLE")
        }
        if "EXTENDED" in sql:
            kind = "STREAM" if "STREAMS" in sql else "TABLE"
            found = [source.description() for source in listed[kind]]
            return {"@type": "source_descriptions", "sourceDescriptions": found}
        for kind, key in (("STREAM", "streams"), ("TABLE", "tables")):
            if key.upper() in sql:
                rows = [
                    {"name": s.name, "topic": s.name.lower(), "keyFormat": "KAFKA",
                     "valueFormat": "JSON", "isWindowed": False, "type": kind}
                    for s in listed[kind]
                ]  # fmt: skip
                return {"@type": key, key: rows}
        if "TOPICS" in sql:
            topics = [{"name": s.name.lower(), "replicaInfo": [1]} for s in self.sources.values()]
            return {"@type": "kafka_topics", "topics": topics}
        if "FUNCTIONS" in sql:
            functions = [
                {"name": "UCASE", "type": "SCALAR", "category": "STRING"},
                {"name": "COUNT", "type": "AGGREGATE", "category": "AGGREGATE"},
            ]
            return {"@type": "function_names", "functions": functions}
        if "PROPERTIES" in sql:
            found = {"name": "ksql.service.id", "scope": "KSQL", "value": "fake", "level": "SERVER"}
            return {"@type": "properties", "properties": [found]}
        if "QUERIES" in sql:
            query = {"id": "CTAS_T_1", "queryString": "CREATE TABLE T AS ...;", "sinks": ["T"],
                     "sinkKafkaTopics": ["t"], "queryType": "PERSISTENT",
                     "statusCount": {"RUNNING": 1}}  # fmt: skip
            return {"@type": "queries", "queries": [query]}
        if "CONNECTORS" in sql:
            found = {"name": "pg", "type": "source", "className": "io.Pg", "state": "RUNNING"}
            return {"@type": "connector_list", "connectors": [found]}
        raise RefusedError(40001, f"line 1:6: mismatched input in {sql}", sql)

    def _changed(self, sql: str) -> dict[str, Any]:
        created = re.match(
            r"CREATE (?:OR REPLACE )?(STREAM|TABLE) (\S+) (?:\((.*?)\) )?(WITH|AS)(.*)", sql,
            re.IGNORECASE | re.DOTALL,
        )  # fmt: skip
        dropped = re.match(r"DROP (STREAM|TABLE) (\S+?)(?: DELETE TOPIC)?;", sql, re.IGNORECASE)
        if created:
            self._create(created, sql)
        elif dropped:
            name = dropped[2].strip("`").upper()
            if self.sources.pop(name, None) is None:
                raise RefusedError(40001, f"{name} does not exist", sql)
        elif sql.split(maxsplit=1)[0].upper() not in (
            "TERMINATE",
            "ASSERT",
            "CREATE",
            "DROP",
            "INSERT",
        ):
            raise RefusedError(
                40001, f"line 1:1: mismatched input '{sql.split(maxsplit=1)[0]}'", sql
            )
        self.sequence += 1
        return {
            "@type": "currentStatus",
            "statementText": sql,
            "commandId": "stream/X/create",
            "commandStatus": {"status": "SUCCESS", "message": "done", "queryId": None},
            "commandSequenceNumber": self.sequence,
            "warnings": [],
        }

    def _create(self, found: re.Match[str], sql: str) -> None:
        name = found[2].strip("`").upper()
        if name in self.sources:
            raise RefusedError(40001, f"Cannot add '{name}': it exists already", sql)
        columns = {"ID": "STRING"}
        if found[3]:
            pairs = (each.split() for each in found[3].split(","))
            columns = {words[0].upper(): words[1].upper() for words in pairs}
        source = re.search(r"\bFROM (\S+)", sql, re.IGNORECASE)
        if source is not None:
            origin = self.sources[source[1].strip("`;").upper()]
            origin.follower, columns = name, dict(origin.columns)
        self.sources[name] = Source(found[1].upper(), name, columns)

    async def _query(self, request: Request) -> Response:
        body = await self._body(request)
        sql = _substituted(body["sql"], body.get("sessionVariables") or {})
        if sql.upper().startswith("PRINT"):
            return Response("rowtime: 1, key: a, value: {}\nrowtime: 2, key: b, value: {}\n")
        found = re.match(
            r"SELECT (.+?) FROM (\S+?)(?: WHERE (\w+) (?:= '([^']*)'|IN \((.*?)\)))?"
            r"( EMIT CHANGES)?(?: AS OF CUT \w+)?;",
            sql,
            re.IGNORECASE,
        )
        source = self.sources.get(found[2].strip("`").upper()) if found else None
        if found is None or source is None:
            raise RefusedError(40001, "line 1:15: FOO does not exist", sql)
        names = list(source.columns)
        if found[1] != "*":
            names = [name.strip().upper() for name in found[1].split(",")]
        header: dict[str, Any] = {
            "queryId": "push-1" if found[6] else None,
            "columnNames": names,
            "columnTypes": [source.columns[name] for name in names],
        }
        places = [list(source.columns).index(name) for name in names]
        wanted = None
        if found[3]:
            wanted = {found[4]} if found[4] is not None else set(re.findall("'(.*?)'", found[5]))
        rows = [row for row in source.rows if wanted is None or row[0] in wanted]
        lines = [header, *([row[i] for i in places] for row in rows)]
        if found[6]:
            if source.kind == "TABLE" and "penstock.changes" in request.headers["accept"]:
                header["keyColumns"] = names[:1]
            return StreamingResponse(self._push([header, *self.push_rows]), media_type=DELIMITED)
        headers = {"penstock-cut": str(self.cut)} if self.cut is not None else {}
        return Response(_lines(lines), headers=headers, media_type=DELIMITED)

    async def _push(self, lines: list[Any]) -> AsyncIterator[bytes]:
        self.open_queries += 1
        try:
            while self.is_silent and not self.does_push_end:
                await asyncio.sleep(0.05)
            for line in lines:
                yield _lines([line])
                await asyncio.sleep(0)
            while not self.does_push_end:
                await asyncio.sleep(0.05)
                yield b"\n"
        finally:
            self.open_queries -= 1

    async def _inserts(self, request: Request) -> Response:
        self._check(request)
        first, *rest = (await request.body()).splitlines()
        target = json.loads(first)["target"].strip("`").upper()
        if target not in self.sources:
            raise RefusedError(40001, f"Cannot insert values into an unknown stream: {target}")
        source = self.sources[target]
        acks: list[dict[str, Any]] = []
        for seq, line in enumerate(rest):
            row = {name.upper(): value for name, value in json.loads(line).items()}
            unknown = row.keys() - source.columns.keys()
            if unknown:
                message = f"no column {sorted(unknown)[0]}"
                acks.append(
                    {"status": "error", "seq": seq, "error_code": 40000, "message": message}
                )
                break
            values = [row.get(name) for name in source.columns]
            source.add(values)
            if source.follower is not None:
                self.sources[source.follower].add(values)
            acks.append({"status": "ok", "seq": seq})
        return Response(_lines(acks), media_type=DELIMITED)

    async def _close(self, request: Request) -> Response:
        query = (await self._body(request))["queryId"]
        if query == "gone":
            raise RefusedError(40000, "No query with id gone")
        self.closed.append(query)
        return Response("")

    async def _info(self, request: Request) -> Response:
        self._check(request)
        info = {"version": "0.1", "kafkaClusterId": "k1", "ksqlServiceId": "fake_",
                "serverStatus": "RUNNING"}  # fmt: skip
        return JSONResponse({"KsqlServerInfo": info})

    async def _health(self, request: Request) -> Response:
        return JSONResponse({"isHealthy": True})

    async def _property(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name.startswith("bad"):
            raise RefusedError(
                40001, f"Not recognizable as ksql, streams, consumer property: '{name}'"
            )
        return JSONResponse(True)

    async def _status(self, request: Request) -> Response:
        return JSONResponse({"status": "SUCCESS", "message": request.path_params["path"]})

    async def _text(self, request: Request) -> Response:
        return Response("<html>not an SQL server</html>")

    async def _body(self, request: Request) -> dict[str, Any]:
        self._check(request)
        body: dict[str, Any] = json.loads(await request.body())
        self.requests.append(body)
        return body

    def _check(self, request: Request) -> None:
        self.headers.append(dict(request.headers))
        if self.authorization and request.headers.get("authorization") != self.authorization:
            raise RefusedError(40100, "who are you?")


def _substituted(text: str, variables: dict[str, Any]) -> str:
    known = {name.upper(): str(value) for name, value in variables.items()}
    return re.sub(r"\$\{(\w+)\}", lambda found: known[found[1].upper()], text)


def _split(script: str) -> list[str]:
    return [f"{piece.strip()};" for piece in script.split(";") if piece.strip()]


def _lines(values: list[Any]) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def _error(error: RefusedError, entities: list[Any]) -> Response:
    body = {
        "@type": "statement_error",
        "error_code": error.number,
        "message": error.message,
        "statementText": error.sql,
        "entities": entities,
    }
    return JSONResponse(body, status_code=error.number // 100)


async def _refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedError)
    return _error(error, [])


@contextmanager
def running(server: FakeServer) -> Iterator[FakeServer]:
    """Serve on a free port of this machine, in a thread of its own."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    started: dict[str, Any] = {}

    async def serve() -> None:
        app: Any = server.app()
        embedded = Server(
            app, address="127.0.0.1", port=port, interface=Interfaces.ASGINL, log_enabled=False
        )
        started.update(loop=asyncio.get_running_loop(), server=embedded)
        await embedded.serve()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    deadline = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            break
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.02)
    server.url = f"http://127.0.0.1:{port}"
    try:
        yield server
    finally:
        server.does_push_end = True
        started["loop"].call_soon_threadsafe(started["server"].stop)
        thread.join(10)
