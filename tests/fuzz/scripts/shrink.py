"""Makes a script that differs smaller, as long as it still differs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.fuzz.scripts.language import END_KEY, Batch, Query, Script

_MOST_TRIES = 400


def shrunk(script: Script, is_bad: Callable[[Script], bool]) -> Script:
    """Return the smallest script found by leaving out one thing after another."""
    tries = 0
    is_smaller = True
    while is_smaller and tries < _MOST_TRIES:
        is_smaller = False
        for candidate in _smaller(script):
            tries += 1
            if is_bad(candidate):
                script, is_smaller = candidate, True
                break
            if tries >= _MOST_TRIES:
                break
    return script


def _smaller(script: Script) -> Iterator[Script]:
    batches = script.batches
    for number in range(len(batches)):
        if batches[number].change is None and not _is_end(batches[number]):
            yield replace(script, batches=batches[:number] + batches[number + 1 :])
    if len(script.queries) > 1 and not any(batch.change for batch in batches):
        yield replace(script, queries=script.queries[:1])
    for number, batch in enumerate(batches):
        for other in () if _is_end(batch) else _smaller_batch(batch):
            yield replace(script, batches=(*batches[:number], other, *batches[number + 1 :]))
    if not any(batch.change for batch in batches):
        for query in _smaller_query(script.queries[-1]):
            yield replace(script, queries=(*script.queries[:-1], query))


def _is_end(batch: Batch) -> bool:
    """Whether the batch only moves time on, so that records stop waiting for a partner."""
    return any(event.key == END_KEY for event in batch.events)


def _smaller_batch(batch: Batch) -> Iterator[Batch]:
    if batch.change is not None:
        yield replace(batch, change=None)
    if batch.restarts:
        yield replace(batch, restarts=False)
    events = batch.events
    if len(events) > 3:
        half = len(events) // 2
        yield replace(batch, events=events[:half])
        yield replace(batch, events=events[half:])
    for number in range(len(events)):
        yield replace(batch, events=events[:number] + events[number + 1 :])


def _smaller_query(query: Query) -> Iterator[Query]:
    if query.where is not None:
        yield replace(query, where=None)
    if query.having is not None:
        yield replace(query, having=None)
    for name in ("items", "aggregates"):
        columns = getattr(query, name)
        if len(columns) > 1:
            yield replace(query, **{name: columns[:1]})
            yield replace(query, **{name: columns[1:]})
