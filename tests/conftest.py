"""Fixtures and settings of all tests: Hypothesis profiles, and whether Java is installed."""

import os

import pytest
from hypothesis import HealthCheck, settings

from penstock.kafka.errors import JavaError
from penstock.kafka.java import find_java

# No deadline anywhere: how long one example takes depends on the machine, not on the code.
settings.register_profile("default", max_examples=50, deadline=None)
settings.register_profile(
    "ci",
    max_examples=100,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "thorough",
    max_examples=2_000,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(scope="session")
def needs_java() -> None:
    """Skips where no Java is installed; a broker that fails for other reasons is a failure."""
    try:
        find_java()
    except JavaError as error:
        pytest.skip(str(error))
