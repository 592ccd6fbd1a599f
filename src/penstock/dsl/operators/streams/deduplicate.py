"""Drops repeated records. As data: ``penstock.topology.nodes.streams.deduplicate``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from penstock.dsl.operators.arity import check_arity
from penstock.dsl.operators.expression_fields import check_fields
from penstock.dsl.operators.topics.repartition import repartition_for_join
from penstock.dsl.options.deduplicated import Deduplicated
from penstock.dsl.plan.logical import Operator, PlannedStore
from penstock.dsl.plan.stream import Stream
from penstock.errors import InvalidArgumentError
from penstock.model.site import caller_site
from penstock.model.time.duration import Duration, to_ms
from penstock.serde.base import Serde
from penstock.serde.pair import PairSerde
from penstock.serde.serdes import Serdes, resolve_serde
from penstock.state.stores import Stores
from penstock.topology.nodes import Deduplicate

_PREFIX = "KSTREAM-DEDUPLICATE-"


def deduplicate_stream(
    stream: Stream,
    interval: Duration,
    options: Deduplicated[Any, Any, Any],
    id_selector: Callable[[Any, Any], Any] | None = None,
) -> Stream:
    """Forward the first record of each key, or of each key and id, within the interval.

    Equal keys have to meet in one task, so a stream whose key has changed is repartitioned.
    """
    interval_ms = _positive(interval)
    if id_selector is not None:
        check_arity("deduplicate_by_key_value", "id selector", id_selector, "key", "value")
        check_fields("deduplicate_by_key_value", id_selector, stream.key_serde, stream.value_serde)
    names = stream.graph.names
    name = names.given_or_new(options.name, _PREFIX)
    generated = names.new_store_name(_PREFIX)
    given = options.store_name or options.name
    stream = repartition_for_join(
        stream, given, resolve_serde(options.key), resolve_serde(options.value)
    )
    if given is None:
        stream.graph.note_generated(store=generated, changelog_topic=f"{generated}-changelog")
    store = _store(given or generated, interval_ms, _identities(stream, options, id_selector))
    make = partial(
        Deduplicate, interval_ms=interval_ms, store=store.name, id_selector=id_selector
    )  # fmt: skip
    return stream.then(Operator(name, make, adds=(store,), relaxes_null_keys=True))


def _store(name: str, interval_ms: int, identities: Serde[Any] | None) -> PlannedStore:
    # A row at the very end of the interval still counts, so rows are kept one millisecond longer.
    supplier = Stores.persistent_window_store(name, interval_ms + 1, interval_ms)
    spec = Stores.window_store_builder(supplier, identities, Serdes.string())
    return PlannedStore(spec, has_type=False)


def _identities(
    stream: Stream, options: Deduplicated[Any, Any, Any], id_selector: object
) -> Serde[Any] | None:
    keys = resolve_serde(options.key) or stream.key_serde
    if id_selector is None:
        return keys
    return PairSerde(keys, resolve_serde(options.id) or Serdes.json())


def _positive(interval: Duration) -> int:
    interval_ms = to_ms(interval, "interval")
    if interval_ms < 1:
        raise InvalidArgumentError(
            "bad-interval",
            f"the interval of a deduplication is {interval_ms} ms",
            fix="give 1 ms or more",
            at=caller_site(),
        )
    return interval_ms
