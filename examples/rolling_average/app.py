"""Rolling average: the mean of the last five minutes, for every minute.

Hopping windows overlap: each reading is part of five windows. A result is sent once, when its
window has closed, 30 seconds after its end; without ``suppress`` every reading would send five.
"""

from dataclasses import dataclass

from penstock import (
    Materialized,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
    Topology,
    avg,
    col,
)

config = {"application.id": "rolling-average"}


@dataclass(frozen=True)
class Reading:
    celsius: float


@dataclass(frozen=True)
class Average:
    celsius: float
    readings: int


def build() -> Topology:
    builder = StreamsBuilder()
    (
        builder.stream("temperatures", value=Reading)
        .group_by_key()
        .windowed_by(TimeWindows.of_size_and_grace("5m", "30s").advance_by("1m"))
        .aggregate(mean=avg(col("celsius")), materialized=Materialized.as_("last-five-minutes"))
        .suppress(Suppressed.until_window_closes())
        .to_stream(lambda key, _: f"{key.key} until {key.window.end_time:%H:%M}")
        # An average has sum and count, too: they are what it is made of.
        .map_values(lambda found: Average(found["mean"]["avg"], found["mean"]["count"]))
        .to("rolling-averages", key=str, value=Average)
    )
    return builder.build()
