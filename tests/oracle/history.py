"""Runs a case as history: all of its records at once, with the moment at which each arrived.

So the order of records is that of the golden. With several partitions, every partition has a
stream time of its own, and a driver with as many partitions is compared with instead.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from types import SimpleNamespace
from typing import Any

import penstock as ps
from penstock.config import StreamsConfig
from penstock.model.windows.windowed import Window, Windowed
from penstock.runtime.history.rows import headers_of
from penstock.runtime.history.store_rows import WINDOWED, StoreSerdes
from penstock.runtime.local.history import HistoryRecord, LocalHistory, run_history
from penstock.runtime.settings import task_settings
from penstock.state.spec import StoreKind
from tests.oracle import options
from tests.oracle.build import build_topology
from tests.oracle.cases import Case
from tests.oracle.compare import Difference, compare
from tests.oracle.exceptions import LATER
from tests.oracle.run import (
    Failure,
    Outcome,
    decoded,
    execute,
    input_record,
    phase_of,
    time_limit,
)
from tests.oracle.staged_check import committed_differences
from tests.oracle.stores import read_stores

_CACHE = "statestore.cache.max.bytes"
_SKIPPED: Mapping[str, str] = {
    "unknown-input-topic-is-error": "only the driver knows what is piped into an unread topic",
    "describe-pattern-source": "no topic of the case matches its pattern",
}
_MEET_AGAIN = (
    "what one record causes meets again over several internal topics, in an order that only the"
    " queues of a driver's single task decide"
)
_NAMED: Mapping[str, str] = dict.fromkeys(
    (
        "random-101-136", "random-101-169", "random-102-37", "random-102-46", "random-103-17",
        "random-103-76",
    ),
    _MEET_AGAIN,
)  # fmt: skip


def skip_reason(case: Mapping[str, Any]) -> str | None:
    """Gives why a case cannot be run as history, None if it can."""
    text = json.dumps([case["topology"], case.get("config", {})])
    if "wall_clock" in text and any("advance_wall_clock_ms" in each for each in case["inputs"]):
        return "the wall clock of the driver moves"
    return _SKIPPED.get(case["name"]) or LATER.get(case["name"])


def run_here(
    topology: ps.Topology, config: Mapping[str, Any], records: list[HistoryRecord], *, clock_ms: int
) -> LocalHistory:
    """Runs history in this process."""
    return run_history(topology.graph, config, records, clock_ms=clock_ms)


def check_history(
    case: Case, timeout_s: float, *, run: Callable[..., LocalHistory] = run_here
) -> tuple[list[Difference], str | None]:
    """Gives the differences from the golden, and the reason if they are excepted."""
    skipped = skip_reason(case.data)
    if skipped is not None:
        return [Difference("skipped", skipped)], skipped
    if case.data.get("config", {}).get(_CACHE):
        case = _uncached(case, timeout_s)
    outcome, history = execute_history(case.data, timeout_s=timeout_s, run=run)
    if "exception" in case.golden:
        return _failure_differences(case, outcome), None
    golden = _visible(case, outcome)
    differences = compare(golden, outcome, ("exception", "stores"))
    differences += committed_differences(golden.get("outputs"), outcome.outputs)
    return differences, _reason(case.data, history)


def _uncached(case: Case, timeout_s: float) -> Case:
    """Gives the case without a cache, which only holds changes back, and what the driver makes."""
    data = {**case.data, "config": {**case.data["config"], _CACHE: 0}}
    driven = execute(data, timeout_s=timeout_s)
    golden = {**case.golden, "outputs": driven.outputs, "stores": driven.stores}
    return Case(case.path, {**data, "golden": golden})


def _visible(case: Case, outcome: Outcome) -> dict[str, Any]:
    """Gives the golden without stores whose rows only operators read."""
    if "stores" not in case.golden or outcome.stores is None:
        return dict(case.golden)
    stores = case.golden["stores"].items()
    return {**case.golden, "stores": {n: each for n, each in stores if n in outcome.stores}}


def execute_history(
    case: Mapping[str, Any], *, timeout_s: float, run: Callable[..., LocalHistory]
) -> tuple[Outcome, LocalHistory | None]:
    """Runs one case; every error of the library becomes the outcome's failure."""
    outcome, history = Outcome(), None
    try:
        with time_limit(timeout_s):
            with phase_of(outcome, "build"):
                topology = build_topology(case, outcome.side_effects)
            with phase_of(outcome, "run"):
                history = run(
                    topology, options.configuration(case), records_of(case),
                    clock_ms=options.initial_wall_clock_ms(case),
                )  # fmt: skip
            outcome.outputs = [
                decoded(case, _record(topic, row))
                for topic in history.topics()
                if topic not in history.plan.graph.internal_topics
                for row in history.rows(topic)
            ]
            outcome.stores = read_stores(case, HistoryStores(case, history))  # type: ignore[arg-type]
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001
        outcome.failure = outcome.failure or Failure("read", error)
    return outcome, history


