"""An application in one process continues with what another one left."""

from __future__ import annotations

import penstock as ps
from penstock.config import StreamsConfig
from penstock.runtime.local.application import LocalApplication
from penstock.runtime.local.kept import KeptApplication


def per_second() -> ps.Topology:
    builder = ps.StreamsBuilder()
    windows = ps.TimeWindows.of_size("1s").grace("0s")
    stream = builder.stream("in", key="string", value="string")
    stream.group_by_key().windowed_by(windows).count("counts").to_stream().to("out")
    return builder.build()


def test_stream_time_goes_on_where_another_application_stopped() -> None:
    """A record for a window that closed before the restart is late after it."""
    kept = KeptApplication()
    config = StreamsConfig({"application.id": "app"})
    for timestamp in (5_000, 1_000):
        application = LocalApplication(per_second(), config, 0, on_disk=False, kept=kept)
        application.pipe("in", b"k", b"v", timestamp, ())
        dropped = application.dropped_records
        application.close()
    assert sum(dropped.values()) == 1


def test_each_global_topic_has_its_own_offsets() -> None:
    """A global processor sees the offset that the record has in its topic."""
    seen: list[tuple[str, int]] = []

    class Note(ps.Processor[str, str, None, None]):
        def process(self, record: ps.Record[str, str]) -> None:
            where = self.context.record_metadata
            assert where is not None
            seen.append((where.topic, where.offset))

    builder = ps.StreamsBuilder()
    for topic in ("a", "b"):
        store = ps.Stores.key_value_store_builder(
            ps.Stores.in_memory_key_value_store(f"of-{topic}"), "string", "string"
        ).with_logging_disabled()
        builder.add_global_store(store, topic, ps.Consumed.with_("string", "string"), Note)
    config = StreamsConfig({"application.id": "app"})
    application = LocalApplication(builder.build(), config, 0, on_disk=False)
    for topic in ("a", "b", "a"):
        application.pipe(topic, b"k", b"v", 0, ())
    application.close()
    assert seen == [("a", 0), ("b", 0), ("a", 1)]
