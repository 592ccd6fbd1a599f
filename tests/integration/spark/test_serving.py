"""A running application answers over HTTP: stores of all kinds, feeds, health, topology."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("granian", reason="needs penstock-streams[server]")

import penstock as ps
from penstock.kafka.broker_folder import free_port

parser = pytest.importorskip("prometheus_client.parser", reason="a development dependency")

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

Make = Callable[..., ps.KafkaStreams]
Write = Callable[..., None]


def topology(source: str, names: str) -> ps.Topology:
    builder = ps.StreamsBuilder()
    words = builder.stream(source).flat_map_values(lambda line: line.split())
    grouped = words.group_by(lambda _, word: word)
    grouped.count("counts")
    grouped.windowed_by(ps.TimeWindows.of_size_and_grace("1s", "1m")).count("by-second")
    grouped.windowed_by(ps.SessionWindows.of_inactivity_gap_and_grace("5s", "1m")).count("sessions")
    builder.global_table(names, materialized=ps.Materialized.as_("names"))
    return builder.build()


class Server:
    def __init__(self, port: int) -> None:
        self.port = port

    def get(self, path: str, **headers: str) -> tuple[int, Any, http.client.HTTPMessage]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            named = {name.replace("_", "-"): text for name, text in headers.items()}
            connection.request("GET", path, headers=named)
            response = connection.getresponse()
            data = response.read()
            is_json = response.headers.get_content_type() == "application/json"
            return response.status, json.loads(data) if is_json else data, response.headers
        finally:
            connection.close()


def test_a_running_application_answers_over_http(
    streams_of: Make, new_topic: Any, produce: Write
) -> None:
    source, names = new_topic("lines", partitions=3), new_topic("names")
    words = [f"w{number % 20:02d}" for number in range(300)]
    produce(source, *((f"k{n}", word, 1_000 + 10 * n) for n, word in enumerate(words)))
    produce(names, ("de", "Germany"))
    server = Server(free_port())
    streams = streams_of(
        topology(source, names),
        num_stream_threads=2,
        **{"application.server": f"127.0.0.1:{server.port}"},
    )
    streams.start()
    assert streams.run_until_idle("300s")

    _check_stores(server, words)
    _check_bound(server, produce, streams, source)
    _check_feed(server, produce, source)
    _check_status(server)
    assert streams.run_until_idle("300s")
    _check_metrics(server, streams, source)

    assert streams.close("180s")
    with pytest.raises(OSError, match="refused"):
        server.get("/health/live")


def _check_stores(server: Server, words: list[str]) -> None:
    expected = {word: words.count(word) for word in words}
    for word, count in expected.items():
        status, body, headers = server.get(f"/stores/counts/{word}")
        assert (status, body["value"]) == (200, count)
        assert (headers["penstock-source"], headers["penstock-lag"]) == ("owner", "0")
    assert server.get("/stores/counts/nothing")[0] == 404
    found, path = {}, "/stores/counts?limit=7"
    while path:
        _, body, _ = server.get(path)
        found |= {row["key"]: row["value"] for row in body["rows"]}
        path = body["next"]
    assert found == expected
    assert [*found] == sorted(expected)
    _, body, _ = server.get("/stores/by-second/w00?time_from=1000&time_to=2999")
    assert [(row["window_start"], row["value"]) for row in body["rows"]] == [(1000, 5), (2000, 5)]
    _, body, _ = server.get("/stores/by-second?time_from=3000&limit=3&reverse=true")
    assert [(row["key"], row["window_start"]) for row in body["rows"]] == [
        ("w19", 3000),
        ("w18", 3000),
        ("w17", 3000),
    ]
    _, body, _ = server.get("/stores/sessions/w01")
    assert [(row["window_start"], row["window_end"]) for row in body["rows"]] == [(1010, 3810)]
    assert server.get("/stores/names/de")[1]["value"] == "Germany"


def _check_bound(server: Server, produce: Write, streams: ps.KafkaStreams, source: str) -> None:
    """A position that has not been processed is 503; once it has, the answer contains it."""
    ahead = json.dumps({source: {"0": 10**6}})
    status, body, headers = server.get("/stores/counts/w00", Penstock_Position_Bound=ahead)
    assert (status, body["code"], headers["retry-after"]) == (503, "not-up-to-bound", "1")
    before = json.loads(server.get("/stores/counts/w00")[2]["penstock-position"])
    produce(source, ("k", "w00", 4_000))
    assert streams.run_until_idle("300s")
    after = server.get("/stores/counts/w00")
    assert sum(json.loads(after[2]["penstock-position"])[source].values()) == 1 + sum(
        before[source].values()
    )
    assert after[1]["value"] == 16


def _check_feed(server: Server, produce: Write, source: str) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request("GET", "/feeds/counts")
    response = connection.getresponse()
    while not response.readline().startswith(b"event: start"):
        pass
    produce(source, ("k", "brand-new", 4_000))
    line = b""
    while not line.startswith(b'data: {"partition'):
        line = response.readline()
    change = json.loads(line.removeprefix(b"data: "))
    assert (change["key"], change["value"]) == ("brand-new", 1)
    response.close()
    connection.close()


def _check_status(server: Server) -> None:
    deadline = time.monotonic() + 20
    while server.get("/health/ready")[0] != 200:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert server.get("/health/ready")[1]["state"] == "RUNNING"
    stores = {store["name"]: store for store in server.get("/stores")[1]["stores"]}
    assert {"counts", "by-second", "sessions", "names"} <= set(stores)
    assert (stores["counts"]["partitions"], stores["names"]["is_global"]) == (3, True)
    assert server.get("/metadata")[1]["instances"][0]["is_leader"]
    assert server.get("/topology")[1]["topology"]["subtopologies"]
    assert server.get("/topology.svg")[1].startswith(b"<svg")


def _check_metrics(server: Server, streams: ps.KafkaStreams, source: str) -> None:
    """The same figures in process and for Prometheus; its own parser reads them."""
    metrics = streams.metrics()
    assert metrics.records == 302
    assert sum(metric.value for metric in metrics.named("process-total")) >= 302
    assert [metric.value for metric in metrics.named("state")] == ["RUNNING"]
    consumed = metrics.named("records-consumed-total", topic_name=source)
    assert sum(metric.value for metric in consumed) == 302
    assert {metric.tags["task-id"] for metric in consumed} == {"0_0", "0_1", "0_2"}
    ages = metrics.named("record-e2e-latency-max")
    assert ages
    assert min(metric.value for metric in ages) > 10**11
    keys = metrics.named("estimate-num-keys", rocksdb_state_id="counts")
    assert len(keys) == 3
    assert metrics.named("record-at-a-time") or metrics.named("column-batches-total")
    families = {
        family.name: family
        for family in parser.text_string_to_metric_families(server.get("/metrics")[1].decode())
    }
    lag = families["kafka_penstock_records_lag"].samples
    assert {sample.labels["topic"] for sample in lag} >= {source}
    assert sum(sample.value for sample in lag) == 0
    produced = families["kafka_stream_topic_records_consumed"].samples
    assert sum(s.value for s in produced if s.labels["topic_name"] == source) == 302
