"""What state looks like on disk: a folder per task, and in it one per store.

Two inputs that never meet are two sub-topologies. ``pulses`` has two partitions, so sub-topology 0
has the tasks 0_0 and 0_1; ``alarms`` has one, so sub-topology 1 has the task 1_0.
"""

import re
from pathlib import Path

from penstock import KafkaStreams, StreamsBuilder, Topology
from penstock.kafka.admin import Admin
from penstock.kafka.admin_answers import TopicSpec

config = {"application.id": "state-directory"}


def build() -> Topology:
    builder = StreamsBuilder()
    builder.stream("pulses").group_by_key().count("pulse-counts")
    builder.stream("alarms").group_by_key().count("another-store")
    return builder.build()


def prepare(servers: str) -> None:
    Admin({"bootstrap.servers": servers}).create_topics(
        [TopicSpec("pulses", 2), TopicSpec("alarms", 1)]
    )


def tree(folder: Path) -> list[str]:
    """Lists the stores of each task below a state directory, such as ``0_1/pulse-counts``."""
    stores = [
        store
        for name in ("pulse-counts", "another-store")
        for store in folder.rglob(name)
        if store.is_dir()
    ]
    return sorted(f"{task_of(store)}/{store.name}" for store in stores)


def task_of(store: Path) -> str:
    """Returns the folder of the task: the number of the sub-topology, and that of the partition."""
    return next(each.name for each in store.parents if re.fullmatch(r"\d+_\d+", each.name))


def show(streams: KafkaStreams) -> None:
    for thread in streams.metadata_for_local_threads():
        print(thread)
