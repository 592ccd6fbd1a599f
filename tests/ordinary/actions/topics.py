"""What operators and other programs do to topics."""

from __future__ import annotations

import struct
import time
from typing import Any

from confluent_kafka import Producer

from tests.cluster.topology import AMOUNTS, INPUTS, LINES, PAIRS
from tests.ordinary.actions.day import Act, Day, Deleted
from tests.ordinary.recorder import offsets_in_log
from tests.ordinary.topology import ALL_OUTPUTS, NOTED, NOTES

_SETTINGS = (
    {"segment.bytes": "1048576"},
    {"segment.ms": "10000"},
    {"compression.type": "gzip"},
    {"flush.messages": "1000"},
    {"index.interval.bytes": "512"},
    {"max.message.bytes": "2000000"},
    {"retention.ms": "86400000"},
)
#: How many records of a partition are looked at for gaps.
_LOOK = 2_000


def setting(day: Day) -> Act:
    """Change a harmless setting of an input or output topic."""
    topic = day.chance.choice((*INPUTS, *ALL_OUTPUTS))
    changes = day.chance.choice(_SETTINGS)
    day.admin.alter_topic_config(topic, changes)
    (name, value), *_ = changes.items()

    def evidence() -> str | None:
        found = day.admin.topic_config(topic)[name]
        return f"{topic} has {name}={value}" if found.value == value and found.is_own else None

    return Act(f"{topic}: {changes}", evidence)


def compaction(day: Day) -> Act:
    """Compact an input for a while; records younger than ten seconds stay."""
    topic = day.chance.choice((LINES, AMOUNTS))
    changes = {
        "cleanup.policy": "compact",
        "min.compaction.lag.ms": "10000",
        "min.cleanable.dirty.ratio": "0.01",
        "segment.ms": "5000",
    }
    day.committed(day.places(topic))
    before = {place: day.read_up_to(place) for place in day.places(topic)}
    day.admin.alter_topic_config(topic, changes)

    def evidence() -> str | None:
        for place, first in day.admin.begin_offsets(day.places(topic)).items():
            end = min(first + _LOOK, day.recorder.position[place])
            known = {at for at, _ in list(day.recorder.records[place]) if first <= at < end}
            gone = known - offsets_in_log(day.servers, place, first, end)
            if gone:
                return f"{len(gone)} of {len(known)} records of {place} were compacted away"
        return None

    def undo() -> None:
        day.admin.alter_topic_config(topic, dict.fromkeys(changes))
        _note(day, before)

    return Act(f"{topic} is compacted for 40 s", evidence, 40.0, undo)


def retention(day: Day) -> Act:
    """Keep the records of an input for 15 seconds only, read or not."""
    topic = day.chance.choice(INPUTS)
    changes = {"retention.ms": "15000", "segment.ms": "5000"}
    day.committed(day.places(topic))
    before = {place: day.read_up_to(place) for place in day.places(topic)}
    first = day.admin.begin_offsets(day.places(topic))
    day.admin.alter_topic_config(topic, changes)

    def evidence() -> str | None:
        now = day.admin.begin_offsets(day.places(topic))
        gone = sum(now.values()) - sum(first.values())
        return f"{gone} records of {topic} are gone" if gone > 0 else None

    def undo() -> None:
        day.admin.alter_topic_config(topic, dict.fromkeys(changes))
        _note(day, before)

    return Act(f"{topic} keeps records for 15 s, for 40 s", evidence, 40.0, undo)


def records(day: Day) -> Act | None:
    """Delete records that the application has committed."""
    topic = day.chance.choice(INPUTS)
    done = day.committed(day.places(topic))
    before = {each: min(offset, day.recorder.position[each]) for each, offset in done.items()}
    before = {each: offset for each, offset in before.items() if offset > 0}
    if not before:
        return None
    first = day.admin.delete_records(before)
    return Act(
        f"deleted {topic} up to {list(before.values())}",
        lambda: f"it begins at {list(first.values())}" if first == before else None,
    )


