"""A project of migrations: its settings, and the files ``V000001__Name.sql`` in their order."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.cli.connection import read_properties
from penstock.errors import ConfigError, InvalidArgumentError, PenstockError

CONFIG_FILE = "ksql-migrations.properties"
FOLDER = "migrations"
MAX_VERSION = 999_999
_FILE_NAME = re.compile(r"V(\d{6})__(.+)\.sql\Z")
_NAME = re.compile(r"[\w -]+\Z")

#: The settings of the file, with their defaults; None means that the default depends on the server.
SETTINGS: dict[str, str | None] = {
    "ksql.server.url": None,
    "ksql.migrations.stream.name": "MIGRATION_EVENTS",
    "ksql.migrations.table.name": "MIGRATION_SCHEMA_VERSIONS",
    "ksql.migrations.stream.topic.name": None,
    "ksql.migrations.table.topic.name": None,
    "ksql.migrations.topic.replicas": "1",
    "ksql.migrations.dir.override": None,
    "ksql.auth.basic.username": None,
    "ksql.auth.basic.password": None,
    "penstock.auth.token": None,
    "penstock.ssl.ca": None,
}


class MigrationError(PenstockError):
    """A migration cannot be applied, or the files and the server do not agree."""


@dataclass(frozen=True, slots=True)
class MigrationFile:
    """One migration: its version, its name and its text."""

    version: int
    name: str
    path: Path

    def text(self) -> str:
        try:
            return self.path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise MigrationError(
                "bad-migration-file", f"{str(self.path)!r} cannot be read: {error}"
            ) from None

    def checksum(self) -> str:
        """Return the MD5 digest of the bytes, as ksqlDB's tool computes it."""
        return hashlib.md5(self.path.read_bytes(), usedforsecurity=False).hexdigest()


@dataclass(frozen=True, slots=True)
class MigrationProject:
    """The settings of a project and where its files are."""

    config_file: Path
    settings: Mapping[str, str] = field(repr=False)

    @staticmethod
    def load(config_file: Path) -> MigrationProject:
        """Read the settings of a project.

        Raises:
            ConfigError: ``no-migrations-project``, ``unknown-setting`` or ``no-server-url``.
        """
        if not config_file.is_file():
            raise ConfigError(
                "no-migrations-project",
                f"there is no file {str(config_file)!r}",
                fix="name it with --config-file, or begin with:"
                " penstock sql migrations new-project FOLDER URL",
            )
        settings = {name: value for name, value in read_properties(config_file).items() if value}
        unknown = sorted(settings.keys() - SETTINGS.keys() - _JAVA_SETTINGS)
        if unknown:
            raise ConfigError(
                "unknown-setting", f"{config_file}: {', '.join(unknown)} is not a setting"
            )
        if "ksql.server.url" not in settings:
            raise ConfigError(
                "no-server-url", f"{config_file} names no server", fix="set ksql.server.url"
            )
        return MigrationProject(config_file, settings)

    def __getitem__(self, name: str) -> str | None:
        return self.settings.get(name, SETTINGS[name])

    @property
    def folder(self) -> Path:
        override = self["ksql.migrations.dir.override"]
        return Path(override) if override else self.config_file.resolve().parent / FOLDER

    def client_arguments(self) -> dict[str, Any]:
        """Return the address and the login for a client."""
        found = {
            "url": self["ksql.server.url"],
            "user": self["ksql.auth.basic.username"],
            "password": self["ksql.auth.basic.password"],
            "token": self["penstock.auth.token"],
            "ca": self["penstock.ssl.ca"],
        }
        return {name: value for name, value in found.items() if value is not None}

    def files(self) -> list[MigrationFile]:
        """Return all migrations in the order of their versions.

        Raises:
            MigrationError: ``no-migrations-folder`` or ``two-files-of-a-version``.
        """
        if not self.folder.is_dir():
            raise MigrationError("no-migrations-folder", f"{str(self.folder)!r} is not a folder")
        found: dict[int, MigrationFile] = {}
        for path in sorted(self.folder.iterdir()):
            named = _FILE_NAME.match(path.name)
            if named is None:
                continue
            file = MigrationFile(int(named[1]), named[2].replace("_", " "), path)
            other = found.setdefault(file.version, file)
            if other is not file:
                raise MigrationError(
                    "two-files-of-a-version",
                    f"version {file.version} has two files: {other.path.name}, {path.name}",
                    fix="give one of them another version",
                )
        return [found[version] for version in sorted(found)]

    def ignored(self) -> list[str]:
        """Return the names of files in the folder that are not migrations."""
        names = (path.name for path in sorted(self.folder.iterdir()) if path.suffix == ".sql")
        return [name for name in names if not _FILE_NAME.match(name)]

    def file_of(self, version: int) -> MigrationFile | None:
        return next((file for file in self.files() if file.version == version), None)

    def create_file(self, name: str, version: int | None = None) -> Path:
        """Create an empty migration with the next version, or with one that is free.

        Raises:
            InvalidArgumentError: ``bad-migration-name``, ``bad-version`` or ``version-is-taken``.
        """
        if not _NAME.match(name):
            raise InvalidArgumentError(
                "bad-migration-name",
                f"{name!r} cannot be the name of a migration",
                fix="use letters, digits, spaces and underscores",
            )
        files = self.files()
        wanted = version or max((file.version for file in files), default=0) + 1
        if not 1 <= wanted <= MAX_VERSION:
            raise InvalidArgumentError(
                "bad-version", f"a version is a number from 1 to {MAX_VERSION}, not {wanted}"
            )
        taken = next((file for file in files if file.version == wanted), None)
        if taken is not None:
            raise InvalidArgumentError(
                "version-is-taken", f"version {wanted} has a file: {taken.path.name}"
            )
        path = self.folder / f"V{wanted:06}__{name.strip().replace(' ', '_')}.sql"
        path.touch(exist_ok=False)
        return path


#: Settings of ksqlDB's tool that have no meaning here. A file that has them is still read.
_JAVA_SETTINGS = frozenset(
    {
        "ssl.truststore.location", "ssl.truststore.password", "ssl.keystore.location",
        "ssl.keystore.password", "ssl.key.password", "ssl.key.alias", "ssl.alpn",
        "ssl.verify.host", "bearer.auth.issuer.endpoint.url", "bearer.auth.client.id",
        "bearer.auth.client.secret", "bearer.auth.scope", "bearer.auth.scope.claim.name",
        "bearer.auth.sub.claim.name",
    }
)  # fmt: skip


def new_project(folder: Path, url: str) -> Path:
    """Make the folder of a project with its settings, and return the file of the settings.

    Raises:
        InvalidArgumentError: ``project-exists``.
    """
    config_file = folder / CONFIG_FILE
    if config_file.exists():
        raise InvalidArgumentError("project-exists", f"{str(config_file)!r} exists already")
    (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    lines = [f"ksql.server.url={url}", "", "# What else can be set, with its default:"]
    lines += [
        f"# {name}={default or ''}"
        for name, default in SETTINGS.items()
        if name != "ksql.server.url"
    ]
    config_file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return config_file
