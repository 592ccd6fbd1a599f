"""The stores of aggregations: Kafka Streams' kinds, sizes, retentions and layers.

Exercises ``kgrouped_stream``, ``windowed_kstream`` and ``aggregations.folds``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock.dsl.faces.builder import StreamsBuilder
from penstock.dsl.options.emit_strategy import EmitStrategy
from penstock.dsl.options.materialized import Materialized
from penstock.errors import ConfigError, InvalidArgumentError, TopologyError
from penstock.model.windows.definitions import (
    SessionWindows,
    SlidingWindows,
    TimeWindows,
    UnlimitedWindows,
)
from penstock.serde.inferred import InferredSerde
from penstock.serde.serdes import Serdes
from penstock.state.spec import StoreKind, StoreSpec
from penstock.state.stores import Stores
from tests.unit.dsl.programs import graph_of

_IN_MEMORY = {"dsl__store__suppliers__class": "in_memory"}


def _grouped(builder: StreamsBuilder) -> Any:
    return builder.stream("in", key=str, value=str).group_by_key()


def _store(program: Callable[[StreamsBuilder], object], **config: Any) -> StoreSpec:
    (store,) = graph_of(program, **config).stores.values()
    return store


def test_count_keeps_timestamped_longs_cached_and_logged() -> None:
    """Serdes are inferred: the grouping's for keys, long for counts."""
    store = _store(lambda b: _grouped(b).count("counts"))
    assert (store.name, store.kind) == ("counts", StoreKind.TIMESTAMPED_KEY_VALUE)
    assert (store.persistent, store.caching, store.logging) == (True, True, True)
    assert (store.key_serde, store.value_serde) == (Serdes.string(), Serdes.long())


def test_reduce_keeps_the_streams_values_and_aggregate_those_of_its_initializer() -> None:
    """A reduction has the type of its input, an aggregation its own."""
    assert _store(lambda b: _grouped(b).reduce(max)).value_serde == Serdes.string()
    assert _store(lambda b: _grouped(b).aggregate(str, lambda k, v, a: a)).value_serde is None
    summed = _store(lambda b: _grouped(b).aggregate(int, lambda k, v, a: a))
    assert summed.value_serde == InferredSerde(Serdes.long())


@pytest.mark.parametrize(
    ("windows", "size_ms", "retention_ms"),
    [
        (TimeWindows.of_size_and_grace("1m", "30s"), 60_000, 90_000),
        (SlidingWindows.of_time_difference_and_grace("1m", "30s"), 60_000, 150_000),
        (UnlimitedWindows.of(), 2**63 - 1, 2**63 - 1),
    ],
)
def test_window_store_keeps_windows_until_they_close(
    windows: Any, size_ms: int, retention_ms: int
) -> None:
    """A sliding window needs what came twice the difference before."""
    store = _store(lambda b: _grouped(b).windowed_by(windows).count())
    assert store.kind is StoreKind.TIMESTAMPED_WINDOW
    assert (store.window_size_ms, store.retention_ms) == (size_ms, retention_ms)


def test_session_store_keeps_sessions_until_they_close() -> None:
    """Gap plus grace."""
    windows = SessionWindows.of_inactivity_gap_and_grace("1m", "30s")
    store = _store(lambda b: _grouped(b).windowed_by(windows).count())
    assert (store.kind, store.retention_ms) == (StoreKind.SESSION, 90_000)


@pytest.mark.parametrize(
    ("windows", "enough_ms"),
    [
        (TimeWindows.of_size_and_grace(60, 30), 90),
        (SlidingWindows.of_time_difference_and_grace(60, 30), 150),
        (SessionWindows.of_inactivity_gap_and_grace(60, 30), 90),
    ],
)
def test_retention_shorter_than_the_windows_is_refused(windows: Any, enough_ms: int) -> None:
    """The store would forget windows that still take records."""

    def program(builder: StreamsBuilder, retention_ms: int) -> None:
        options = Materialized.as_("s").with_retention(retention_ms)
        _grouped(builder).windowed_by(windows).count(options)

    assert _store(lambda b: program(b, enough_ms)).retention_ms == enough_ms
    with pytest.raises(InvalidArgumentError) as caught:
        graph_of(lambda b: program(b, enough_ms - 1))
    assert caught.value.code == "store-retention-too-short"
    assert str(enough_ms) in str(caught.value.fix)


