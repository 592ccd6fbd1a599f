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
