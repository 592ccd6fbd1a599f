"""``penstock plan``: show what a start would do to the state in Kafka, and start nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from penstock.cli.connection import BootstrapOption
from penstock.cli.output import (
    JsonOption,
    err,
    out,
    print_done,
    print_json,
    print_note,
    print_table,
)
from penstock.cli.plan.stored import PlanReader
from penstock.cli.program import load_program
from penstock.cli.run import merged_settings
from penstock.cli.sql.commands import DefineOption, ExtensionsOption
from penstock.cli.sql.needed import needing_sql
from penstock.cli.sql.pairs import defined, pairs
from penstock.config import ACCEPTED_PLAN, APPLICATION_ID, BOOTSTRAP_SERVERS, StreamsConfig
from penstock.kafka.nearby_broker import nearby_broker
from penstock.runtime.settings import plan_fingerprint
from penstock.topology.upgrades.report import Entry, new_entry, summary

_STYLES = {"refused": "red", "removed": "yellow", "added": "green", "changed": "yellow"}


def plan(
    target: Annotated[
        str, typer.Argument(metavar="APP.PY[:NAME]|FILE.SQL", help="A program or a script.")
    ],
    bootstrap: BootstrapOption = None,
    config: Annotated[
        list[str] | None,
        typer.Option("--config", "-c", metavar="NAME=VALUE", help="A setting, as in a run."),
    ] = None,
    define: DefineOption = None,
    extensions: ExtensionsOption = None,
    accept: Annotated[
        bool,
        typer.Option(
            "--accept",
            help="Print the setting with which a changed program goes on with its state.",
        ),
    ] = False,
    export: Annotated[
        Path | None,
        typer.Option(
            "--export",
            metavar="FILE",
            help="Write the plan for the console's page Changes; Kafka is not asked.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare a program or script with the state in Kafka, and start nothing.

    Each application is unchanged, added (it has no state), changed (its state is still used),
    removed (its state stays in Kafka), accepted (its state is too old to be compared) or refused.
    Exit 0: it would start. Exit 1: it would be refused, or Kafka cannot be asked.

    With --accept only one line goes to standard output, a setting for penstock run -c, which says
    that the state of a program still fits. Exit 1: it does not, whatever is said.

    With --export the plan of a program is written to a file, which has no code of it. POST /plan
    of the running application, and its console, compare the file with what runs.
    """
    given = pairs("--config", config)
    if accept and target.lower().endswith(".sql"):
        raise typer.BadParameter(
            "a script says with CREATE OR REPLACE that its state still fits",
            param_hint="--accept",
        )
    if export is not None:
        _export(target, export, bootstrap, config or [])
        return
    if accept:
        entry = _of_program(target, bootstrap, config or [], is_accepted=True)
        _print_acceptance(entry, as_json=as_json)
        raise typer.Exit(1 if entry.status == "refused" else 0)
    if target.lower().endswith(".sql"):
        entries = _of_script(Path(target), bootstrap, given, defined(define), extensions)
    else:
        entries = [_of_program(target, bootstrap, config or [])]
    if as_json:
        told = [entry.to_json() for entry in entries]
        print_json({"target": target, "summary": summary(entries), "applications": told})
    else:
        _print(entries)
    raise typer.Exit(1 if any(entry.status == "refused" for entry in entries) else 0)


def _export(target: str, file: Path, bootstrap: str | None, given: Sequence[str]) -> None:
    """Write the plan of a program, with the name of the program."""
    if target.lower().endswith(".sql"):
        raise typer.BadParameter(
            "queries of a script are compared by the server that runs them: penstock plan FILE.SQL",
            param_hint="--export",
        )
    program = load_program(target)
    settings = merged_settings(program, master=None, bootstrap=bootstrap, threads=None, given=given)
    plan = plan_fingerprint(program.topology.graph, StreamsConfig(settings))
    told = {"name": program.path.name, "plan": json.loads(plan.to_json())}
    file.write_text(json.dumps(told, ensure_ascii=False) + "\n", encoding="utf-8")
    print_done(f"wrote the plan of {program.path.name} to {file}")


def _print_acceptance(entry: Entry, *, as_json: bool) -> None:
    """Print the changes for people and the setting for programs, or why there is none."""
    if as_json:
        print_json(entry.to_json() | {"setting": f"{ACCEPTED_PLAN.name}={entry.digest}"})
        return
    _print_entry(entry, err())
    if entry.status != "refused":
        print(f"{ACCEPTED_PLAN.name}={entry.digest}")


def _of_program(
    target: str, bootstrap: str | None, given: Sequence[str], *, is_accepted: bool = False
) -> Entry:
    program = load_program(target)
    settings = merged_settings(program, master=None, bootstrap=bootstrap, threads=None, given=given)
    settings.setdefault(BOOTSTRAP_SERVERS.name, None)
    settings[BOOTSTRAP_SERVERS.name] = settings[BOOTSTRAP_SERVERS.name] or nearby_broker()
    checked = StreamsConfig(settings)
    found = PlanReader(settings).read(checked[APPLICATION_ID])
    fingerprint = plan_fingerprint(program.topology.graph, checked)
    return new_entry(
        program.path.name,
        checked[APPLICATION_ID],
        fingerprint,
        stored=found.fingerprint,
        has_run=found.has_run,
        kept=found.kept,
        is_running=found.is_running,
        accepted=fingerprint.digest if is_accepted else checked[ACCEPTED_PLAN],
    )


def _of_script(
    script: Path,
    bootstrap: str | None,
    given: dict[str, str],
    variables: dict[str, str],
    extensions: Path | None,
) -> list[Entry]:
    if not script.is_file():
        raise typer.BadParameter(f"there is no file {str(script)!r}", param_hint="FILE.SQL")
    servers = bootstrap or given.get(BOOTSTRAP_SERVERS.name) or nearby_broker()
    settings: dict[str, Any] = {**given, BOOTSTRAP_SERVERS.name: servers}
    kafka = {name: value for name, value in settings.items() if not name.startswith("ksql.")}
    module = needing_sql("penstock.cli.plan.script")
    entries: list[Entry] = module.script_entries(
        script, PlanReader(kafka), settings=settings, variables=variables, extensions=extensions
    )
    return entries


def _print(entries: Sequence[Entry]) -> None:
    if not entries:
        print_note("there is nothing to run, and nothing has run")
        return
    print_table(
        ("name", "status", "runs now", "application id"),
        [(e.name, e.status, "yes" if e.is_running else "no", e.application_id) for e in entries],
    )
    for entry in entries:
        _print_entry(entry, out())
    out().print(Text(f"\n{summary(entries)}", style="bold"))


def _print_entry(entry: Entry, console: Console) -> None:
    parts = [part for part in entry.parts if part.changes]
    if not (parts or entry.note):
        return
    head = Text(f"\n{entry.name} ", style="bold")
    console.print(head.append(entry.status, style=_STYLES.get(entry.status, "default")))
    if entry.note:
        console.print(Text(f"  {entry.note}"))
    for part in parts:
        for change in part.changes:
            for line in change.words():
                console.print(Text(f"  {line}", style=_line_style(line)))
    if entry.fix:
        console.print(Text("  fix: ", style="bold").append(entry.fix, style="not bold"))


def _line_style(line: str) -> str:
    text = line.lstrip()
    return "red" if text.startswith("- ") else "green" if text.startswith("+ ") else "default"
