"""``penstock topics``: list, create, delete and describe topics without Kafka's own tools."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from rich.text import Text

from penstock.cli.connection import BootstrapOption, CommandConfigOption, TimeoutOption, connect
from penstock.cli.output import JsonOption, out, print_done, print_json, print_table
from penstock.kafka.admin import Admin
from penstock.kafka.admin_answers import Topic, TopicSpec
from penstock.kafka.errors import TopicExistsError

app = typer.Typer(help="List, create, delete and describe topics.", no_args_is_help=True)

NamesArgument = Annotated[list[str], typer.Argument(metavar="NAME", help="The topics.")]


@app.command("list")
def list_(
    bootstrap: BootstrapOption = None,
    internal: Annotated[
        bool, typer.Option("--internal", help="Show the broker's own topics too.")
    ] = False,
    command_config: CommandConfigOption = None,
    timeout: TimeoutOption = 10.0,
    as_json: JsonOption = False,
) -> None:
    """List the topics with their partitions and records."""
    admin = connect(bootstrap, command_config, timeout)
    found = admin.topics(internal=internal)
    records = _records(admin, found.values())
    rows = [
        (topic.name, len(topic.partitions), topic.replication, records[topic.name])
        for topic in found.values()
    ]
    columns = ("topic", "partitions", "replication", "records")
    if as_json:
        print_json([dict(zip(columns, row, strict=True)) for row in rows])
    elif rows:
        print_table(columns, rows)
    else:
        out().print("[dim]no topics; make one with: penstock topics create NAME[/dim]")


@app.command()
def create(
    names: NamesArgument,
    partitions: Annotated[int, typer.Option("--partitions", "-p", min=1)] = 1,
    replication: Annotated[
        int, typer.Option("--replication", help="Replicas; -1 leaves it to the broker.")
    ] = -1,
    config: Annotated[
        list[str] | None,
        typer.Option("--config", "-c", metavar="NAME=VALUE", help="cleanup.policy=compact, …"),
    ] = None,
    if_not_exists: Annotated[
        bool, typer.Option("--if-not-exists", help="Do nothing for topics that exist.")
    ] = False,
    bootstrap: BootstrapOption = None,
    command_config: CommandConfigOption = None,
    timeout: TimeoutOption = 10.0,
    as_json: JsonOption = False,
) -> None:
    """Create topics."""
    settings = dict(_pair(text) for text in config or ())
    admin = connect(bootstrap, command_config, timeout)
    made = admin.create_topics(TopicSpec(name, partitions, replication, settings) for name in names)
    present = [name for name in names if name not in made]
    if present and not if_not_exists:
        raise TopicExistsError(
            "topic-exists",
            f"topic {present[0]!r} exists already",
            fix="choose another name, or add --if-not-exists",
        )
    if as_json:
        print_json({"created": sorted(made), "present": present})
    for name in () if as_json else names:
        state = "created" if name in made else "is there already"
        print_done(f"topic {name} {state}, partitions: {partitions}")


@app.command()
def delete(
    names: NamesArgument,
    if_exists: Annotated[
        bool, typer.Option("--if-exists", help="Ignore topics that do not exist.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    bootstrap: BootstrapOption = None,
    command_config: CommandConfigOption = None,
    timeout: TimeoutOption = 10.0,
    as_json: JsonOption = False,
) -> None:
    """Delete topics with all their records."""
    admin = connect(bootstrap, command_config, timeout)
    # Without a terminal no user can answer.
    if not yes and sys.stdin.isatty():
        typer.confirm(f"Delete {', '.join(names)} with all records?", abort=True, err=True)
    admin.delete_topics(names, missing_ok=if_exists)
    if as_json:
        print_json({"deleted": names})
    else:
        print_done(f"deleted: {', '.join(names)}")


@app.command()
def describe(
    name: Annotated[str, typer.Argument(help="The topic.")],
    show_all: Annotated[
        bool, typer.Option("--all", help="Show the broker's default settings too.")
    ] = False,
    bootstrap: BootstrapOption = None,
    command_config: CommandConfigOption = None,
    timeout: TimeoutOption = 10.0,
    as_json: JsonOption = False,
) -> None:
    """Show a topic's partitions, offsets and settings."""
    admin = connect(bootstrap, command_config, timeout)
    topic = admin.topic(name)
    rows = _partition_rows(admin, topic)
    found = admin.topic_config(name)
    settings = {key: item.value for key, item in found.items() if show_all or item.is_own}
    columns = ("partition", "leader", "replicas", "in sync", "first", "end", "records")
    if as_json:
        partitions = [dict(zip(columns, row, strict=True)) for row in rows]
        print_json({"topic": name, "partitions": partitions, "config": settings})
        return
    print_table(columns, [(*row[:2], _joined(row[2]), _joined(row[3]), *row[4:]) for row in rows])
    for key, value in settings.items():
        out().print(Text(f"{key}=").append(str(value), style="bold"), soft_wrap=True)


def _partition_rows(admin: Admin, topic: Topic) -> list[tuple[Any, ...]]:
    places = [(topic.name, state.id) for state in topic.partitions]
    first, end = admin.begin_offsets(places), admin.end_offsets(places)
    return [
        (p.id, p.leader, p.replicas, p.in_sync, first[at], end[at], end[at] - first[at])
        for at, p in zip(places, topic.partitions, strict=True)
    ]


def _records(admin: Admin, topics: Any) -> dict[str, int]:
    """Return about how many records each topic has, by its offsets.

    Compaction and transactions leave gaps, so there may be fewer.
    """
    places = [(topic.name, state.id) for topic in topics for state in topic.partitions]
    first, end = admin.begin_offsets(places), admin.end_offsets(places)
    counts: dict[str, int] = {}
    for at in places:
        counts[at[0]] = counts.get(at[0], 0) + end[at] - first[at]
    return counts


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise typer.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--config")
    return name, value


def _joined(numbers: tuple[int, ...]) -> str:
    return ",".join(map(str, numbers))
