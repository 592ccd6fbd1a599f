"""Finds what differs between a case's golden and its outcome."""

from __future__ import annotations

import difflib
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock import errors
from tests.oracle.run import Failure, Outcome
from tests.oracle.values import json_text

#: What is compared unless ``--only`` says less; each counts where the golden has it.
ASPECTS = ("exception", "describe", "outputs", "side_effects", "stores")
#: What ``--strict`` adds.
STRICT_ASPECTS = ("order", "internal_topics")

#: Java's exception for each of ours; the nearest class in the method resolution order decides.
JAVA_EXCEPTIONS: dict[type[BaseException], str] = {
    errors.TopologyError: "TopologyException",
    errors.StreamsError: "StreamsException",
    errors.ConfigError: "ConfigException",
    errors.SerializationError: "SerializationException",
    errors.InvalidArgumentError: "IllegalArgumentException",
    errors.NullArgumentError: "NullPointerException",
    errors.InvalidStateError: "IllegalStateException",
    errors.UnsupportedOperationError: "UnsupportedOperationException",
}

_READABLE = ("kv", "timestamped_kv", "window", "timestamped_window", "session", "versioned_kv")
_DIFF_LINES = 24
_SHOWN_CHARS = 400


@dataclass(frozen=True, slots=True)
class Difference:
    """One way in which a case disagrees, ready to print."""

    aspect: str
    text: str


def compare(
    golden: Mapping[str, Any], outcome: Outcome, aspects: tuple[str, ...]
) -> list[Difference]:
    """Gives all differences; an unexpected failure hides what could not be computed after it."""
    differences = []
    failure = _compare_failure(golden.get("exception"), outcome.failure)
    if failure is not None and ("exception" in aspects or _spoils(golden, outcome, aspects)):
        differences.append(Difference("exception", failure))
    for aspect in aspects:
        check = _CHECKS.get(aspect)
        text = None if check is None else check(golden, outcome)
        if text is not None:
            differences.append(Difference(aspect, text))
    return differences


def _spoils(golden: Mapping[str, Any], outcome: Outcome, aspects: tuple[str, ...]) -> bool:
    """Tells whether an unexpected failure came too early for an aspect to be compared at all."""
    if not _was_unexpected(golden, outcome):
        return False
    return aspects != ("describe",) or outcome.describe is None


def java_name(error: BaseException) -> str:
    """Gives the Java name of an error's class, or the Python name if it has none."""
    known = (JAVA_EXCEPTIONS[kind] for kind in type(error).__mro__ if kind in JAVA_EXCEPTIONS)
    return next(known, type(error).__name__)


def _compare_failure(expected: Mapping[str, Any] | None, failure: Failure | None) -> str | None:
    if failure is None:
        return None if expected is None else f"expected {_expected_text(expected)}, none raised"
    if expected is None:
        return f"unexpected {_failure_text(failure)}\n{_where(failure.error)}"
    got = (failure.phase, java_name(failure.error), failure.input_index)
    if got == (expected["phase"], expected["class"], expected.get("input_index")):
        return None
    found = f"{_failure_text(failure)}\n{_where(failure.error)}"
    return f"expected {_expected_text(expected)}\n     got {found}"


def _expected_text(expected: Mapping[str, Any]) -> str:
    index = f" at input {expected['input_index']}" if "input_index" in expected else ""
    message = _cut(expected["message"].partition("\n")[0])
    return f"{expected['phase']} {expected['class']}{index}: {message}"


def _failure_text(failure: Failure) -> str:
    index = "" if failure.input_index is None else f" at input {failure.input_index}"
    kind, java = type(failure.error).__name__, java_name(failure.error)
    name = kind if kind == java else f"{kind} ({java})"
    return f"{failure.phase} {name}{index}: {_cut(str(failure.error))}"


