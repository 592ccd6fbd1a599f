"""Dates, times and timestamps as text: what is read, what is written, what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.time.calendar import (
    DAY_MS,
    format_date,
    format_time,
    format_timestamp,
    parse_date,
    parse_time,
    parse_timestamp,
)

HOUR_MS = 3_600_000


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("1970", 0),
        ("1970-02", 31 * DAY_MS),
        ("1970-1-2", DAY_MS),
        ("1970-01-01T01", HOUR_MS),
        ("1970-01-01 00:01", 60_000),
        ("1970-01-01T00:00:01.5", 1_500),
        ("1970-01-01T00:00:00.123999999", 123),
        ("1970-01-01T01:00:00Z", HOUR_MS),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1970-01-01T00:00:00-0130", HOUR_MS + HOUR_MS // 2),
        ("1969-12-31T23:59:59.999", -1),
        ("  1970-01-02  ", DAY_MS),
    ],
)
def test_a_timestamp_may_be_shortened_and_have_a_zone(text: str, ms: int) -> None:
    """What is left out is the beginning of its span; digits below a millisecond are cut off."""
    assert parse_timestamp(text) == ms


@pytest.mark.parametrize(
    ("text", "days"), [("1970", 0), ("1972-03", 790), ("1970-1-2", 1), ("1970-01-02T09:00", 1)]
)
def test_a_date_may_be_shortened_and_have_a_time(text: str, days: int) -> None:
    """The time behind a date is not looked at. 1972 has a 29th of February."""
    assert parse_date(text) == days


@pytest.mark.parametrize(
    ("text", "ms"), [("01:00", HOUR_MS), ("00:00:01", 1_000), ("23:59:59.9", DAY_MS - 100)]
)
def test_a_time_is_milliseconds_of_its_day(text: str, ms: int) -> None:
    """Seconds and their fraction may be left out."""
    assert parse_time(text) == ms


@pytest.mark.parametrize(
    "text", ["", "today", "70-01-01", "1970-13-01", "1970-02-30", "1970-01-01x"]
)
def test_what_is_not_a_timestamp_is_refused(text: str) -> None:
    """That includes days that no calendar has."""
    with pytest.raises(ValueError):  # noqa: PT011 - the calendar's own message differs by case
        parse_timestamp(text)


@pytest.mark.parametrize("text", ["", "1:00", "24:00", "00:60", "00:00:60", "12"])
def test_what_is_not_a_time_of_day_is_refused(text: str) -> None:
    """The message repeats the text."""
    with pytest.raises(ValueError, match=f"^{text!r} is not a time"):
        parse_time(text)


def test_a_time_is_written_without_seconds_that_are_zero() -> None:
    """Java leaves them out, and writes no fraction here."""
    assert [format_time(ms) for ms in (HOUR_MS, 1_000, DAY_MS - 1)] == [
        "01:00",
        "00:00:01",
        "23:59:59",
    ]


@given(ms=st.integers(-62_135_596_800_000, 253_402_300_799_999))
def test_a_timestamp_is_read_as_it_was_written(ms: int) -> None:
    """From the year 1 to the year 9999; years have four digits."""
    text = format_timestamp(ms)
    assert len(text) == 23
    assert parse_timestamp(text) == ms


@given(days=st.integers(-719_162, 2_932_896))
def test_a_date_is_read_as_it_was_written(days: int) -> None:
    """From the year 1 to the year 9999."""
    assert parse_date(format_date(days)) == days
