"""A pytest plugin that runs the collected tests once per fault, each time in a fork of its own.

What takes longest, to import and to collect, is done once. A fork then replaces the code of the
faulty function, runs the tests that are fast first, and ends at the first one that fails.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import resource
import signal
import time
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest
from _pytest.main import pytest_runtestloop as run_tests
from hypothesis import Phase, settings

import penstock

#: Names the folder that the package must come from.
ROOT = "PENSTOCK_MUTANTS_ROOT"
#: Names the file descriptors of requests and answers; without it the tests run as usual.
PIPES = "PENSTOCK_MUTANTS_PIPES"
#: The exit code if it comes from elsewhere, or if there are no tests to run.
WRONG_PACKAGE = 70
#: How much longer than without a fault a test may take, in seconds of the processor.
_SLOWER, _MORE_SECONDS = 5, 10
#: A test that waits uses no processor: so long may one of them take, and all together.
_MOST_WAITING, _MOST_SECONDS = 180, 1800
_MOST_MEMORY = 8 << 30


class CannotPlantError(Exception):
    """Raised if a fault needs an interpreter that imports it."""


def pytest_configure() -> None:
    found, root = Path(penstock.__file__).resolve(), Path(os.environ[ROOT]).resolve()
    if root not in found.parents:
        pytest.exit(f"penstock is imported from {found}, not from {root}", WRONG_PACKAGE)


def pytest_sessionstart() -> None:
    """Stop at the first counterexample, and use none that another fault has left behind.

    pytest calls this after the tests have chosen their profile and before it imports a test.
    """
    phases = [Phase.explicit, Phase.generate]
    settings.register_profile("mutants", settings(), database=None, phases=phases)
    settings.load_profile("mutants")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Answer requests of ``sandbox``, one JSON object per line, until there are no more."""
    if PIPES not in os.environ:
        return None
    reading, writing = map(int, os.environ[PIPES].split())
    forks = _Forks(session)
    with os.fdopen(reading) as requests, os.fdopen(writing, "w") as answers:
        for request in map(json.loads, requests):
            print(json.dumps(forks.run(request)), file=answers, flush=True)
    return True


class _Forks:
    """Runs the tests of a session in forks. The first fork has no fault and measures each test."""

    def __init__(self, session: pytest.Session) -> None:
        self._session = session
        self._seconds: dict[str, float] = {}
        #: How many faults each test has noticed so far.
        self._noticed: Counter[str] = Counter()

    def run(self, request: dict[str, Any]) -> dict[str, Any]:
        if "durations" in request:
            self._learn(request["durations"])
            return {}
        began = time.monotonic()
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.setsid()
            os.close(reading)
            self._run_tests(request, writing)
        os.close(writing)
        answer = _answer(reading, child, began + _MOST_SECONDS)
        if "durations" in answer:
            self._learn(answer["durations"])
        self._noticed[answer.get("by", "")] += 1
        return {"verdict": "timed out", **answer, "seconds": time.monotonic() - began}

    def _learn(self, durations: dict[str, float]) -> None:
        self._seconds = durations
        self._session.items.sort(key=lambda item: durations.get(item.nodeid, 1.0))

    def _run_tests(self, request: dict[str, Any], writing: int) -> None:
        watch = _Watch(writing, self._seconds)
        try:
            self._session.config.pluginmanager.register(watch)
            self._session.config.option.maxfail = 1
            resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
            if request:
                replace_code(request["source"], request["file"], request["function"])
                # The tests of its name first, then those that have noticed other faults.
                near = Path(request["file"]).stem.removesuffix("_columns")
                tests = self._session.items
                tests.sort(key=lambda test: (near not in test.nodeid, -self._noticed[test.nodeid]))
            run_tests(self._session)
            tell = {"verdict": "survived", "durations": watch.durations}
            watch.end(tell if not request else {"verdict": "survived"})
        except CannotPlantError:
            watch.end({"verdict": "not planted"})
        except BaseException as error:  # noqa: BLE001 - whatever it is, the fault was noticed
            watch.end({"verdict": "noticed", "by": watch.failed or repr(error)[:200]})


class _Watch:
    """Notes which test fails, and ends a test that uses far more time than it does by itself."""

    def __init__(self, writing: int, seconds: dict[str, float]) -> None:
        self.failed = ""
        self.durations: dict[str, float] = {}
        self._writing = writing
        self._seconds = seconds
        self._running = ""
        signal.signal(signal.SIGXCPU, self._too_long)
        signal.signal(signal.SIGALRM, self._too_long)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._running = nodeid
        used = int(time.process_time()) + 1
        more = self._seconds.get(nodeid, 60.0) * _SLOWER + _MORE_SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (used + int(more), resource.RLIM_INFINITY))
        signal.setitimer(signal.ITIMER_REAL, more + _MOST_WAITING)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.durations[report.nodeid] = self.durations.get(report.nodeid, 0.0) + report.duration
        if report.failed and not self.failed:
            self.failed = report.nodeid

    def _too_long(self, number: int, frame: FrameType | None) -> None:
        self.end({"verdict": "timed out", "by": self._running})

    def end(self, answer: dict[str, Any]) -> None:
        """Tell the parent and end the fork at once: nothing of pytest is cleaned up twice."""
        with os.fdopen(self._writing, "w") as file:
            file.write(json.dumps(answer))
        os._exit(0)


def _answer(reading: int, child: int, deadline: float) -> dict[str, Any]:
    """Wait for the answer of a fork, end it, and return what it said; nothing if it hangs."""
    os.set_blocking(reading, False)
    said = b""
    while time.monotonic() < deadline:
        try:
            part = os.read(reading, 1 << 20)
        except BlockingIOError:
            time.sleep(0.05)
            continue
        if not part:
            break
        said += part
    os.close(reading)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    answer: dict[str, Any] = json.loads(said) if said else {"by": "a fork that ended or hung"}
    return answer


def replace_code(source: str, file: str, function: str) -> None:
    """Give the functions of a module that is imported already the code of another source.

    Raises:
        CannotPlantError: no such function is there, or it needs other variables around it.
    """
    wanted = {
        (code.co_qualname, code.co_firstlineno): code
        for code in _codes(compile(source, file, "exec"))
        if code.co_qualname == function
    }
    planted = 0
    for each in gc.get_objects():
        # ``isinstance`` asks an object for its class, and a weak reference to what is gone raises.
        if type(each) is FunctionType and each.__code__.co_filename == file:
            code = wanted.get((each.__code__.co_qualname, each.__code__.co_firstlineno))
            if code is not None:
                if code.co_freevars != each.__code__.co_freevars:
                    raise CannotPlantError(function)
                each.__code__ = code
                planted += 1
    if not planted:
        raise CannotPlantError(function)


def _codes(code: CodeType) -> list[CodeType]:
    """Return the codes of classes and functions inside a code, at any depth."""
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    return [code, *(found for each in inner for found in _codes(each))]
