"""The events of Nexmark and their topics: ``bench.nexmark``."""

from collections import Counter

import pytest

from bench.nexmark.compare import differences
from bench.nexmark.events import FIRST_MS, events
from bench.nexmark.measure import measure, missing
from bench.nexmark.queries import FLINK_NAMES, NAMES, expected, flink, ours, side_input
from bench.nexmark.topics import records


def test_events_are_the_same_each_time_and_in_order() -> None:
    """Of fifty, one is a person, three are auctions, and the others are bids."""
    found = list(events(500, per_second=1_000))
    assert found == list(events(500, per_second=1_000))
    assert found != list(events(500, per_second=1_000, seed=7))
    assert Counter(event.kind for event in found) == {"person": 10, "auction": 30, "bid": 460}
    assert [event.time_ms for event in found] == list(range(FIRST_MS, FIRST_MS + 500))


def test_bids_are_for_auctions_that_are_there_and_by_people_who_are() -> None:
    seen: dict[str, set[object]] = {"person": set(), "auction": set()}
    for event in events(2_000):
        if event.kind == "bid":
            assert event.row["auction"] in seen["auction"]
            assert event.row["bidder"] in seen["person"]
            assert event.row["auction"] in side_input(2_000)
        else:
            seen[event.kind].add(event.row["id"])
            assert event.kind == "person" or event.row["seller"] in seen["person"]


def test_bids_go_round_the_partitions_and_others_by_their_key() -> None:
    found = list(records(events(60), {7: "x"}, 3))
    assert found[0] == ("nexmark-side-input", b"7", b'{"value":"x"}', 0, None)
    places = {(topic, partition) for topic, _, _, _, partition in found}
    assert places >= {("nexmark-bid", number) for number in range(3)}
    assert ("nexmark-person", None) in places


def test_every_query_has_its_texts() -> None:
    for name in NAMES:
        assert f" {name} " in ours(name)
        assert "SELECT" in expected(name)
    assert all("FROM" in flink(name) for name in FLINK_NAMES)


@pytest.mark.parametrize(
    ("found", "wanted", "count"),
    [
        ([{"A": 1, "B": 2}], [{"a": 1.0}], 0),
        ([{"A": 1}], [{"a": 2}], 2),
        ([{"A": 1}, {"A": 1}], [{"a": 1}], 1),
        ([{"A": [{"X": 1}]}], [{"a": [{"x": 1}]}], 0),
    ],
)
def test_rows_are_compared_by_the_names_that_are_expected(
    found: list[dict[str, object]], wanted: list[dict[str, object]], count: int
) -> None:
    assert len(differences(found, wanted)) == count


def test_engine_that_is_not_here_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FLINK_PYTHON", raising=False)
    assert missing("ours") is None
    assert "FLINK_PYTHON" in str(missing("flink"))


def test_queries_that_flink_lacks_are_told_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []
    monkeypatch.setattr("bench.nexmark.measure.fill", lambda *_: None)
    assert measure("", ["flink"], ["q6", "q23"], 10, 1, told.append, check=False) == []
    assert ["Flink cannot plan it" in str(each) for each in told] == [True, False]
