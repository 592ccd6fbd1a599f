"""``penstock diff``: show what a new version of a program would write differently."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from penstock.cli.output import JsonOption, out, print_done, print_json, print_note
from penstock.cli.program import LoadedProgram, load_program
from penstock.cli.text_format import as_text
from penstock.testing.replay import ReplayedRecord, replay
from penstock.testing.sample_data import read_samples


@dataclass(frozen=True, slots=True)
class Change:
    """One record that only one version writes: ``-`` is the old one's, ``+`` the new one's."""

    sign: str
    topic: str
    key: Any
    value: Any
    timestamp: int


def diff(
    old: Annotated[str, typer.Argument(metavar="OLD.PY[:NAME]", help="The program as it runs.")],
    new: Annotated[str, typer.Argument(metavar="NEW.PY[:NAME]", help="The program to deploy.")],
    inputs: Annotated[
        Path,
        typer.Option(
            "--input", "-i", metavar="FILE", exists=True, dir_okay=False,
            help="Records as JSON lines: data.jsonl, or what penstock capture -o FILE.jsonl wrote.",
        ),
    ],
    ignore_time: Annotated[
        bool, typer.Option("--ignore-time", help="Records that differ in time only are equal.")
    ] = False,
    as_json: JsonOption = False,
) -> None:  # fmt: skip
    """Run two versions of a program on the same records and show what they write differently.

    Nothing is deployed, and neither Kafka nor Spark is needed. Both start without state. Records
    are compared by topic and key, in their order. Exit 0: the output is equal, 1: it differs.
    """
    before, after = (_output(load_program(program), inputs) for program in (old, new))
    changes = list(changes_between(before, after, ignore_time=ignore_time))
    if as_json:
        print_json(
            {
                "equal": not changes,
                "old": len(before),
                "new": len(after),
                "changes": [_to_json(change) for change in changes],
            }
        )
    else:
        _print(changes, len(before), len(after))
    raise typer.Exit(1 if changes else 0)


def _output(program: LoadedProgram, inputs: Path) -> list[ReplayedRecord]:
    # Each version encodes numbers with its own serdes; records that neither reads are left out.
    records = read_samples(inputs, program.topology)
    partitions: dict[str, int] = {}
    for record in records:
        partitions[record.topic] = max(partitions.get(record.topic, 1), (record.partition or 0) + 1)
    several = {topic: count for topic, count in partitions.items() if count > 1}
    return replay(program.topology, records, program.config, several)


def changes_between(
    old: Sequence[ReplayedRecord], new: Sequence[ReplayedRecord], *, ignore_time: bool = False
) -> Iterator[Change]:
    """Yield the records that one of the two lacks, key by key.

    Records of different keys have no order in Kafka, so theirs is not compared.
    """
    before, after = _by_key(old), _by_key(new)
    for place in sorted(before | after):
        left, right = before.get(place, []), after.get(place, [])
        marks, others = ([_mark(record, ignore_time) for record in side] for side in (left, right))
        for kind, a, b, c, d in SequenceMatcher(None, marks, others, autojunk=False).get_opcodes():
            if kind != "equal":
                yield from (Change("-", *record) for record in left[a:b])
                yield from (Change("+", *record) for record in right[c:d])


def _by_key(records: Sequence[ReplayedRecord]) -> dict[tuple[str, str], list[ReplayedRecord]]:
    found: dict[tuple[str, str], list[ReplayedRecord]] = {}
    for record in records:
        found.setdefault((record.topic, as_text(record.key)), []).append(record)
    return found


def _mark(record: ReplayedRecord, ignore_time: bool) -> tuple[str, int]:
    return as_text(record.value), 0 if ignore_time else record.timestamp


def _print(changes: Sequence[Change], before: int, after: int) -> None:
    topic = None
    for change in changes:
        if change.topic != topic:
            topic = change.topic
            out().print(Text(topic, style="bold"))
        style = "red" if change.sign == "-" else "green"
        line = f"  {change.sign} {as_text(change.key)}  {as_text(change.value)}"
        out().print(Text(line, style=style), soft_wrap=True)
    if changes:
        removed = sum(change.sign == "-" for change in changes)
        print_note(
            f"{removed} of {before} records of the old version are gone,"
            f" {len(changes) - removed} of {after} of the new one are new"
        )
    else:
        print_done(f"both versions write the same {after} records")


def _to_json(change: Change) -> dict[str, Any]:
    return {name: getattr(change, name) for name in ("sign", "topic", "key", "value", "timestamp")}
