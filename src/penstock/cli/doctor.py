"""``penstock doctor``: check everything that a program needs before it can run."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

import confluent_kafka
import typer
from rich.text import Text

from penstock.cli.connection import BootstrapOption, connect
from penstock.cli.output import JsonOption, out, print_json
from penstock.errors import PenstockError
from penstock.extras import EXTRAS, PURPOSES, install_command, missing_packages
from penstock.kafka import broker_registry
from penstock.kafka.broker_folder import free_port
from penstock.kafka.broker_registry import find_project_broker
from penstock.kafka.distribution import KAFKA_VERSION, installed
from penstock.kafka.java import VECTOR_MODULE, find_java
from penstock.kafka.machine import cache_folder, environment

_GIB = 1024**3
_SIGNS = {"ok": ("✓", "green"), "warn": ("!", "yellow"), "fail": ("✗", "red")}


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check, and what the user can do if it is not ``ok``."""

    name: str
    state: Literal["ok", "warn", "fail"]
    found: str
    fix: str | None = None


def doctor(bootstrap: BootstrapOption = None, as_json: JsonOption = False) -> None:
    """Check Python, Java, Spark, extras, Kafka, ports and disk; exit 1 if something is missing."""
    checks = [_look(name, look) for name, look in _LOOKS.items()]
    checks.append(_look("broker", lambda: _broker(bootstrap)))
    if as_json:
        print_json([asdict(check) for check in checks])
    else:
        for check in checks:
            _print(check)
    if any(check.state == "fail" for check in checks):
        raise typer.Exit(1)


def _extras() -> Check:
    """Report which extras are installed; a missing extra is not an error."""
    missing = [extra for extra in EXTRAS if missing_packages(extra)]
    there = [extra for extra in EXTRAS if extra not in missing]
    found = f"with {', '.join(there) or 'none'}"
    if not missing:
        return Check("extras", "ok", found)
    without = "; ".join(f"{extra} ({PURPOSES[extra]})" for extra in missing)
    fix = f"only if you need them: {install_command(*missing)}"
    return Check("extras", "ok", f"{found}; without {without}", fix)


def _look(name: str, look: Callable[[], Check]) -> Check:
    try:
        return look()
    except PenstockError as error:
        return Check(name, "fail", error.message, error.fix)


def _python() -> Check:
    oldest, running = (3, 11), sys.version_info[:3]
    found = f"{'.'.join(map(str, running))} ({sys.executable})"
    if running < oldest:
        return Check("python", "fail", found, "use Python 3.11 or newer")
    return Check("python", "ok", found)


def _java() -> Check:
    java = find_java()
    found = f"{java.version} ({java.origin}: {java.home})"
    if java.modules is not None and VECTOR_MODULE not in java.modules:
        found += f", without {VECTOR_MODULE}: Spark is started through a wrapper"
    return Check("java", "ok", found)


def _spark() -> Check:
    try:
        release = version("pyspark")
    except PackageNotFoundError:
        return Check("spark", "fail", "pyspark is not installed", install_command("spark"))
    # Imported in a process of its own, since an import that fails halfway could break this one.
    done = subprocess.run(
        [sys.executable, "-c", "import pyspark.sql"], env=environment(), capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return Check(
            "spark", "fail", f"pyspark {release} cannot be imported: {reason}",
            "pip install --force-reinstall pyspark",
        )  # fmt: skip
    if not release.startswith(("3.5", "4.")):
        return Check("spark", "warn", f"pyspark {release}", "Penstock runs on PySpark 3.5 to 4.3")
    return Check("spark", "ok", f"pyspark {release}")


def _client() -> Check:
    name = f"confluent-kafka {version('confluent-kafka')}"
    return Check("client", "ok", f"{name}, librdkafka {confluent_kafka.libversion()[0]}")


def _kafka() -> Check:
    distribution = installed()
    if distribution is None:
        return Check(
            "kafka", "warn", f"Kafka {KAFKA_VERSION} is not in {cache_folder()}",
            "it is downloaded (45 MB) when a broker starts for the first time:"
            " penstock broker start",
        )  # fmt: skip
    return Check("kafka", "ok", f"Kafka {KAFKA_VERSION} in {distribution.folder}")


def _ports() -> Check:
    return Check("ports", "ok", f"loopback has free ports, such as {free_port()}")


def _disk() -> Check:
    folders = {Path(tempfile.gettempdir()), _existing(cache_folder()), Path.cwd()}
    free = {folder: shutil.disk_usage(folder).free for folder in folders}
    tightest = min(free, key=lambda folder: free[folder])
    found = f"{free[tightest] / _GIB:.1f} GiB free in {tightest}"
    if free[tightest] < 0.5 * _GIB:
        return Check("disk", "fail", found, "make room: records, state and shuffles need it")
    if free[tightest] < 5 * _GIB:
        return Check("disk", "warn", found, "make room before large topics are processed")
    return Check("disk", "ok", found)


def _broker(bootstrap: str | None) -> Check:
    if bootstrap is not None:
        cluster = connect(bootstrap, None, 3.0).cluster()
        return Check("broker", "ok", f"{bootstrap} answers, {len(cluster.brokers)} brokers")
    folder = find_project_broker()
    if folder is None:
        return Check("broker", "ok", "none in this project; programs start a private one")
    status = broker_registry.status(folder.root)
    if status.is_answering:
        return Check("broker", "ok", f"{status.bootstrap_servers} answers")
    state = "does not answer" if status.is_running else "is stopped"
    return Check("broker", "warn", f"the broker in {folder.root} {state}", "penstock broker start")


def _existing(folder: Path) -> Path:
    return next(path for path in (folder, *folder.parents) if path.exists())


def _print(check: Check) -> None:
    sign, colour = _SIGNS[check.state]
    line = Text(f"{sign} ", style=colour).append(f"{check.name:<8}", style="bold not dim default")
    out().print(line.append(check.found, style="not bold default"), soft_wrap=True)
    if check.fix is not None:
        out().print(Text(f"  fix: {check.fix}", style=colour), soft_wrap=True)


_LOOKS: dict[str, Callable[[], Check]] = {
    "python": _python,
    "java": _java,
    "spark": _spark,
    "extras": _extras,
    "client": _client,
    "kafka": _kafka,
    "ports": _ports,
    "disk": _disk,
}
