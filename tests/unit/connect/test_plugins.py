"""Folders of connectors, and what is put into them."""

from pathlib import Path
from typing import Any

import pytest

from penstock.connect import plugins
from penstock.connect.errors import ConnectError
from penstock.connect.plugins import (
    PROJECT_PLUGINS,
    Coordinates,
    install,
    installed_plugins,
    project_plugins,
)


@pytest.mark.parametrize("text", ["", "a:b", "a:b:c:d", "a:b:../c", "a::c", "a:b:c d"])
def test_what_does_not_name_a_module_is_refused(text: str) -> None:
    """Parts become names of folders, so they are checked."""
    with pytest.raises(ConnectError) as refused:
        Coordinates.of(text)
    assert refused.value.code == "bad-coordinates"


def test_a_project_has_one_folder_of_connectors(tmp_path: Path) -> None:
    """It is found from below, as the project's broker is."""
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    assert project_plugins(inner) == inner / PROJECT_PLUGINS
    (tmp_path / PROJECT_PLUGINS).mkdir(parents=True)
    assert project_plugins(inner) == tmp_path / PROJECT_PLUGINS


def test_installing_replaces_the_folder_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No jar of an earlier try is left, and none that every worker has."""
    asked: list[Any] = []

    def fetch(java: Any, modules: Any, folder: Path, report: Any, *, what: str) -> None:
        asked.append((modules, what))
        folder.mkdir()
        for number in range(len(asked)):
            (folder / f"{number}.jar").touch()
        for provided in ("jackson-databind-2.1.jar", "kafka-clients-4.3.1.jar"):
            (folder / provided).touch()

    monkeypatch.setattr(plugins, "fetch_jars", fetch)
    monkeypatch.setattr(plugins, "find_java", lambda: None)
    modules = [Coordinates.of("g:sink:1"), Coordinates.of("g:driver:2")]
    first = install(modules, tmp_path / "p", print)
    assert (first.folder.name, first.jars) == ("sink-1", 1)
    (first.folder / "old.jar").touch()
    assert install(modules, tmp_path / "p", print).jars == 2
    assert asked[0] == ([("g", "sink", "1"), ("g", "driver", "2")], "the connector sink-1")
    found = installed_plugins(tmp_path / "p")
    assert [(each.folder.name, each.jars) for each in found] == [("sink-1", 2)]
    assert installed_plugins(tmp_path / "none") == []
