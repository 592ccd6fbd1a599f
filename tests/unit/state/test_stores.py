"""Factories check their arguments as Kafka Streams does, and default as it does."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from penstock.errors import InvalidArgumentError, NullArgumentError
from penstock.serde.serdes import Serdes
from penstock.state.spec import StoreKind
from penstock.state.stores import Stores

WITH_TIMES: list[Any] = [
    Stores.persistent_window_store,
    Stores.persistent_timestamped_window_store,
    Stores.in_memory_window_store,
]


@pytest.mark.parametrize(
    ("supplier", "persistent", "max_entries"),
    [
        (Stores.persistent_key_value_store("s"), True, None),
        (Stores.persistent_timestamped_key_value_store("s"), True, None),
        (Stores.in_memory_key_value_store("s"), False, None),
        (Stores.lru_map("s", 3), False, 3),
    ],
)
def test_key_value_suppliers(supplier: Any, *, persistent: bool, max_entries: int | None) -> None:
    """The supplier says where bytes live; the builder says what they mean."""
    for build, kind in (
        (Stores.key_value_store_builder, StoreKind.KEY_VALUE),
        (Stores.timestamped_key_value_store_builder, StoreKind.TIMESTAMPED_KEY_VALUE),
    ):
        spec = build(supplier, Serdes.string(), Serdes.long())
        assert (spec.name, spec.kind, spec.persistent) == ("s", kind, persistent)
        assert (spec.max_entries, spec.logging, spec.caching) == (max_entries, True, False)
        assert (spec.key_serde, spec.value_serde) == (Serdes.string(), Serdes.long())


def test_window_builder_takes_over_times_and_duplicates() -> None:
    """Segments default to half of the retention, but a minute at least."""
    supplier = Stores.persistent_window_store("s", "10m", timedelta(minutes=1), True)
    spec = Stores.window_store_builder(supplier)
    assert (spec.retention_ms, spec.window_size_ms) == (600_000, 60_000)
    assert spec.segment_interval_ms == 300_000
    assert spec.retain_duplicates
    assert spec.changelog_config == (("cleanup.policy", "delete"),)
    assert Stores.persistent_window_store("s", 1_000, 10).segment_interval_ms == 60_000
    assert Stores.in_memory_window_store("s", 600_000, 10).segment_interval_ms == 1
    stamped = Stores.timestamped_window_store_builder(Stores.in_memory_window_store("s", 9, 9))
    assert (stamped.kind, stamped.changelog_config) == (StoreKind.TIMESTAMPED_WINDOW, ())


def test_session_builder_takes_over_the_retention() -> None:
    """Memory is not segmented, which Kafka Streams calls one millisecond."""
    spec = Stores.session_store_builder(Stores.persistent_session_store("s", "10m"))
    assert (spec.kind, spec.retention_ms) == (StoreKind.SESSION, 600_000)
    assert spec.segment_interval_ms == 300_000
    memory = Stores.session_store_builder(Stores.in_memory_session_store("s", 5))
    assert (memory.persistent, memory.segment_interval_ms) == (False, 1)


@pytest.mark.parametrize(
    ("history_ms", "segment_ms"),
    [
        (0, 2_000),
        (30_000, 10_000),
        (60_000, 20_000),
        (60_001, 20_000),
        (300_000, 60_000),
        (600_000, 60_000),
        (3_600_000, 300_000),
        (3_600_001, 300_000),
        (86_400_000, 3_600_000),
    ],
)
def test_versioned_segment_follows_the_history(history_ms: int, segment_ms: int) -> None:
    """Longer histories are cut into more pieces."""
    supplier = Stores.persistent_versioned_key_value_store("s", history_ms)
    assert supplier.segment_interval_ms == segment_ms
    spec = Stores.versioned_key_value_store_builder(supplier)
    assert (spec.kind, spec.history_retention_ms) == (StoreKind.VERSIONED_KEY_VALUE, history_ms)


@pytest.mark.parametrize("factory", WITH_TIMES)
def test_window_store_refuses_impossible_times(factory: Any) -> None:
    """Wrong when written, not when the first record comes."""
    with pytest.raises(InvalidArgumentError, match="store-retention-too-short"):
        factory("s", 10, 11)
    with pytest.raises(InvalidArgumentError, match="retention_period -1 ms is negative"):
        factory("s", -1, 0)
    with pytest.raises(InvalidArgumentError, match="window_size -1 ms is negative"):
        factory("s", 10, -1)
    with pytest.raises(InvalidArgumentError, match="window_size is None"):
        factory("s", 10, None)
    with pytest.raises(NullArgumentError):
        factory(None, 10, 10)
    assert factory("s", 0, 0).retention_ms == 0


@pytest.mark.parametrize(
    "call",
    [
        lambda: Stores.lru_map("s", -1),
        lambda: Stores.persistent_session_store("s", -1),
        lambda: Stores.in_memory_session_store("s", -1),
        lambda: Stores.persistent_versioned_key_value_store("s", -1),
        lambda: Stores.persistent_versioned_key_value_store("s", 10, 0),
    ],
)
def test_numbers_below_their_least_are_refused(call: Any) -> None:
    """The error names the store."""
    with pytest.raises(InvalidArgumentError, match="store 's'"):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: Stores.persistent_key_value_store(None),  # type: ignore[arg-type]
        lambda: Stores.in_memory_key_value_store(None),  # type: ignore[arg-type]
        lambda: Stores.lru_map(None, 1),  # type: ignore[arg-type]
        lambda: Stores.persistent_session_store(None, 1),  # type: ignore[arg-type]
        lambda: Stores.persistent_versioned_key_value_store(None, 1),  # type: ignore[arg-type]
        lambda: Stores.key_value_store_builder(None),  # type: ignore[arg-type]
        lambda: Stores.timestamped_key_value_store_builder(None),  # type: ignore[arg-type]
        lambda: Stores.versioned_key_value_store_builder(None),  # type: ignore[arg-type]
        lambda: Stores.window_store_builder(None),  # type: ignore[arg-type]
        lambda: Stores.timestamped_window_store_builder(None),  # type: ignore[arg-type]
        lambda: Stores.session_store_builder(None),  # type: ignore[arg-type]
    ],
)
def test_none_is_refused(call: Any) -> None:
    """A name and a supplier are never optional."""
    with pytest.raises(NullArgumentError):
        call()


def test_builder_refuses_the_supplier_of_another_kind() -> None:
    """The fix names the builder that fits."""
    supplier: Any = Stores.persistent_window_store("s", 10, 10)
    with pytest.raises(InvalidArgumentError, match="wrong-supplier"):
        Stores.key_value_store_builder(supplier)


def test_layers_are_chosen_on_the_builder() -> None:
    """Logging is on and caching is off until somebody says otherwise."""
    spec = Stores.key_value_store_builder(Stores.in_memory_key_value_store("s"))
    assert spec.with_caching_enabled().caching
    assert not spec.with_logging_disabled().logging
    logged = spec.with_logging_enabled({"retention.ms": 5})
    assert logged.changelog_config == (("retention.ms", "5"),)
