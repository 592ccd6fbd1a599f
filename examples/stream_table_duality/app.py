"""A table is a stream of changes, and a stream of changes is a table.

``moves`` is a stream: every move counts. Reduced to the last one per piece it becomes the table
``positions``. The changes of that table are a stream again, and reading them as a table gives the
same table once more: nothing but the changes was needed to make it.
"""

from penstock import KafkaStreams, StreamsBuilder, Topology

config = {"application.id": "stream-table-duality"}


def build() -> Topology:
    builder = StreamsBuilder()
    moves = builder.stream("moves")
    moves.group_by_key().count("number-of-moves")
    positions = moves.to_table("positions")
    positions.to_stream().to("position-changes")
    builder.table("position-changes", materialized="positions-again")
    return builder.build()


def show(streams: KafkaStreams) -> None:
    for name in ("number-of-moves", "positions", "positions-again"):
        print(f"{name}: {dict(sorted(streams.store(name).all()))}")
