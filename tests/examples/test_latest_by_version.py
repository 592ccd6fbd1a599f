"""EX-11: a history and the latest version."""

from examples.latest_by_version.app import Contract, build
from tests.examples.play import played


def test_latest_topic_has_only_newer_versions() -> None:
    """Version 2 comes after version 3, and version 3 comes twice."""
    with played("latest_by_version", build()) as driver:
        assert driver.read_key_values("contracts-latest") == [
            ("c-1", Contract(1, "rent 900")),
            ("c-2", Contract(1, "rent 700")),
            ("c-1", Contract(3, "rent 950")),
        ]
        assert dict(driver.get_key_value_store("newest-versions").all()) == {"c-1": 3, "c-2": 1}
