"""``penstock sql test``: run SQL tests in this process, and print a line for each of them."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer
from rich.progress import track
from rich.text import Text

from penstock.cli.output import err, out, print_json
from penstock.cli.sql.files import read_records, read_text
from penstock.errors import InvalidArgumentError, PenstockError
from penstock.sql import SqlEngine
from penstock.sql.functions.extensions import load_extensions
from penstock.testing.sql.script import ScriptTopics
from penstock.testing.sql.sections import sections_of, test_files
from penstock.testing.sql.session import TestSession


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of one test; ``problem`` is None if it passes."""

    file: Path
    name: str
    problem: str | None


@dataclass(frozen=True, slots=True)
class Setup:
    """The settings, variables and extensions of every test's engine."""

    settings: dict[str, str]
    variables: dict[str, str]
    extensions: Path | None

    def engine(self) -> SqlEngine:
        engine = SqlEngine(self.settings)
        if self.extensions is not None:
            load_extensions(self.extensions, engine.functions)
        names = {name.upper(): value for name, value in self.variables.items()}
        engine.catalog.variables.update(names)
        return engine


def run_tests(
    paths: Sequence[Path],
    *,
    inputs: Path | None,
    outputs: Path | None,
    settings: dict[str, str],
    variables: dict[str, str],
    extensions: Path | None,
    as_json: bool,
) -> bool:
    """Run the tests, print a line for each and how many pass; return whether all pass."""
    # Tests contain records that cannot be decoded or computed, on purpose.
    logging.getLogger("penstock.sql").setLevel(logging.CRITICAL)
    setup = Setup(settings, variables, extensions)
    if inputs is not None and outputs is not None:
        if len(paths) != 1 or paths[0].is_dir():
            raise typer.BadParameter("--input and --output are for one script")
        verdicts = iter([_script_verdict(paths[0], inputs, outputs, setup)])
    else:
        verdicts = _file_verdicts(test_files(paths), setup)
    seen = []
    for verdict in verdicts:
        seen.append(verdict)
        _print(verdict, as_json=as_json)
    if not seen:
        raise InvalidArgumentError(
            "no-tests", f"there is no .sql file in {', '.join(map(str, paths))}"
        )
    failed = sum(verdict.problem is not None for verdict in seen)
    if not as_json:
        style = "red" if failed else "green"
        out().print(Text(f"{len(seen) - failed} of {len(seen)} tests pass", style=style))
    return not failed


def _file_verdicts(files: Sequence[Path], setup: Setup) -> Iterator[Verdict]:
    is_shown = len(files) > 1 and err().is_terminal
    for file in track(files, "testing", console=err(), transient=True, disable=not is_shown):
        for section in sections_of(read_text(file), file.stem):
            problem = TestSession(setup.engine(), file.parent).problem(section)
            yield Verdict(file, section.name, problem)


def _script_verdict(script: Path, inputs: Path, outputs: Path, setup: Setup) -> Verdict:
    topics = ScriptTopics(setup.engine())
    given, expected = read_records(inputs, "inputs"), read_records(outputs, "outputs")
    try:
        topics.execute(read_text(script))
        topics.feed(given)
        problems = topics.differences(expected)
    except PenstockError as error:
        problems = [str(error)]
    return Verdict(script, script.stem, "\n".join(problems) or None)


def _print(verdict: Verdict, *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "file": str(verdict.file),
                "test": verdict.name,
                "passes": verdict.problem is None,
                "problem": verdict.problem,
            },
            indent=False,
        )
        return
    mark = Text("✓ ", style="green") if verdict.problem is None else Text("✗ ", style="red")
    out().print(mark.append(f"{verdict.file.name}: {verdict.name}", style="default"))
    for line in (verdict.problem or "").splitlines():
        out().print(Text(f"    {line}"))
