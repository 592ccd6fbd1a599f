"""Keys that another program has placed, by CRC32: questions find what ``all()`` lists."""

from __future__ import annotations

import http.client
import json
import zlib
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("granian", reason="needs penstock-streams[server]")

from confluent_kafka import Producer

import penstock as ps
from penstock import query
from penstock.kafka.broker_folder import free_port

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

KEYS = [f"key-{number}" for number in range(20)]


def test_a_key_is_found_wherever_its_producer_has_put_it(
    streams_of: Callable[..., ps.KafkaStreams], new_topic: Any, kafka_broker: str
) -> None:
    """A producer of librdkafka places keys by CRC32, unless it is told otherwise."""
    source, port = new_topic("events", partitions=4), free_port()
    producer = Producer({"bootstrap.servers": kafka_broker})
    for number, key in enumerate(KEYS):
        producer.produce(source, key=key, value="v", timestamp=1_000 + number)
    producer.flush(30)
    builder = ps.StreamsBuilder()
    grouped = builder.stream(source).group_by_key()
    grouped.count("counts")
    grouped.windowed_by(ps.TimeWindows.of_size_and_grace("1h", "1m")).count("by-hour")
    streams = streams_of(
        builder.build(), num_stream_threads=2, **{"application.server": f"127.0.0.1:{port}"}
    )
    streams.start()
    assert streams.run_until_idle("120s")

    counts, windows = streams.store("counts"), streams.store("by-hour")
    assert sorted(counts) == sorted(KEYS)
    assert [key for key in KEYS if counts.get(key) != 1] == []
    assert [key for key in KEYS if windows.fetch(key, 0, 10_000) != [(0, 1)]] == []
    assert counts.get("nothing") is None
    assert [key for key in KEYS if _asked(streams, key) != 1] == []
    assert [key for key in KEYS if _read(port, f"counts/{key}")["value"] != 1] == []
    assert [key for key in KEYS if len(_read(port, f"by-hour/{key}")["rows"]) != 1] == []
    assert _read(port, "counts/nothing")["code"] == "no-such-key"
    for key in KEYS:
        place = streams.query_metadata_for_key("counts", key, _crc32).partition
        assert _read(port, f"counts/{key}?partitions={place}")["value"] == 1
    assert streams.close("60s")


def _crc32(topic: str, key: str, value: object, partitions: int) -> int:
    return zlib.crc32(key.encode()) % partitions


def _asked(streams: ps.KafkaStreams, key: str) -> Any:
    request = query.StateQueryRequest.in_store("counts").with_query(query.KeyQuery.with_key(key))
    return streams.query(request).only_partition_result().result


def _read(port: int, path: str) -> Any:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request("GET", f"/stores/{path}")
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()
