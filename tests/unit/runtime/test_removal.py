"""An application that is removed leaves no topics, groups or folders behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from penstock.config import StreamsConfig
from penstock.kafka.admin import Admin
from penstock.runtime.spark.driver.removal import owned_topics, remove_application


class Cluster:
    """Remembers what is deleted."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self.deleted: list[str] = []

    def topics(self) -> dict[str, Any]:
        return dict.fromkeys(self.names)

    def delete_topics(self, names: list[str], *, missing_ok: bool) -> None:
        assert missing_ok
        self.deleted += names

    def delete_groups(self, names: list[str], *, missing_ok: bool) -> None:
        assert missing_ok
        self.deleted += [f"group {name}" for name in names]


def test_topics_group_and_folder_go(tmp_path: Path) -> None:
    """Topics of users and of other applications stay."""
    (tmp_path / "shop" / "0_0").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    cluster = Cluster("orders", "shop-penstock-batches", "shop-n-changelog", "other-n-changelog")
    config = StreamsConfig({"application.id": "shop", "state.dir": str(tmp_path)})
    remove_application(cast("Admin", cluster), config)
    assert cluster.deleted == ["shop-penstock-batches", "shop-n-changelog", "group shop"]
    assert [folder.name for folder in tmp_path.iterdir()] == ["other"]


def test_application_whose_name_begins_with_another_one_keeps_its_topics() -> None:
    """Its batch log shows that it exists."""
    names = ["shop-eu-penstock-batches", "shop-eu-n-changelog", "shop-n-changelog"]
    assert owned_topics("shop", names) == ["shop-n-changelog"]
