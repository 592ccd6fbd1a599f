"""Points in time at the public edge."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from penstock.errors import InvalidArgumentError
from penstock.model.time.instant import to_epoch_ms


def test_a_datetime_counts_from_1970_in_its_own_zone() -> None:
    """Whole milliseconds, without the rounding of a float."""
    zone = timezone(timedelta(hours=2))
    assert to_epoch_ms(datetime(1970, 1, 1, 2, 0, 0, 1_000, tzinfo=zone)) == 1
    assert to_epoch_ms(datetime(2026, 1, 1, 0, 0, 0, 999_000, tzinfo=UTC)) % 1_000 == 999


def test_a_datetime_without_a_zone_is_local_time() -> None:
    """As everywhere in Python."""
    naive = datetime(2026, 5, 6, 7, 8, 9)
    assert to_epoch_ms(naive) == int(naive.timestamp()) * 1_000


@pytest.mark.parametrize("instant", ["noon", 1.5, True, None])
def test_what_is_not_a_point_in_time_is_refused(instant: Any) -> None:
    """A float would be ambiguous: Python counts seconds, Kafka milliseconds."""
    with pytest.raises(InvalidArgumentError, match="is not a point in time"):
        to_epoch_ms(instant)


def test_a_time_before_1970_is_refused() -> None:
    """Kafka has no such timestamps."""
    with pytest.raises(InvalidArgumentError, match="before 1970"):
        to_epoch_ms(-1)