def test_store_type_comes_from_operator_builder_or_build() -> None:
    """The nearest one wins; RocksDB is the default."""

    def program(builder: StreamsBuilder) -> None:
        _grouped(builder).count(Materialized(name="s", store_type="rocksdb"))

    assert _store(program, **_IN_MEMORY).persistent
    assert not _store(lambda b: _grouped(b).count("s"), **_IN_MEMORY).persistent
    late = graph_of(lambda b: _grouped(b).count("s"), {"dsl.store.suppliers.class": "in_memory"})
    assert not late.stores["s"].persistent


def test_javas_class_name_of_the_store_suppliers_is_understood() -> None:
    """A configuration can be taken over as it is."""
    name = "org.apache.kafka.streams.state.BuiltInDslStoreSuppliers$InMemoryDslStoreSuppliers"
    store = _store(lambda b: _grouped(b).count("s"), dsl__store__suppliers__class=name)
    assert not store.persistent
    with pytest.raises(ConfigError):
        StreamsBuilder({"dsl.store.suppliers.class": "com.example.Mine"})


def test_versioned_store_is_never_cached() -> None:
    """Its past versions would hide in the cache."""
    supplier = Stores.persistent_versioned_key_value_store("v", "1h")
    store = _store(lambda b: _grouped(b).count(supplier))
    assert store.kind is StoreKind.VERSIONED_KEY_VALUE
    assert (store.history_retention_ms, store.caching) == (3_600_000, False)


def test_supplier_of_the_wrong_kind_is_refused() -> None:
    """A window store cannot hold one value per key."""
    supplier = Stores.in_memory_window_store("w", "1h", "1m")
    with pytest.raises(InvalidArgumentError) as caught:
        graph_of(lambda b: _grouped(b).count(supplier))
    assert caught.value.code == "wrong-supplier"


def test_logging_options_reach_the_store() -> None:
    """Topic settings of the changelog travel with it."""
    logged = Materialized.as_("s").with_logging_enabled({"min.insync.replicas": "2"})
    store = _store(lambda b: _grouped(b).count(logged))
    assert store.changelog_config == (("min.insync.replicas", "2"),)
    silent = _store(lambda b: _grouped(b).count(Materialized.as_("s").with_logging_disabled()))
    assert not silent.logging


@pytest.mark.parametrize(
    "windows",
    [
        SlidingWindows.of_time_difference_with_no_grace("1m"),
        SessionWindows.of_inactivity_gap_with_no_grace("1m"),
    ],
)
def test_final_results_are_not_cached(windows: Any) -> None:
    """They go out once: there is nothing to hold back."""

    def program(builder: StreamsBuilder) -> None:
        windowed = _grouped(builder).windowed_by(windows)
        windowed.emit_strategy(EmitStrategy.ON_WINDOW_CLOSE).count()

    assert not _store(program).caching


def test_unlimited_windows_cannot_emit_on_close() -> None:
    """They never close."""
    windowed = _grouped(StreamsBuilder()).windowed_by(UnlimitedWindows.of())
    with pytest.raises(InvalidArgumentError) as caught:
        windowed.emit_strategy(EmitStrategy.ON_WINDOW_CLOSE)
    assert caught.value.code == "window-never-closes"


def test_two_aggregations_cannot_share_a_store_name() -> None:
    """Equal stores or not: their results would mix."""

    def program(builder: StreamsBuilder) -> None:
        grouped = _grouped(builder)
        grouped.count("s")
        grouped.count("s")

    with pytest.raises(TopologyError) as caught:
        graph_of(program)
    assert caught.value.code == "duplicate-store"


def test_count_with_unnamed_options_takes_a_number_more() -> None:
    """A quirk of Kafka Streams that all later names depend on; sliding windows have it not."""
    sliding = SlidingWindows.of_time_difference_with_no_grace("1m")
    name = "KSTREAM-AGGREGATE-STATE-STORE-000000000"
    options: Materialized[Any, Any] = Materialized.with_("string")
    assert _store(lambda b: _grouped(b).count()).name == f"{name}1"
    assert _store(lambda b: _grouped(b).count(options)).name == f"{name}2"
    assert _store(lambda b: _grouped(b).windowed_by(sliding).count(options)).name == f"{name}1"
