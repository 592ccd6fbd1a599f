"""A tuned changelog, and a store without one."""

import pytest

from examples.tuned_changelog import app
from tests.examples.play import played


@pytest.mark.parametrize(("replicas", "in_sync"), [(1, "1"), (3, "2")])
def test_changelog_has_the_settings_of_the_program(
    monkeypatch: pytest.MonkeyPatch, replicas: int, in_sync: str
) -> None:
    """All replicas but one have to have a write."""
    monkeypatch.setattr(app, "REPLICAS", replicas)
    settings = dict(app.build().graph.stores["tuned-store"].changelog_config)
    assert settings == {
        "min.insync.replicas": in_sync,
        "delete.retention.ms": "604800000",
        "segment.bytes": "104857600",
    }


def test_only_the_tuned_store_writes_a_changelog() -> None:
    """The other one has the same rows and no way to get them back."""
    with played("tuned_changelog", app.build(), app.config) as driver:
        assert driver.read_map("visits-per-user") == {"ann": 2, "bob": 1}
        assert dict(driver.get_key_value_store("scratch-store").all()) == {"ann": 2, "bob": 1}
        changelogs = {name for name in driver.produced_topic_names() if name.endswith("-changelog")}
    assert changelogs == {"tuned-changelog-tuned-store-changelog"}