def records_of(case: Mapping[str, Any]) -> list[HistoryRecord]:
    return [
        HistoryRecord(*input_record(case, each), arrival=number)
        for number, each in enumerate(case["inputs"])
        if "topic" in each
    ]


def _record(topic: str, row: Mapping[str, Any]) -> Any:
    headers = headers_of(row["headers"])
    return SimpleNamespace(
        topic=topic, key=row["key"], value=row["value"], timestamp=row["timestamp"],
        headers=headers,
    )  # fmt: skip


class HistoryStores:
    """Shows the rows of stores as the test driver shows its own stores."""

    def __init__(self, case: Mapping[str, Any], history: LocalHistory) -> None:
        graph = history.plan.graph
        self._settings = task_settings(StreamsConfig(options.configuration(case)))
        self._specs = dict(graph.stores) | {n: s.spec for n, s in graph.global_stores.items()}
        self._history = history
        times = [each["timestamp"] for each in case["inputs"] if each.get("key") is not None]
        self._newest = max(times, default=0)

    def state_store_names(self) -> list[str]:
        return [name for name, spec in self._specs.items() if spec.kind in _SHOWN]

    def get_state_store(self, name: str) -> _Rows:
        spec = self._specs[name]
        serdes = StoreSerdes.of(spec, self._settings)
        entries = [_entry(serdes, spec, row) for row in self._history.store_rows(name)]
        return _Rows(spec.kind, entries, self._newest - spec.history_retention_ms)


_SHOWN = WINDOWED | {
    StoreKind.KEY_VALUE, StoreKind.TIMESTAMPED_KEY_VALUE, StoreKind.VERSIONED_KEY_VALUE,
}  # fmt: skip


def _entry(serdes: StoreSerdes, spec: Any, row: Mapping[str, Any]) -> tuple[Any, Any]:
    key = serdes.key.deserialize(serdes.topic, row["key"])
    value = serdes.value.deserialize(serdes.topic, row["value"])
    if spec.kind in WINDOWED:
        key = Windowed(key, Window(row["at"], row["tie"]))
    if spec.kind in (StoreKind.TIMESTAMPED_KEY_VALUE, StoreKind.TIMESTAMPED_WINDOW):
        value = SimpleNamespace(value=value, timestamp=row["timestamp"])
    if spec.kind is StoreKind.VERSIONED_KEY_VALUE:
        value = SimpleNamespace(value=value, timestamp=row["timestamp"], valid_to=row["tie"])
    return key, value


class _Rows:
    """A store that is read only."""

    def __init__(self, kind: StoreKind, entries: list[tuple[Any, Any]], oldest: int) -> None:
        self.kind = kind
        self._entries = entries
        self._oldest = oldest

    def all(self) -> Iterable[tuple[Any, Any]]:
        return self._entries

    def fetch_range(self, start: Any, end: Any) -> Iterable[tuple[Any, Any]]:
        return self._entries

    def get(self, key: Any, as_of: int) -> Any:
        for found, version in self._entries:
            is_over = version.valid_to is not None and version.valid_to <= max(as_of, self._oldest)
            is_old = version.valid_to is not None and as_of < self._oldest
            if found == key and version.timestamp <= as_of and not is_over and not is_old:
                # Asked as of a time, a versioned store does not say until when.
                return SimpleNamespace(**{**vars(version), "valid_to": None})
        return None


def _failure_differences(case: Case, outcome: Outcome) -> list[Difference]:
    """A case that fails fails here, too: nothing of its results is kept."""
    if outcome.failure is not None:
        return []
    return [Difference("exception", f"expected {case.golden['exception']['class']}, none raised")]


def _reason(case: Mapping[str, Any], history: LocalHistory | None) -> str | None:
    if history is None:
        return None
    text = json.dumps(case["topology"])
    parts = {each.part.id for each in history.plan.passes}
    if len(parts) > 1 and ("stream_time" in text or '"metadata' in text):
        return "the driver has one stream time for all sub-topologies"
    return _NAMED.get(case["name"])
