"""Design the state before the topology: how large it gets, and how long it takes to come back.

The same question, "how often did a visitor come?", with state that grows for ever and with state
that is bounded by a window. ``budget`` is the sum to do on paper before either is written:

1. state decides how long a restart takes: rows * bytes / restore rate
2. partitions decide how many tasks share it
3. the changelog is where it comes back from
4. plan for the day on which it has to
"""

from dataclasses import dataclass

from penstock import KafkaStreams, Materialized, StreamsBuilder, TimeWindows, Topology

config = {"application.id": "state-budget"}


@dataclass(frozen=True)
class Budget:
    """What a store needs; ``restore_s`` is the time until a lost task works again."""

    rows: int
    bytes_total: int
    bytes_per_task: int
    restore_s: float


def budget(
    *, rows: int, bytes_per_row: int, partitions: int, restore_bytes_per_s: float, standbys: int = 0
) -> Budget:
    """Adds it up. With a standby, a lost task has its state elsewhere and restores nothing."""
    total = rows * bytes_per_row
    per_task = -(-total // partitions)
    restore_s = 0.0 if standbys else per_task / restore_bytes_per_s
    return Budget(rows, total * (1 + standbys), per_task, restore_s)


def build() -> Topology:
    builder = StreamsBuilder()
    visits = builder.stream("visits").group_by_key()
    # One row for every visitor there has ever been.
    visits.count("visits-ever")
    # One row for every visitor of the last two hours: older windows are deleted.
    visits.windowed_by(TimeWindows.of_size_with_no_grace("1h")).count(
        Materialized.as_("visits-per-hour").with_retention("2h")
    )
    return builder.build()


def show(streams: KafkaStreams) -> None:
    ever = len(list(streams.store("visits-ever").all()))
    lately = len(list(streams.store("visits-per-hour").all()))
    print(f"rows: {ever} for ever, {lately} of the last hours")
    for rows in (1_000_000, 100_000_000):
        plan = budget(rows=rows, bytes_per_row=100, partitions=8, restore_bytes_per_s=50e6)
        size = plan.bytes_total / 1e9
        print(f"{rows:,} visitors: {size:.1f} GB, {plan.restore_s:.0f} s to restore")