def _where(error: BaseException) -> str:
    """Gives the innermost lines of code of the error and of its causes."""
    lines: list[str] = []
    cause: BaseException | None = error
    while cause is not None and len(lines) < 6:
        frames = traceback.extract_tb(cause.__traceback__)[-2:]
        lines += [f"  at {frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
        cause = cause.__cause__ or cause.__context__
        if cause is not None:
            lines.append(f"  from {type(cause).__name__}: {_cut(str(cause))}")
    return "\n".join(lines)


def _describe(golden: Mapping[str, Any], outcome: Outcome) -> str | None:
    if "describe" not in golden or outcome.describe in (None, golden["describe"]):
        return None
    assert outcome.describe is not None
    expected, got = golden["describe"].splitlines(), outcome.describe.splitlines()
    lines = list(difflib.unified_diff(expected, got, "expected", "got", n=1, lineterm=""))
    if not lines:
        return "only line ends differ"
    cut = [f"... {len(lines) - _DIFF_LINES} more lines"] if len(lines) > _DIFF_LINES else []
    return "\n".join(lines[2 : _DIFF_LINES + 2] + cut)


def _outputs(golden: Mapping[str, Any], outcome: Outcome) -> str | None:
    if "outputs" not in golden or outcome.outputs is None or _was_unexpected(golden, outcome):
        return None
    expected, got = _by_topic(golden["outputs"]), _by_topic(outcome.outputs)
    for topic in expected | got:
        text = _first_difference(expected.get(topic, []), got.get(topic, []))
        if text is not None:
            return f"topic {topic!r} {text}"
    return None


def _order(golden: Mapping[str, Any], outcome: Outcome) -> str | None:
    if "outputs" not in golden or outcome.outputs is None or _was_unexpected(golden, outcome):
        return None
    if _outputs(golden, outcome) is not None:
        return None
    expected = [_topic_and_record(record) for record in golden["outputs"]]
    return _first_difference(expected, [_topic_and_record(record) for record in outcome.outputs])


def _by_topic(records: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    topics: dict[str, list[str]] = {}
    for record in records:
        topics.setdefault(record["topic"], []).append(record_text(record))
    return topics


def _topic_and_record(record: Mapping[str, Any]) -> str:
    return f"{record['topic']}: {record_text(record)}"


def record_text(record: Mapping[str, Any]) -> str:
    """Gives one line per record; equal lines mean equal records, types included."""
    window = record.get("window")
    span = f"@[{window['start']},{window['end']})" if window else ""
    headers = record.get("headers")
    tail = f" headers={json_text(headers)}" if headers else ""
    pair = f"{json_text(record['key'])}{span} -> {json_text(record['value'])}"
    return f"{pair} ts={record['timestamp']}{tail}"


def _first_difference(expected: list[str], got: list[str]) -> str | None:
    if expected == got:
        return None
    pairs = zip(expected, got, strict=False)
    same = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(expected), len(got)))
    wanted = expected[same] if same < len(expected) else "(no more)"
    found = got[same] if same < len(got) else "(no more)"
    sizes = f"#{same} ({len(expected)} expected, {len(got)} got)"
    return f"{sizes}\n  expected {_cut(wanted)}\n       got {_cut(found)}"


def _side_effects(golden: Mapping[str, Any], outcome: Outcome) -> str | None:
    if _was_unexpected(golden, outcome) or outcome.failure is not None:
        return None
    expected = [json_text(each) for each in golden.get("side_effects", [])]
    return _first_difference(expected, [_effect_text(each) for each in outcome.side_effects])


def _effect_text(effect: Mapping[str, Any]) -> str:
    try:
        return json_text(effect)
    except TypeError:
        return repr(effect)


def _stores(golden: Mapping[str, Any], outcome: Outcome) -> str | None:
    if "stores" not in golden or outcome.stores is None:
        return None
    texts = list(store_differences(golden["stores"], outcome.stores))
    return "\n".join(texts) if texts else None


def store_differences(
    expected: Mapping[str, Any], got: Mapping[str, Mapping[str, Any]]
) -> Iterator[str]:
    for name, wanted in expected.items():
        if name not in got:
            yield f"store {name!r} is missing"
        elif (text := _store_difference(wanted, got[name])) is not None:
            yield f"store {name!r} {text}"
    for name, found in got.items():
        # Suppression buffers and the like are not listed in goldens.
        if name not in expected and found["kind"] in _READABLE:
            yield f"store {name!r} ({found['kind']}) is not expected"


def _store_difference(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> str | None:
    if "unreadable" in wanted:
        return None
    if "opaque_entries" in wanted:
        counted = found.get("opaque_entries", len(found.get("entries", [])))
        if "unreadable" not in found and counted == wanted["opaque_entries"]:
            return None
        return f"has {wanted['opaque_entries']} entries expected, got {json_text(dict(found))}"
    if wanted["kind"] != found["kind"]:
        return f"kind {wanted['kind']} expected, got {found['kind']}"
    if "unreadable" in found:
        return f"cannot be read: {found['unreadable']}"
    if "opaque_entries" in found:
        # A golden lists no entries of an opaque store that is empty.
        extra = found["opaque_entries"] - len(wanted["entries"])
        return f"has {extra} entries more than expected" if extra else None
    entries = [[_effect_text(entry) for entry in side["entries"]] for side in (wanted, found)]
    return _first_difference(entries[0], entries[1])


def _internal_topics(golden: Mapping[str, Any], outcome: Outcome) -> str | None:
    counted = outcome.internal_topics
    if "internal_topics" not in golden or counted is None or outcome.failure is not None:
        return None
    expected = golden["internal_topics"]
    wrong = [
        f"{topic}: {expected.get(topic, 0)} records expected, got {counted.get(topic, 0)}"
        for topic in sorted(expected.keys() | counted.keys())
        if expected.get(topic, 0) != counted.get(topic, 0)
    ]
    return "\n".join(wrong) if wrong else None


def _was_unexpected(golden: Mapping[str, Any], outcome: Outcome) -> bool:
    return outcome.failure is not None and "exception" not in golden


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "..."


_CHECKS = {
    "describe": _describe,
    "outputs": _outputs,
    "order": _order,
    "side_effects": _side_effects,
    "stores": _stores,
    "internal_topics": _internal_topics,
}
