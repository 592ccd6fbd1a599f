"""Many random scripts in a row: ``python -m tests.fuzz --scripts 10000 --seed 1``."""

from __future__ import annotations

import logging
import sys
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field

from tests.fuzz.scripts.generate import generate
from tests.fuzz.scripts.language import Script
from tests.fuzz.scripts.run import Difference, RefusedError, difference
from tests.fuzz.scripts.shrink import shrunk

_SHOWN_EVERY_S = 5.0


@dataclass
class Outcome:
    """What became of a number of scripts."""

    agreed: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    #: The seed of the first script that differs, and the report on it.
    failed: int | None = None
    report: str = ""


def check(seeds: range, *, is_shown: bool = False) -> Outcome:
    """Run the scripts of seeds until one differs from the model or raises."""
    # Expressions fail on purpose, and are NULL then.
    logging.getLogger("penstock.sql.processing").setLevel(logging.CRITICAL + 1)
    outcome, shown_at, started = Outcome(), time.monotonic(), time.monotonic()
    for number, seed in enumerate(seeds):
        script = generate(seed)
        try:
            found = problem(script)
        except RefusedError as error:
            outcome.refused[str(error).split("\n", 1)[0]] += 1
            continue
        if found is not None:
            outcome.failed, outcome.report = seed, report(seed, script)
            return outcome
        outcome.agreed += 1
        if is_shown and time.monotonic() - shown_at > _SHOWN_EVERY_S:
            shown_at = time.monotonic()
            rate = (number + 1) / (shown_at - started)
            print(f"fuzz: {number + 1} of {len(seeds)} scripts, {rate:.1f}/s", flush=True)
    return outcome


def problem(script: Script) -> Difference | None:
    """Return how a script differs; an exception of the engine is a difference, too."""
    try:
        return difference(script)
    except RefusedError:
        raise
    # Finding out what is raised is what this is for.
    except Exception:  # noqa: BLE001
        return Difference("either", "", traceback.format_exc(limit=-8))


def report(seed: int, script: Script) -> str:
    """Return the script, its records and the difference, as small as they can be made."""
    small = shrunk(script, _is_bad)
    found = problem(small)
    assert found is not None
    lines = [f"seed {seed}, on the engine of {found.engine}, query {found.query}:", small.sql()]
    lines.append(f"key format {small.key_format}, cache {small.cache}")
    for number, batch in enumerate(small.batches):
        before = " after a restart" if batch.restarts else ""
        before += " that loses its state" if batch.restarts and batch.loses_state else ""
        lines.append(f"batch {number}{before}:")
        for event in batch.events:
            value = None if event.value is None else dict(event.value)
            lines.append(f"  {event.topic} {event.key!r} {value} at {event.timestamp}")
    return "\n".join([*lines, found.text])


def _is_bad(script: Script) -> bool:
    try:
        return problem(script) is not None
    except RefusedError:
        return False


def run(scripts: int, seed: int) -> int:
    """Run the command and return its exit code: 1 if a script differs."""
    started = time.monotonic()
    # Seeds far apart have no script in common.
    outcome = check(range(seed * 1_000_000, seed * 1_000_000 + scripts), is_shown=True)
    if outcome.failed is not None:
        print(outcome.report)
        return 1
    for text, times in outcome.refused.most_common():
        print(f"fuzz: refused {times} times: {text}", file=sys.stderr)
    seconds = time.monotonic() - started
    print(f"fuzz: {outcome.agreed} scripts agree with the model, {seconds:.0f} s")
    return 0
