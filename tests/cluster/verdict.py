"""Compare the output of the application with the output that it must write."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeVar

from tests.cluster.expected import Expected, LogRecord, compute, to_number
from tests.cluster.topology import COUNTS, PAIRS, SUMMARIES, SUMS

T = TypeVar("T", bound=Hashable)
_MOST_EXAMPLES = 5


@dataclass
class Check:
    """The differences of one output. ``wrong`` counts values that no input asks for."""

    name: str
    expected: int = 0
    lost: int = 0
    doubled: int = 0
    disordered: int = 0
    wrong: int = 0
    examples: list[str] = field(default_factory=list)

    @property
    def is_ok(self) -> bool:
        return not (self.lost or self.doubled or self.disordered or self.wrong)

    def add_bag(self, key: str, expected: Iterable[T], actual: Iterable[T]) -> None:
        """Compare values whose order does not matter."""
        wanted, found = Counter(expected), Counter(actual)
        lost, extra = wanted - found, found - wanted
        doubled = Counter({value: count for value, count in extra.items() if value in wanted})
        self.expected += wanted.total()
        self.lost += lost.total()
        self.doubled += doubled.total()
        self.wrong += (extra - doubled).total()
        for what, values in ("lost", lost), ("doubled", doubled), ("wrong", extra - doubled):
            if values:
                self._example(f"{key}: {what} {_some(values)}")

    def add_sequence(self, key: str, expected: Sequence[T], actual: Sequence[T]) -> None:
        """Compare values of one key, which have to come in this order."""
        self.add_bag(key, expected, actual)
        places = {value: place for place, value in enumerate(expected)}
        # A value that came twice is doubled; only its first coming says something about order.
        order = [places[value] for value in dict.fromkeys(actual) if value in places]
        back = sum(1 for one, other in pairwise(order) if other < one)
        self.disordered += back
        if back:
            self._example(f"{key}: {back} values came before an earlier one")

    def add_sequences(
        self, expected: Mapping[str, Sequence[T]], actual: Mapping[str, Sequence[T]]
    ) -> None:
        """Compare the sequences of all keys of either side."""
        for key in sorted({*expected, *actual}):
            self.add_sequence(key, expected.get(key, ()), actual.get(key, ()))

    def _example(self, text: str) -> None:
        if len(self.examples) < _MOST_EXAMPLES:
            self.examples.append(text)


@dataclass(frozen=True)
class Written:
    """What was read back after a run: the inputs, the outputs and the changelogs of all stores."""

    inputs: Mapping[str, Sequence[LogRecord]]
    outputs: Mapping[str, Sequence[LogRecord]]
    count_changelog: Sequence[LogRecord]
    sum_changelog: Sequence[LogRecord]
    #: By store; the names tell which side of the join a store belongs to.
    join_changelogs: Mapping[str, Sequence[LogRecord]]


def judge(written: Written) -> list[Check]:
    """Compare every output and every store with the computation from the inputs."""
    expected = compute(written.inputs)
    return [*_check_outputs(written, expected), *_check_stores(written, expected)]


def _check_outputs(written: Written, expected: Expected) -> list[Check]:
    counts, pairs = Check("word count"), Check("join")
    sums, summaries = Check("processor sums"), Check("processor summaries")
    counts.add_sequences(expected.counts, _numbers_by_key(written.outputs[COUNTS]))
    pairs.add_bag(
        "pairs", expected.pairs.elements(), (record.text for record in written.outputs[PAIRS])
    )
    sums.add_sequences(expected.sums, _numbers_by_key(written.outputs[SUMS]))
    found = _numbers_by_key(written.outputs[SUMMARIES])
    required = {key: each for key, each in found.items() if key not in expected.optional_summaries}
    summaries.add_sequences(expected.summaries, required)
    return [counts, pairs, sums, summaries]


def _check_stores(written: Written, expected: Expected) -> list[Check]:
    """Compare the last value of each key in the changelogs, which is what a restore would read."""
    counts, sums = Check("store of word count"), Check("store of processor")
    counts.add_sequences(_last(expected.counts), _latest(written.count_changelog))
    found = _latest(written.sum_changelog)
    ended = {f"!stretch:{name.replace('@', ':')}" for name in expected.summaries}
    compared = {key: each for key, each in found.items() if key[0] != "!" or key in ended}
    sums.add_sequences(_last(expected.sums), compared)
    checks = [counts, sums]
    for name, changelog in sorted(written.join_changelogs.items()):
        check = Check(f"store {name}")
        wanted = expected.left if "this" in name else expected.right
        check.add_bag("records", wanted.elements(), _latest_texts(changelog))
        checks.append(check)
    return checks


def _numbers_by_key(records: Iterable[LogRecord]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for record in records:
        found[record.name].append(record.number)
    return dict(found)


def _last(sequences: Mapping[str, Sequence[int]]) -> dict[str, list[int]]:
    return {key: [values[-1]] for key, values in sequences.items()}


def _latest(changelog: Iterable[LogRecord]) -> dict[str, list[int]]:
    latest = {record.name: record.value for record in changelog}
    return {key: [to_number(value)] for key, value in latest.items() if value is not None}


def _latest_texts(changelog: Iterable[LogRecord]) -> list[str]:
    latest = {record.key: record.value for record in changelog}
    return [value.decode() for value in latest.values() if value is not None]


def _some(values: Counter[T]) -> str:
    shown = ", ".join(str(value) for value in list(values)[:4])
    return shown if len(values) <= 4 else f"{shown} and {len(values) - 4} more"
