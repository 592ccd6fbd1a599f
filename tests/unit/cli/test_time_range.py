"""``replay.time_range``: moments as users write them, and the offsets between them."""

from types import SimpleNamespace
from typing import Any

import pytest
import typer

from penstock.cli.replay.time_range import spans_of, time_of

NOON = 1_772_452_800_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-03-02T12:00:00Z", NOON),
        ("2026-03-02T12:00:00", NOON),
        ("2026-03-02T13:00:00+01:00", NOON),
        ("15m", 10_000_000 - 900_000),
        ("1h 30m", 10_000_000 - 5_400_000),
        ("earliest", None),
        ("latest", None),
    ],
)
def test_moment_is_a_time_or_a_duration_before_now(text: str, expected: int | None) -> None:
    """A time without a zone is UTC."""
    assert time_of("--from", text, now_ms=10_000_000) == expected


def test_other_text_is_refused_with_the_forms_that_are_known() -> None:
    """Misuse, so exit 2."""
    with pytest.raises(typer.BadParameter, match="such as 15m"):
        time_of("--from", "yesterday")


class Log:
    """Two partitions with the offsets 3 to 9; one record per millisecond, its time its offset."""

    def topic(self, name: str) -> Any:
        return SimpleNamespace(partitions=[SimpleNamespace(id=0), SimpleNamespace(id=1)])

    def begin_offsets(self, places: list[tuple[str, int]]) -> dict[tuple[str, int], int]:
        return dict.fromkeys(places, 3)

    def end_offsets(self, places: Any, *, committed: bool) -> dict[tuple[str, int], int]:
        assert committed
        return dict.fromkeys(places, 10)

    def offsets_at(self, places: Any, time_ms: int) -> dict[tuple[str, int], int]:
        return dict.fromkeys(places, -1 if time_ms > 9 else max(time_ms, 3))


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (None, None, (3, 10)),
        (5, 8, (5, 8)),
        (5, 99, (5, 10)),
        (99, None, (10, 10)),
        (1, 4, (3, 4)),
    ],
)
def test_times_become_offsets(start: int | None, end: int | None, expected: Any) -> None:
    """The record at the end is not part of it; after the last record there is none."""
    log: Any = Log()
    assert spans_of(log, ["t"], start, end) == {("t", 0): expected, ("t", 1): expected}
