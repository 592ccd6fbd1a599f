"""``penstock reset``: reset a stopped application, so that it processes its input again."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from penstock.cli.connection import (
    CommandConfigOption,
    TimeoutOption,
    client_settings,
    connect,
)
from penstock.cli.output import JsonOption, out, print_done, print_json, print_note, print_table
from penstock.cli.reset import position
from penstock.cli.reset.plan import (
    ResetPlan,
    apply_reset,
    check_stopped,
    check_unlocked,
    make_reset_plan,
)
from penstock.config import STATE_DIR

T = TypeVar("T")


def reset(
    application_id: Annotated[
        str, typer.Option("--application-id", metavar="ID", help="The application.id.")
    ],
    input_topics: Annotated[
        str | None,
        typer.Option("--input-topics", metavar="A,B", help="Default: all that its group read."),
    ] = None,
    internal_topics: Annotated[
        str | None,
        typer.Option("--internal-topics", metavar="A,B", help="Delete only these, not all."),
    ] = None,
    to_earliest: Annotated[
        bool, typer.Option("--to-earliest", help="From the first record on (default).")
    ] = False,
    to_latest: Annotated[
        bool, typer.Option("--to-latest", help="Only records that come from now on.")
    ] = False,
    to_offset: Annotated[int | None, typer.Option("--to-offset", metavar="N", min=0)] = None,
    to_datetime: Annotated[
        str | None, typer.Option("--to-datetime", metavar="TIME", help="2026-03-02T10:00:00")
    ] = None,
    by_duration: Annotated[
        str | None,
        typer.Option("--by-duration", metavar="D", help="Time before now: PT1H30M or 90m."),
    ] = None,
    shift_by: Annotated[
        int | None,
        typer.Option("--shift-by", metavar="N", help="Records to skip; back if negative."),
    ] = None,
    from_file: Annotated[
        Path | None,
        typer.Option(
            "--from-file",
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="Lines of TOPIC,PARTITION,OFFSET.",
        ),
    ] = None,
    state_dir: Annotated[
        Path, typer.Option("--state-dir", metavar="DIR", help="The application's state.dir.")
    ] = Path(STATE_DIR.default),
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only print what would be done.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Wait for members of the group that crashed.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    bootstrap: Annotated[
        str | None,
        typer.Option(
            "--bootstrap",
            "--bootstrap-server",
            "-b",
            metavar="HOST:PORT",
            help="Kafka brokers; without it, the project's running broker.",
        ),
    ] = None,
    command_config: CommandConfigOption = None,
    timeout: TimeoutOption = 30.0,
    as_json: JsonOption = False,
) -> None:
    """Reset an application: offsets, internal topics and local state.

    It must be stopped. Its output topics are left alone: what it writes again is added to
    them. Local state is deleted on this machine only.
    """  # fmt: skip
    where = position.chosen(
        {
            "--to-earliest": position.earliest if to_earliest else None,
            "--to-latest": position.latest if to_latest else None,
            "--to-offset": _given(to_offset, position.at_offset),
            "--to-datetime": _given(to_datetime, position.at_datetime),
            "--by-duration": _given(by_duration, position.before_now),
            "--shift-by": _given(shift_by, position.shifted_by),
            "--from-file": _given(from_file, position.from_file),
        }
    )
    admin = connect(bootstrap, command_config, timeout)
    check_stopped(admin, application_id, waits=force)
    plan = make_reset_plan(
        admin,
        application_id,
        inputs=_names(input_topics),
        internal=_names(internal_topics),
        position=where,
        state_dir=state_dir,
    )
    check_unlocked(plan)
    if not as_json:
        _print(plan, dry_run)
    # Without a terminal no user can answer.
    if not (dry_run or yes or force or as_json) and sys.stdin.isatty():
        typer.confirm(f"Reset {application_id}?", abort=True, err=True)
    if not dry_run:
        apply_reset(admin, plan, client_settings(bootstrap, command_config, "producer"))
    if as_json:
        print_json(plan.to_json() | {"dry_run": dry_run})
    elif dry_run:
        print_note("nothing was changed: this was a dry run")
    else:
        print_done(f"{application_id} is reset")


def _given(value: T | None, make: Callable[[T], position.Position]) -> position.Position | None:
    return None if value is None else make(value)


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _print(plan: ResetPlan, is_dry: bool) -> None:
    would = "would be " if is_dry else ""
    if plan.is_empty:
        out().print("nothing to do")
    if plan.moves:
        print_table(
            ("topic", "partition", "from", "to"),
            [
                (topic, number, "-" if before is None else before, after)
                for (topic, number), (before, after) in sorted(plan.moves.items())
            ],
        )
    for name in plan.kept:
        print(f"topic {name} keeps its offsets")
    for name in plan.topics:
        print(f"topic {name} {would}deleted")
    if plan.folder is not None:
        print(f"state {plan.folder} {would}deleted")
