"""Compare a whole day with plain Python: outputs, changelogs, answers, and what was read."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests.cluster.expected import LogRecord, compute
from tests.cluster.topology import AMOUNTS, COUNT_STORE, INPUTS, SUM_STORE
from tests.cluster.verdict import Check, Written, judge
from tests.ordinary.actions.day import Deleted
from tests.ordinary.recorder import Place

Recorded = Mapping[Place, Sequence[tuple[int, LogRecord]]]


@dataclass(frozen=True)
class Reading:
    """Which input records count: all of them but those that were deleted before they were read."""

    check: Check
    inputs: dict[str, list[LogRecord]]
    #: How many were deleted unread.
    unread: int


def judge_reading(
    recorded: Recorded,
    seen: Sequence[LogRecord],
    deleted: Sequence[Deleted],
    gone: Mapping[Place, set[int]],
) -> Reading:
    """Compare which offsets were processed, each partition in order.

    Args:
        recorded: every record that was ever written.
        seen: what the application has told about the records that it processed.
        deleted: what operators may have deleted before it was read.
        gone: the offsets that are no longer in the log.
    """
    check, unread = Check("records read"), 0
    inputs: dict[str, list[LogRecord]] = {topic: [] for topic in INPUTS}
    processed: dict[str, list[int]] = defaultdict(list)
    for record in seen:
        processed[record.name].append(record.number)
    for place, records in sorted(recorded.items()):
        name = f"{place[0]}:{place[1]}"
        there = set(processed[name])
        free = _may_be_unread(place, deleted) & gone.get(place, set())
        counted = [(at, record) for at, record in records if at in there or at not in free]
        unread += len(records) - len(counted)
        check.add_sequence(name, [at for at, _ in counted], processed[name])
        inputs[place[0]] += [record for _, record in counted]
    return Reading(check, inputs, unread)


def judge_day(written: Written, reading: Reading, answers: dict[str, Any] | None) -> list[Check]:
    """Compare outputs, changelogs and the application's answers."""
    checks = [reading.check, *judge(replace(written, inputs=reading.inputs))]
    return checks if answers is None else [*checks, *_judge_answers(reading, answers)]


def _may_be_unread(place: Place, deleted: Sequence[Deleted]) -> set[int]:
    ranges = (range(each.first, each.end) for each in deleted if each.place == place)
    return {offset for each in ranges for offset in each}


def _judge_answers(reading: Reading, answers: dict[str, Any]) -> list[Check]:
    """Compare what ``all`` lists and what ``get`` returns with plain Python."""
    expected = compute(reading.inputs)
    times: Counter[str] = Counter()
    for record in reading.inputs[AMOUNTS]:
        key = f"!time:{record.partition}"
        times[key] = max(times[key], record.timestamp)
    wanted = {
        COUNT_STORE: {key: [each[-1]] for key, each in expected.counts.items()},
        SUM_STORE: {
            **{key: [each[-1]] for key, each in expected.sums.items()},
            **{key: [time] for key, time in times.items()},
        },
    }
    checks = []
    for way in ("all", "get"):
        for store, values in wanted.items():
            check = Check(f"{way} of {store}")
            found = answers[way][store].items()
            # Ticks come at times that nobody can foresee. The last stretches may not have ended.
            compared = {k: [v] for k, v in found if not k.startswith(("!ticks", "!stretch"))}
            check.add_sequences(values, compared)
            checks.append(check)
    return checks
