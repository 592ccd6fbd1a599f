"""The bytes in changelog topics, which other programs read: above all Java's Kafka Streams."""

from __future__ import annotations

import penstock as ps
from penstock.runtime.local.memory_kafka import MemoryKafka
from penstock.runtime.local.staged import StagedApplication


def test_a_suppress_buffer_says_which_layout_it_is_written_in() -> None:
    """Java takes a record without a version for one of its first layout; other stores have none."""
    builder = ps.StreamsBuilder()
    windows = ps.TimeWindows.of_size_with_no_grace(10)
    held = ps.Suppressed.until_window_closes(ps.BufferConfig.unbounded()).with_name("held")
    counted = builder.stream("in").group_by_key().windowed_by(windows).count("windows")
    counted.suppress(held).to_stream(lambda key, _: key.key).to("out")
    kafka = MemoryKafka()
    for topic in ("in", "out"):
        kafka.create(topic)
    kafka.append("in", b"ann", b"x", 1)
    application = StagedApplication(builder.build().graph, {"application.id": "app"}, kafka)
    try:
        application.run_batch(0)
    finally:
        application.close()
    versions = {
        topic: [dict(record.headers).get("v") for record in log[0] if record is not None]
        for topic, log in kafka.logs.items()
        if topic.endswith("-changelog")
    }
    assert versions == {"app-held-store-changelog": [b"\x03"], "app-windows-changelog": [None]}
