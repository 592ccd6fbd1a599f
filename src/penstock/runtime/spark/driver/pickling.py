"""Pickles an application for the workers, with user code that they cannot import.

A worker is a fresh interpreter. It finds installed packages and what ``PYTHONPATH`` names, but not
a module that lies beside the user's program; functions and classes of such modules are pickled
whole, as those of the program itself are.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import cache
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any

import cloudpickle

from penstock.errors import StreamsError
from penstock.kafka.machine import environment
from penstock.runtime.spark.driver.unpicklable import culprit
from penstock.topology.graph import Graph

#: Modules are registered for the whole process, in which other applications may start, too.
_registering = threading.Lock()


def packed(content: Any) -> bytes:
    """Return the pickle of a value, with all code that a worker needs to load it."""
    with _registering, _by_value():
        try:
            data: bytes = cloudpickle.dumps(content)
        except Exception as error:
            what, way, at = culprit(content)
            because = f" because of {way}" if way else ""
            raise StreamsError(
                "not-portable",
                f"{what} cannot be sent to Spark's workers{because}: {error}",
                fix="make what functions use (clients, locks, files) inside the function or in a"
                " processor's init, instead of outside",
                at=at,
            ) from error
    return data


def check_portable(graph: Graph) -> None:
    """Refuse a program whose functions or serdes cannot be sent to workers, before Spark starts.

    Raises:
        StreamsError: ``not-portable``, with the node, what it uses, and its line.
    """
    packed(graph)


@contextlib.contextmanager
def _by_value() -> Iterator[None]:
    registered = []
    known = cloudpickle.list_registry_pickle_by_value()
    modules = [module for module in sys.modules.values() if hasattr(module, "__name__")]
    for module in modules:
        if module.__name__ not in known and _stays(module):
            cloudpickle.register_pickle_by_value(module)
            registered.append(module)
    try:
        yield
    finally:
        for module in registered:
            cloudpickle.unregister_pickle_by_value(module)


def _stays(module: ModuleType) -> bool:
    """Tell whether a new interpreter would not find this file under the module's name."""
    file = getattr(module, "__file__", None)
    if not file or module.__name__ == "__main__" or module.__name__.startswith("penstock"):
        return False
    if sys.modules.get(module.__name__) is not module:
        # The name of some compiled modules lacks their package, so they cannot be found by it.
        return False
    return not _is_found(module.__name__.partition(".")[0])


@cache
def _is_found(top_level: str) -> bool:
    if top_level in sys.stdlib_module_names:
        return True
    try:
        return PathFinder.find_spec(top_level, list(fresh_path())) is not None
    except (ImportError, ValueError):
        return False


@cache
def fresh_path() -> tuple[str, ...]:
    """Return the search path of a new interpreter, without its start folder; found once."""
    program = "import json, sys; print(json.dumps(sys.path[1:]))"
    run = subprocess.run(
        [sys.executable, "-c", program], env=environment(), capture_output=True, text=True,
        check=True, timeout=60,
    )  # fmt: skip
    return tuple(json.loads(run.stdout))
