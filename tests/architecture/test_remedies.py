"""Every error of a running application has a declared remedy: ``penstock.model.remedies``."""

from __future__ import annotations

from penstock.model.remedies import REMEDIES
from penstock.runtime.spark.worker.kafka_failures import CODES
from tests.docs.errors_page import raised

#: What a running application is made of: its runtime, its stores, and its clients.
PARTS = (
    "kernel/", "processor/", "registry/", "runtime/settings", "runtime/spark/driver/",
    "runtime/spark/exchange/", "runtime/spark/replica/", "runtime/spark/standby/",
    "runtime/spark/worker/", "state/",
)  # fmt: skip
CLIENTS = ("admin", "clients", "error_table", "java_settings", "refusals", "topic_reader")


def codes() -> dict[str, str]:
    """Every code that is written out there, and a file that raises it."""
    parts = (*PARTS, *(f"kafka/{name}" for name in CLIENTS))
    return {each.code: each.file for each in raised() if each.file.startswith(parts)}


def test_every_code_of_a_running_application_has_a_remedy() -> None:
    """Somebody has thought about whether it passes by itself, or only the user can decide."""
    assert {code: file for code, file in codes().items() if code not in REMEDIES} == {}


def test_no_remedy_is_declared_for_a_code_that_nobody_raises() -> None:
    """A code that was renamed would fall back to the handler, and nobody would notice."""
    known = {*CODES.values(), *(each.code for each in raised())}
    assert sorted(REMEDIES.keys() - known) == []
