"""Runs one case in the library's test driver and collects what came out, as plain values."""

from __future__ import annotations

import base64
import re
import signal
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Literal

import penstock as ps
from penstock.model.record import Headers
from penstock.testing import BatchReport
from tests.oracle import options
from tests.oracle.build import SideEffects, build_topology
from tests.oracle.serdes import Codec, Span, codec, codec_name_of
from tests.oracle.stores import read_stores
from tests.pure_functions import declare_pure

#: How the test driver runs a case.
Engine = Literal["records", "columns"]
ENGINES: tuple[Engine, ...] = ("columns", "records")
_READERS = ("stream", "table", "global_table", "add_source", "global_store", "add_global_store")
_WRITERS = ("to", "add_sink")


@dataclass(frozen=True, slots=True)
class Failure:
    """The error that stopped a case, and when: ``build``, ``init``, ``run`` or ``read``."""

    phase: str
    error: BaseException
    input_index: int | None = None


@dataclass(slots=True)
class Outcome:
    """What a case made. None means that the case did not get that far."""

    describe: str | None = None
    outputs: list[dict[str, Any]] | None = None
    internal_topics: dict[str, int] | None = None
    stores: dict[str, dict[str, Any]] | None = None
    side_effects: SideEffects = field(default_factory=list)
    failure: Failure | None = None
    #: How each batch ran, if the case ran over columns.
    batches: list[BatchReport] = field(default_factory=list)


class CaseTimeout(BaseException):
    """A case ran for too long. No ``Exception``, so that no handler of the library eats it."""


def execute(
    case: Mapping[str, Any],
    *,
    timeout_s: float,
    describe_only: bool = False,
    engine: Engine = "records",
) -> Outcome:
    """Runs one case. Never raises: every error of the library becomes the outcome's failure."""
    outcome = Outcome()
    try:
        with time_limit(timeout_s):
            _execute(case, outcome, describe_only=describe_only, engine=engine)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001
        outcome.failure = outcome.failure or Failure("read", error)
    return outcome


def _execute(
    case: Mapping[str, Any], outcome: Outcome, *, describe_only: bool, engine: Engine
) -> None:
    with phase_of(outcome, "build"):
        topology = build_topology(case, outcome.side_effects)
        outcome.describe = str(topology.describe())
    if describe_only:
        return
    if engine == "columns":
        declare_pure(topology)
    with phase_of(outcome, "init"):
        wall_clock_ms = options.initial_wall_clock_ms(case)
        config = options.configuration(case)
        driver = ps.TopologyTestDriver(topology, config, wall_clock_ms, engine=engine)
    try:
        _run(case, driver, outcome)
    except BaseException:
        with suppress(Exception):
            driver.close()
        raise
    driver.close()


def _run(case: Mapping[str, Any], driver: ps.TopologyTestDriver, outcome: Outcome) -> None:
    captured = 0
    try:
        for index, each in enumerate(case["inputs"]):
            captured = len(driver.outputs()) if case.get("expect_exception") else 0
            with phase_of(outcome, "run", index):
                _pipe(case, driver, each)
    finally:
        # Of a record that fails, nothing counts as sent.
        records = driver.outputs()[:captured] if outcome.failure else driver.outputs()
        _keep_outputs(case, driver, records, outcome)
        outcome.batches = driver.batches
    outcome.stores = read_stores(case, driver)


@contextmanager
def phase_of(outcome: Outcome, phase: str, input_index: int | None = None) -> Iterator[None]:
    """Notes an error inside as the case's failure in that phase."""
    try:
        yield
    except BaseException as error:
        outcome.failure = Failure(phase, error, input_index)
        raise


def _pipe(case: Mapping[str, Any], driver: ps.TopologyTestDriver, each: Mapping[str, Any]) -> None:
    if "advance_wall_clock_ms" in each:
        driver.advance_wall_clock_time(each["advance_wall_clock_ms"])
    else:
        driver.pipe_bytes(*input_record(case, each))


