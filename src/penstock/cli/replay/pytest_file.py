"""The text of a test that ``penstock capture`` writes: the input, and the output that it pins."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from penstock.runtime.local.outbox import InputRecord
from penstock.testing.replay import ReplayedRecord

_TEMPLATE = '''\
"""{title}

Written by: {command}
The program starts without state here. If a change of its output is meant, write the file again.
"""

from pathlib import Path

from penstock.cli.program import load_program
from penstock.testing.replay import replay

APP = Path(__file__).parent / {app!r}
PARTITIONS = {partitions!r}

# Topic, key, value, timestamp, headers, partition.
INPUT = [
{inputs}]

# Topic, key, value, timestamp.
OUTPUT = [
{outputs}]


def test_output_is_what_was_captured() -> None:
    program = load_program({target})
    assert replay(program.topology, INPUT, program.config, PARTITIONS) == OUTPUT
'''


def pytest_file(
    file: Path,
    app: str,
    command: str,
    records: Sequence[InputRecord],
    output: Sequence[ReplayedRecord],
    partitions: Mapping[str, int],
) -> str:
    """Return a whole module. ``app`` is ``app.py`` or ``app.py:name``."""
    path, colon, name = app.partition(":")
    topics = " and ".join(dict.fromkeys(record.topic for record in records))
    return _TEMPLATE.format(
        title=f"{len(records)} records of {topics}, and what {Path(path).name} makes of them.",
        command=command,
        app=os.path.relpath(path, file.absolute().parent),
        partitions=dict(partitions),
        target=f'f"{{APP}}:{name}"' if colon else "str(APP)",
        inputs=_lines(records),
        outputs=_lines(output),
    )


def _lines(records: Sequence[tuple[object, ...]]) -> str:
    return "".join(f"    {tuple(record)!r},\n" for record in records)


def sample_lines(records: Sequence[InputRecord]) -> str:
    """Return the records as lines of ``data.jsonl``, which ``--demo`` and ``diff`` read."""
    return "".join(json.dumps(_sample(record), ensure_ascii=False) + "\n" for record in records)


def _sample(record: InputRecord) -> dict[str, object]:
    data: dict[str, object] = {"topic": record.topic, "time_ms": record.timestamp}
    for name, value in (("key", record.key), ("value", record.value)):
        try:
            data[name] = None if value is None else value.decode()
        except UnicodeDecodeError:
            assert value is not None
            data[f"{name}_hex"] = value.hex()
    if record.partition is not None:
        data["partition"] = record.partition
    return data
