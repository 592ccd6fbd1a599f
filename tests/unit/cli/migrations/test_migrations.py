"""``penstock sql migrations`` against a server that speaks the real one's protocol.

Exercises ``migrations.project``, ``migrations.metadata``, ``migrations.apply``,
``migrations.check``, ``migrations.actions`` and ``migrations.commands``.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from penstock.cli.main import app
from penstock.cli.migrations.metadata import MigrationMetadata
from penstock.cli.migrations.project import MigrationError, MigrationProject
from penstock.client import Client
from tests.unit.client.fake_server import FakeServer, running

CREATE = "CREATE STREAM {} (id STRING KEY) WITH (KAFKA_TOPIC='t');"


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with running(FakeServer()) as fake:
        yield fake


class Project:
    """A project in a folder, and its commands."""

    def __init__(self, folder: Path, server: FakeServer) -> None:
        self.folder, self.server = folder, server
        assert self.call("new-project", folder, server.url).exit_code == 0

    @property
    def config(self) -> Path:
        return self.folder / "ksql-migrations.properties"

    def call(self, *arguments: object) -> Result:
        return CliRunner().invoke(app, ["sql", "migrations", *map(str, arguments)])

    def run(self, *arguments: object) -> Result:
        return self.call(*arguments, "--config-file", self.config)

    def write(self, name: str, text: str) -> Path:
        file = self.folder / "migrations" / name
        file.write_text(text)
        return file

    def info(self) -> dict[int, str]:
        data = json.loads(self.run("info", "--json").stdout)
        return {each["version"]: each["state"] for each in data["migrations"]}


@pytest.fixture
def project(tmp_path: Path, server: FakeServer) -> Project:
    found = Project(tmp_path / "shop", server)
    done = found.run("initialize-metadata")
    assert done.exit_code == 0, done.output
    return found


def test_metadata_are_those_of_ksqldb(project: Project) -> None:
    """A stream of events and a table with the last one of each version."""
    stream, table = [each["ksql"] for each in project.server.requests]
    assert stream.startswith("CREATE STREAM MIGRATION_EVENTS (version_key STRING KEY, ")
    assert "KAFKA_TOPIC='fake_ksql_MIGRATION_EVENTS'" in stream
    assert "LATEST_BY_OFFSET(checksum) AS checksum" in table
    assert table.endswith("FROM MIGRATION_EVENTS GROUP BY version_key;")


def test_files_are_created_with_the_next_version(project: Project) -> None:
    assert project.run("create", "Add users").exit_code == 0
    assert project.run("create", "later", "--version", 7).exit_code == 0
    assert project.run("create", "next").exit_code == 0
    names = sorted(file.name for file in (project.folder / "migrations").iterdir())
    assert names == ["V000001__Add_users.sql", "V000007__later.sql", "V000008__next.sql"]
    assert project.run("create", "again", "--version", 7).exit_code == 1
    assert project.run("create", "a/b").exit_code == 1


def test_all_are_applied_once_and_in_order(project: Project) -> None:
    project.write("V000002__second.sql", CREATE.format("b"))
    project.write("V000001__first.sql", CREATE.format("a") + CREATE.format("a2"))
    project.write("notes.sql", "nothing")
    done = project.run("apply", "--all")
    assert done.exit_code == 0, done.output
    assert "applied 2 migrations" in done.output
    assert "notes.sql is not named like" in done.output
    assert list(project.server.sources)[2:] == ["A", "A2", "B"]
    assert project.info() == {1: "MIGRATED", 2: "MIGRATED"}
    assert "nothing to apply" in project.run("apply", "--all").output


def test_next_until_and_version_choose(project: Project) -> None:
    for number in range(1, 6):
        project.write(f"V00000{number}__n.sql", CREATE.format(f"s{number}"))
    assert project.run("apply", "--next").exit_code == 0
    assert project.run("apply", "--until", 3).exit_code == 0
    assert project.run("apply", "--version", 5).exit_code == 0
    assert project.info() == {
        1: "MIGRATED", 2: "MIGRATED", 3: "MIGRATED", 4: "PENDING", 5: "MIGRATED",
    }  # fmt: skip
    assert "not newer than 5" in project.run("apply", "--version", 4).output
    assert "no file has version 9" in project.run("apply", "--version", 9).output
    assert "no file is newer" in project.run("apply", "--next").output


def test_exactly_one_choice_is_needed(project: Project) -> None:
    assert project.run("apply").exit_code == 2
    assert project.run("apply", "--all", "--next").exit_code == 2


def test_failed_migration_is_remembered_with_its_reason_and_tried_again(project: Project) -> None:
    file = project.write("V000001__bad.sql", CREATE.format("a") + "CRATE STREAM b;")
    project.write("V000002__good.sql", CREATE.format("c"))
    done = project.run("apply", "--all")
    assert done.exit_code == 1
    assert "V000001__bad.sql" in done.output
    data = json.loads(project.run("info", "--json").stdout)
    assert data["current"] == "1"
    assert data["migrations"][0]["state"] == "ERROR"
    assert "mismatched" in data["migrations"][0]["error_reason"]
    assert "C" not in project.server.sources
    file.write_text(CREATE.format("b"))
    assert project.run("apply", "--all").exit_code == 0
    assert project.info() == {1: "MIGRATED", 2: "MIGRATED"}


def test_changed_file_is_found(project: Project) -> None:
    """What was applied is history; a change is a new file."""
    file = project.write("V000001__a.sql", CREATE.format("a"))
    project.run("apply", "--all")
    assert "1 applied file is unchanged" in project.run("validate").output
    file.write_text(CREATE.format("other"))
    for command in (("validate",), ("apply", "--all")):
        done = project.run(*command)
        assert done.exit_code == 1
        assert "file-has-changed" in done.output
    file.unlink()
    assert "file-is-missing" in project.run("validate").output


def test_dry_run_sends_nothing(project: Project) -> None:
    project.write("V000001__a.sql", "SET 'a'='b';" + CREATE.format("a"))
    done = project.run("apply", "--all", "--dry-run")
    assert "would run: CREATE STREAM a" in done.output
    assert "would apply 1 migration" in done.output
    assert project.info() == {1: "PENDING"}


def test_variables_and_properties_hold_within_a_file(project: Project) -> None:
    project.write(
        "V000001__a.sql",
        "DEFINE own = 'x'; SET 'auto.offset.reset'='earliest';"
        + CREATE.format("${own}${given}")
        + "UNSET 'auto.offset.reset'; UNDEFINE own;"
        + CREATE.format("${given}"),
    )
    project.write("V000002__b.sql", CREATE.format("second_${given}"))
    done = project.run("apply", "--all", "--define", "given=y")
    assert done.exit_code == 0, done.output
    created = [each for each in project.server.requests if "ksql" in each][-3:]
    assert list(project.server.sources)[2:] == ["XY", "Y", "SECOND_Y"]
    properties = [each["streamsProperties"] for each in project.server.requests
                  if each.get("ksql", "").startswith("CREATE STREAM ")]  # fmt: skip
    assert properties[1:] == [{"auto.offset.reset": "earliest"}, {}, {}]
    assert created


@pytest.mark.parametrize("sql", ["SELECT 1;", "PRINT t;", "SHOW STREAMS;", "RUN SCRIPT 'a';"])
def test_statements_that_change_nothing_are_refused_before_anything_runs(
    project: Project, sql: str
) -> None:
    project.write("V000001__a.sql", CREATE.format("a"))
    project.write("V000002__b.sql", f"\n{sql}")
    done = project.run("apply", "--all")
    assert done.exit_code == 1
    assert "V000002__b.sql:2:" in done.output
    assert "A" not in project.server.sources


def test_headers_of_a_file_go_along(project: Project, tmp_path: Path) -> None:
    file = tmp_path / "headers"
    file.write_text("x-team=shop\n")
    project.write("V000001__a.sql", CREATE.format("a"))
    project.run("apply", "--all", "--headers", file)
    assert project.server.headers[-1]["x-team"] == "shop"


def test_metadata_are_destroyed(project: Project) -> None:
    assert project.call("destroy-metadata", "-c", project.config).exit_code == 1
    assert project.server.sources
    assert project.run("destroy-metadata", "--yes").exit_code == 0
    assert project.server.sources == {}
    assert "nothing to drop" in project.run("destroy-metadata", "--yes").output
    done = project.run("info")
    assert done.exit_code == 1
    assert "initialize-metadata" in done.output


def test_projects_that_are_none_are_refused(tmp_path: Path, server: FakeServer) -> None:
    config = tmp_path / "ksql-migrations.properties"
    with pytest.raises(Exception, match="there is no file"):
        MigrationProject.load(config)
    config.write_text("ksql.server.ulr=http://x\n")
    with pytest.raises(Exception, match=r"ksql\.server\.ulr is not a setting"):
        MigrationProject.load(config)
    config.write_text("ssl.truststore.location=/x\n")
    with pytest.raises(Exception, match="names no server"):
        MigrationProject.load(config)
    config.write_text(f"ksql.server.url={server.url}\n")
    with pytest.raises(MigrationError, match="is not a folder"):
        MigrationProject.load(config).files()
    made = Project(tmp_path / "p", server)
    assert made.call("new-project", made.folder, "http://x").exit_code == 1


def test_two_files_of_one_version_are_refused(project: Project) -> None:
    project.write("V000001__a.sql", "")
    project.write("V000001__b.sql", "")
    assert "version 1 has two files" in project.run("apply", "--all").output


def test_table_that_does_not_follow_is_not_waited_for_without_end(project: Project) -> None:
    """Its query may have died; the migration does not go on as if nothing were."""
    project.server.sources["MIGRATION_EVENTS"].follower = None
    file = project.write("V000001__a.sql", CREATE.format("a"))
    loaded = MigrationProject.load(project.config)
    with Client(project.server.url) as client:
        metadata = MigrationMetadata(client, loaded, wait_s=0.3)
        with pytest.raises(MigrationError, match="did not show version 1 as RUNNING"):
            metadata.write(loaded.files()[0], "RUNNING", previous="<none>", started_ms=1)
    assert file.exists()


def test_info_is_a_table(project: Project) -> None:
    project.write("V000001__a_b.sql", CREATE.format("a"))
    project.run("apply", "--all")
    text = project.run("info").output
    assert "current version: 1" in text
    assert "MIGRATED" in text
    assert " UTC" in text
