"""Settings and fixtures of all tests: Hypothesis profiles, who runs which file, Java."""

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from penstock.kafka.errors import JavaError
from penstock.kafka.java import find_java

# No deadline and no check for slowness: how long an example takes depends on the machine.
# Every run looks at other examples; "thorough" is for a change of what a property is about.
settings.register_profile(
    "default",
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "ci",
    max_examples=50,
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


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Share whole files out so that the workers need the machine for different things."""
    if config.getoption("dist") != "loadfile":
        return None
    # Only the process that shares them out has the package loaded.
    from tests.workers import FromBothEnds  # noqa: PLC0415

    return FromBothEnds(config, log)


@pytest.fixture(scope="session")
def needs_java() -> None:
    """Skips where no Java is installed; a broker that fails for other reasons is a failure."""
    try:
        find_java()
    except JavaError as error:
        pytest.skip(str(error))