def input_record(
    case: Mapping[str, Any], each: Mapping[str, Any]
) -> tuple[str, bytes | None, bytes | None, int, Headers]:
    """Gives topic, key, value, timestamp and headers of an input, in bytes."""
    op = _operation(case, _READERS, each["topic"])
    window = each.get("window")
    span = None if window is None else (window["start"], window["end"])
    key = _input_bytes(case, op, each, "key", span)
    value = _input_bytes(case, op, each, "value", None)
    headers = tuple((name, _utf8(text)) for name, text in each.get("headers", []))
    return each["topic"], key, value, each["timestamp"], headers


def _utf8(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


def _input_bytes(
    case: Mapping[str, Any],
    op: Mapping[str, Any],
    each: Mapping[str, Any],
    part: str,
    span: Span | None,
) -> bytes | None:
    if f"{part}_raw_base64" in each:
        return base64.b64decode(each[f"{part}_raw_base64"])
    value = each.get(part)
    if value is None:
        return None
    return _codec(case, op, part, value).encode(value, span)


def _codec(case: Mapping[str, Any], op: Mapping[str, Any], part: str, sample: Any) -> Codec:
    """Gives the codec that the operation declares, else the default serde, else a guess."""
    default = case.get("config", {}).get(f"default.{part}.serde")
    return codec(op.get(f"{part}_serde") or default or codec_name_of(sample))


def _operation(case: Mapping[str, Any], ops: tuple[str, ...], topic: str) -> Mapping[str, Any]:
    """Gives the first operation that reads or writes the topic; by extractor as a last resort."""
    candidates: list[Mapping[str, Any]] = [op for op in case["topology"] if op["op"] in ops]
    for op in candidates:
        names = op.get("topic", [])
        if topic == names or (isinstance(names, list) and topic in names):
            return op
    dynamic = (op for op in candidates if _may_name(op, topic))
    return next(dynamic, {})


def _may_name(op: Mapping[str, Any], topic: str) -> bool:
    if "pattern" in op:
        return re.fullmatch(op["pattern"], topic) is not None
    kind, _, prefix = op.get("topic_extractor", "").partition(":")
    return kind == "field" or (kind != "" and topic.startswith(prefix))


def _keep_outputs(
    case: Mapping[str, Any], driver: ps.TopologyTestDriver, records: list[Any], outcome: Outcome
) -> None:
    internal = [record.topic for record in records if driver.is_internal_topic(record.topic)]
    outcome.internal_topics = dict(Counter(internal))
    outcome.outputs = [
        decoded(case, record) for record in records if record.topic not in outcome.internal_topics
    ]


def decoded(case: Mapping[str, Any], record: Any) -> dict[str, Any]:
    """Gives an output record as goldens show it."""
    op = _operation(case, _WRITERS, record.topic)
    key, span = _decode(case, op, "key", record)
    value, _ = _decode(case, op, "value", record)
    shown = {"topic": record.topic, "key": key, "value": value, "timestamp": record.timestamp}
    if span is not None:
        shown["window"] = {"start": span[0], "end": span[1]}
    if record.headers:
        shown["headers"] = [[name, _text(data)] for name, data in record.headers]
    return shown


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode(errors="backslashreplace")


def _sample(case: Mapping[str, Any], topic: str, part: str) -> Any:
    """Gives what the golden has in that topic: it tells the type when no operation does."""
    outputs = case["golden"].get("outputs", [])
    same = (each[part] for each in outputs if each["topic"] == topic and each[part] is not None)
    return next(same, "")


def _decode(
    case: Mapping[str, Any], op: Mapping[str, Any], part: str, record: Any
) -> tuple[Any, Span | None]:
    data = getattr(record, part)
    if data is None:
        return None, None
    sample = None if f"{part}_serde" in op else _sample(case, record.topic, part)
    try:
        return _codec(case, op, part, sample).decode(data)
    except Exception:  # noqa: BLE001
        return f"<undecodable bytes {data.hex()}>", None


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Ends what is inside with ``CaseTimeout``; only in the main thread, where signals arrive."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise CaseTimeout(f"still running after {seconds:g} s")

    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
