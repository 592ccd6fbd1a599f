"""The reference page of SQL's own settings, from the table that the engine reads."""

from __future__ import annotations

from penstock.sql.ksql_settings import KSQL_NAMES, KSQL_SETTINGS, QUERY_DEFAULTS, KsqlSetting
from tests.docs.pages import DOCS

PAGE = DOCS / "reference" / "sql" / "settings.md"
INTRODUCTION = """\
# Settings of SQL

Settings of the engine and of the server, by ksqlDB's names. `SHOW PROPERTIES` has them with the
values that are in force. [Settings](../settings.md) of Kafka Streams reach the queries, with and
without `ksql.streams.` in front. `make docs` writes this page from the code.

| Setting | Default | Meaning |
|---|---|---|
"""
QUERIES = """
## Queries on a cluster

They begin with these settings of Kafka Streams. `SET` and the configuration change them.

| Setting | Value |
|---|---|
"""
KNOWN = """
## Taken, without effect

Scripts of ksqlDB that set these run all the same, and `SET` says that nothing changes.

"""


def render() -> str:
    """Return the page: what has an effect, what queries begin with, and what is only known."""
    effective = "".join(_row(each) for each in sorted(KSQL_SETTINGS, key=lambda each: each.name))
    queries = "".join(f"| `{name}` | `{value}` |\n" for name, value in QUERY_DEFAULTS.items())
    names = sorted(KSQL_NAMES - {setting.name for setting in KSQL_SETTINGS})
    known = "".join(f"- `{name}`\n" for name in names)
    return f"{INTRODUCTION}{effective}{QUERIES}{queries}{KNOWN}{known}"


def _row(setting: KsqlSetting) -> str:
    default = f"`{setting.default}`" if setting.default else ""
    doc = setting.doc.replace("<", "&lt;").replace("|", "\\|")
    return f"| `{setting.name}` | {default} | {doc} |\n"