def unread(day: Day) -> Act | None:
    """Delete records that the application has not read, because its network hangs."""
    topic = day.chance.choice(INPUTS)
    day.proxy.hold(5.0)
    # What is on its way arrives; what is written from now on is not read.
    time.sleep(3.0)
    day.committed(day.places(topic))
    before = {place: day.recorder.position[place] for place in day.places(topic)}
    before = {place: end for place, end in before.items() if end > day.read_up_to(place)}
    if not before:
        return None
    day.deleted += [Deleted(place, day.read_up_to(place), end) for place, end in before.items()]
    count = sum(end - day.read_up_to(place) for place, end in before.items())
    first = day.admin.delete_records(before)
    return Act(
        f"deleted {topic} up to {list(before.values())}, {count} records unread",
        lambda: f"it begins at {list(first.values())}" if first == before else None,
        10.0,
    )


def transaction(day: Day) -> Act:
    """Leave a foreign transaction open on two inputs, and end it later."""
    is_kept, open_s = day.chance.random() < 0.5, day.chance.uniform(5.0, 40.0)
    given: dict[str, Any] = {
        "bootstrap.servers": day.servers,
        "transactional.id": f"foreign-{day.chance.random()}",
        "transaction.timeout.ms": 120_000,
        "partitioner": "murmur2_random",
        "log_level": 0,
    }
    producer = Producer(given)
    producer.init_transactions(30)
    producer.begin_transaction()
    for number in range(50):
        producer.produce(LINES, "foreign transaction", f"line{number}")
        producer.produce(AMOUNTS, struct.pack(">q", number), f"foreign{number}")
    producer.flush(30)
    end = producer.commit_transaction if is_kept else producer.abort_transaction
    places = [*day.places(LINES), *day.places(AMOUNTS)]

    def evidence() -> str | None:
        ends, stable = day.admin.end_offsets(places), day.admin.end_offsets(places, committed=True)
        held = sum(1 for place in places if stable[place] < ends[place])
        return f"{held} partitions have an open transaction" if held else None

    what = f"a foreign transaction for {open_s:.0f} s, then {end.__name__}"
    return Act(what, evidence, open_s, lambda: end(30))


def partitions(day: Day) -> Act | None:
    """Add a partition to an output whose order does not matter, or to a topic of the pattern."""
    topic = day.chance.choice((PAIRS, NOTED, *NOTES))
    known = day.admin.topics().get(topic)
    if known is None or len(known.partitions) > 11:
        return None
    total = len(known.partitions) + 1
    day.admin.add_partitions(topic, total)

    def evidence() -> str | None:
        is_there = len(day.admin.topic(topic).partitions) == total
        return f"{topic} has {total}" if is_there else None

    return Act(f"{topic} has {total} partitions", evidence)


def pattern(day: Day) -> Act:
    """Delete a topic of the pattern, and create it again at once or a while later."""
    topic, away_s = day.chance.choice(NOTES), day.chance.choice((0.0, 2.0, 25.0))
    old_id, old = day.admin.topic_ids([topic])[topic], day.admin.topic(topic)
    life = day.notes.close_topic(topic)
    day.notes.note_deletion(life, day.committed([(topic, n) for n in range(len(old.partitions))]))
    day.admin.delete_topics([topic])

    def create() -> None:
        day.admin.create_topic(topic, partitions=2)
        day.notes.open_topic(topic)

    if not away_s:
        create()

    def evidence() -> str | None:
        new_id = day.admin.topic_ids([topic]).get(topic)
        return None if new_id == old_id else f"its id was {old_id} and is {new_id}"

    what = f"deleted {topic}; created again after {away_s:.0f} s"
    return Act(what, evidence, away_s + 1.0, create if away_s else lambda: None)


def _note(day: Day, before: dict[tuple[str, int], int]) -> None:
    """Keep what may have been deleted since ``before``; what the log has in the end was not."""
    for place, first in before.items():
        day.deleted.append(Deleted(place, first, day.recorder.position[place]))
