"""A private copy of package and tests, in which one fault at a time is planted."""

from __future__ import annotations

import compileall
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import IO, Any

from tests.mutants.faults import Fault
from tests.mutants.in_pytest import PIPES, ROOT
from tests.mutants.suites import Area, Step

PROJECT = Path(__file__).resolve().parents[2]
_COPIED = ("src", "tests", "docs", "examples", "pyproject.toml", "CHANGELOG.md", "README.md")
_PYTEST = (
    "-m", "pytest", "-x", "-q", "-rf", "--no-header", "--tb=no", "-p", "no:randomly",
    "-p", "no:cacheprovider", "-p", "tests.mutants.in_pytest",
)  # fmt: skip
#: So long may a call of pytest take. It is for tests that wait for what never comes.
_MOST_SECONDS = 1800
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
#: Exit codes of pytest that say something about the tests.
_PASSED, _TESTS_FAILED, _INTERRUPTED, _NOT_CONFIGURED = 0, 1, 2, 4


class Verdict(Enum):
    """What the tests said about a fault."""

    NOTICED = "noticed"
    TIMED_OUT = "timed out"
    SURVIVED = "survived"


@dataclass(frozen=True)
class Result:
    """What became of one fault. ``by`` names the test that failed."""

    verdict: Verdict
    seconds: float
    by: str = ""


class Sandbox:
    """Holds the copy, and a pytest process that has collected the tests of one area."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="penstock-mutants-"))
        self.root = self._folder / "project"
        self.root.mkdir()
        ignored = shutil.ignore_patterns("__pycache__", ".hypothesis")
        for name in _COPIED:
            source = PROJECT / name
            if source.is_dir():
                shutil.copytree(source, self.root / name, ignore=ignored)
            elif source.exists():
                shutil.copy(source, self.root / name)
        shared = PROJECT.parent / "shared"
        if shared.exists():
            # Recorded cases are looked for beside the project.
            (self._folder / "shared").symlink_to(shared.resolve())
        # Compared by content: two versions of a file may have the same size and time.
        mode = PycInvalidationMode.CHECKED_HASH
        compileall.compile_dir(str(self.root), quiet=2, invalidation_mode=mode)
        self._collected: _Collected | None = None

    def use(self, area: Area, durations: dict[str, float] | None = None) -> dict[str, float]:
        """Collect the tests of an area; return how long each takes without a fault.

        Args:
            area: What faults will be planted in.
            durations: What another copy has found out. Without it all tests are run.
        """
        if self._collected is not None:
            self._collected.close()
        self._collected = _Collected(self, area)
        if durations is not None:
            self._collected.ask({"durations": durations})
            return durations
        answer = self._collected.ask({})
        if answer["verdict"] != Verdict.SURVIVED.value:
            raise SystemExit(f"mutants: without a fault this fails: {answer.get('by')}")
        found: dict[str, float] = answer["durations"]
        return found

    def close(self) -> None:
        if self._collected is not None:
            self._collected.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def try_fault(self, fault: Fault, name: str) -> Result:
        """Plant a fault, run the tests until one fails, and take the fault out."""
        assert self._collected is not None
        path = self.root / "src" / name
        source = path.read_text(encoding="utf-8")
        planted = fault.planted_in(source)
        # Also for processes that tests start.
        path.write_text(planted, encoding="utf-8")
        area = self._collected.area
        steps = area.steps
        try:
            if fault.outermost:
                request = {"source": planted, "file": str(path), "function": fault.outermost}
                answer = self._collected.ask(request)
                if answer["verdict"] == Verdict.SURVIVED.value:
                    # What runs while modules are imported has run without the fault.
                    steps = steps[:1]
                elif answer["verdict"] != "not planted":
                    verdict = Verdict(answer["verdict"])
                    return Result(verdict, answer["seconds"], answer.get("by", ""))
            result = self._imported(steps)
            if result.verdict is Verdict.SURVIVED and area.on_spark:
                return self._imported((area.on_spark,))
            return result
        finally:
            path.write_text(source, encoding="utf-8")

    def _imported(self, steps: tuple[Step, ...]) -> Result:
        """Run tests in new interpreters, which import the fault."""
        began = time.monotonic()
        by, verdict = "", Verdict.SURVIVED
        for step in steps:
            process = self.start(step)
            try:
                output, _ = process.communicate(timeout=_MOST_SECONDS)
                code = process.returncode
            except subprocess.TimeoutExpired:
                verdict, by = Verdict.TIMED_OUT, " ".join(step)
                break
            finally:
                end(process)
            if code in (_TESTS_FAILED, _INTERRUPTED, _NOT_CONFIGURED):
                failed = _FAILED.search(output)
                verdict, by = Verdict.NOTICED, failed[1] if failed else "what imports the fault"
                break
            if code != _PASSED:
                raise SystemExit(f"mutants: {' '.join(step)} cannot be run\n{output}")
        return Result(verdict, time.monotonic() - began, by)

    def start(
        self, arguments: Step, pipes: tuple[int, ...] = (), output: IO[str] | int = subprocess.PIPE
    ) -> subprocess.Popen[str]:
        """Start pytest in the copy, with the copy of the package."""
        environment = os.environ | {
            "PYTHONPATH": f"{self.root / 'src'}{os.pathsep}{self.root}",
            # What pytest makes of tests is worth keeping.
            "PYTHONDONTWRITEBYTECODE": "",
            ROOT: str(self.root),
        }
        if pipes:
            environment[PIPES] = " ".join(map(str, pipes))
        return subprocess.Popen(
            [sys.executable, *_PYTEST, *arguments], cwd=self.root, env=environment, text=True,
            stdout=output, stderr=subprocess.STDOUT, start_new_session=True, pass_fds=pipes,
        )  # fmt: skip


class _Collected:
    """A pytest process that runs its tests in a fork for every request (``in_pytest``)."""

    def __init__(self, sandbox: Sandbox, area: Area) -> None:
        self.area = area
        self._log = (sandbox.root / "pytest.txt").open("w+")
        their_requests, mine = os.pipe()
        answers, their_answers = os.pipe()
        pipes = (their_requests, their_answers)
        self._process = sandbox.start(area.paths, pipes, self._log)
        for pipe in pipes:
            os.close(pipe)
        self._requests, self._answers = os.fdopen(mine, "w"), os.fdopen(answers)

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        with contextlib.suppress(BrokenPipeError):
            print(json.dumps(request), file=self._requests, flush=True)
        line = self._answers.readline()
        if not line:
            self._log.seek(0)
            raise SystemExit(f"mutants: pytest has ended\n{self._log.read()[-4000:]}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        end(self._process)
        with contextlib.suppress(BrokenPipeError):
            self._requests.close()
        self._answers.close()
        self._log.close()


def end(process: subprocess.Popen[str]) -> None:
    """End pytest and what it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
