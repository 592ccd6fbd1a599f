"""Moments as users write them: ``penstock.model.time.moment``."""

import pytest

from penstock.errors import InvalidArgumentError
from penstock.model.time.moment import moment_ms


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("1970-01-01T00:00:01Z", 1_000),
        ("1970-01-01 00:00:01", 1_000),
        ("1970-01-01T01:00:01+01:00", 1_000),
        ("1970-01-02", 86_400_000),
        ("2s", 7_000),
    ],
)
def test_a_moment_is_a_time_or_a_duration_before_now(text: str, moment: int) -> None:
    """A time without a zone is in UTC."""
    assert moment_ms(text, now_ms=9_000) == moment


def test_other_text_is_refused() -> None:
    """The error says what may stand there."""
    with pytest.raises(InvalidArgumentError, match="bad-moment"):
        moment_ms("yesterday", now_ms=0)
