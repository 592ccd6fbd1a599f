"""Option classes: frozen values, fluent names on top, wrong values refused at once."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from datetime import timedelta
from typing import Any

import pytest

from penstock.dsl.options.deduplicated import Deduplicated
from penstock.dsl.options.emit_strategy import EmitStrategy
from penstock.dsl.options.join_options import Joined, StreamJoined, TableJoined
from penstock.dsl.options.materialized import Materialized
from penstock.dsl.options.offset_reset import AutoOffsetReset
from penstock.dsl.options.store_type import StoreType
from penstock.dsl.options.stream_options import (
    Branched,
    Consumed,
    Grouped,
    Printed,
    Produced,
    Repartitioned,
    either,
    given_options,
    options_of,
)
from penstock.dsl.options.suppressed import BufferConfig, Suppressed
from penstock.errors import InvalidArgumentError, TopologyError
from penstock.serde.serdes import Serdes
from penstock.state.stores import Stores


def test_fluent_names_and_keywords_give_equal_options() -> None:
    """Two spellings, one value."""
    fluent = Consumed.as_("in").with_key(Serdes.string()).with_value(Serdes.long())
    assert fluent == Consumed(name="in", key=Serdes.string(), value=Serdes.long())
    produced = Produced.with_(Serdes.string(), Serdes.long()).with_name("out")
    assert produced == Produced(name="out", key="string", value="long")
    assert Grouped.as_("g") == Grouped(name="g")
    assert Repartitioned.as_("r").with_num_partitions(3) == Repartitioned(
        name="r", num_partitions=3
    )
    assert Joined.as_("j").with_grace_period("5s").grace_ms == 5000
    assert TableJoined.as_("t") == TableJoined(name="t")
    once = Deduplicated.as_("d").with_id("long").with_store_name("seen")
    assert once == Deduplicated(name="d", id=Serdes.long(), store_name="seen")
    assert Deduplicated.with_("string", "long", "json").with_name("d").id == Serdes.long()


def test_options_never_change() -> None:
    """An option object can be shared between operators."""
    consumed = Consumed.as_("in")
    with pytest.raises(FrozenInstanceError):
        consumed.name = "other"  # type: ignore[misc]
    consumed.with_name("other")
    assert consumed.name == "in"


def test_python_types_and_names_stand_for_serdes() -> None:
    """What resolve_serde takes, options take."""
    assert Consumed(key=str, value="long") == Consumed.with_(Serdes.string(), Serdes.long())


@pytest.mark.parametrize("kind", [Consumed, Produced, Grouped, Joined, StreamJoined, Materialized])
def test_bad_name_is_refused_by_every_option_class(kind: Any) -> None:
    """The rules for names hold wherever a name can be given."""
    with pytest.raises(TopologyError):
        kind(name="no good")


def test_stream_joined_as_names_the_stores() -> None:
    """As in Java: with_name names the processors."""
    options = StreamJoined.as_("stores").with_name("join")
    assert (options.store_name, options.name) == ("stores", "join")


def test_offset_reset_is_checked() -> None:
    """A typo would otherwise show when the program first starts."""
    assert Consumed(offset_reset="EARLIEST").offset_reset == "earliest"
    by_duration = AutoOffsetReset.by_duration("90s")
    assert Consumed(offset_reset=by_duration).offset_reset == "by_duration:PT90S"
    with pytest.raises(InvalidArgumentError) as caught:
        Consumed(offset_reset="first")
    assert caught.value.code == "bad-offset-reset"


def test_materialized_caches_and_logs_unless_told_otherwise() -> None:
    """Kafka Streams' defaults."""
    options = Materialized.as_("store")
    assert (options.caching, options.logging, options.store_name) == (True, True, "store")
    off = options.with_caching_disabled().with_logging_disabled()
    assert (off.caching, off.logging) == (False, False)
    assert options.with_logging_enabled({"retention.ms": "1"}).changelog_config == {
        "retention.ms": "1"
    }


def test_materialized_takes_durations_in_every_form() -> None:
    """Durations are timedelta, milliseconds or text."""
    for retention in (timedelta(minutes=5), 300_000, "5m"):
        assert Materialized.as_("s").with_retention(retention).retention_ms == 300_000
    with pytest.raises(InvalidArgumentError):
        Materialized(retention=-1)


def test_materialized_of_a_supplier_has_its_name_and_no_other_type() -> None:
    """A store of the user's own already says what it is made of."""
    supplier = Stores.in_memory_key_value_store("mine")
    assert Materialized.as_(supplier).store_name == "mine"
    assert Materialized.as_(StoreType.IN_MEMORY).store_type is StoreType.IN_MEMORY
    with pytest.raises(InvalidArgumentError):
        Materialized.as_(supplier).with_store_type("rocksdb")


def test_unknown_store_type_is_refused() -> None:
    """There are two."""
    with pytest.raises(InvalidArgumentError) as caught:
        Materialized(store_type="disk")
    assert caught.value.code == "bad-store-type"


def test_bounded_buffer_emits_early_unless_told_otherwise() -> None:
    """As in Java: unbounded is strict, bounded is eager."""
    assert not BufferConfig.unbounded().emits_early
    assert BufferConfig.max_records(3).with_max_bytes(9).emits_early
    assert not BufferConfig.max_bytes(9).shut_down_when_full().emits_early
    assert BufferConfig.max_records(3).with_no_bound() == BufferConfig.unbounded()


def test_final_results_cannot_be_emitted_early() -> None:
    """An early result is not final."""
    with pytest.raises(InvalidArgumentError):
        Suppressed.until_window_closes(BufferConfig.max_records(1))
    strict = Suppressed.until_window_closes(BufferConfig.max_records(1).shut_down_when_full())
    assert strict.until_window_closes_only
    assert Suppressed.until_time_limit("1s", BufferConfig.max_records(1)).time_limit_ms == 1000


def test_emit_strategy_has_javas_factories() -> None:
    """Text is understood as well."""
    assert EmitStrategy.ON_WINDOW_CLOSE is EmitStrategy("on_window_close")
    assert EmitStrategy.ON_WINDOW_UPDATE is EmitStrategy.ON_WINDOW_UPDATE


def test_branch_has_a_function_or_a_consumer() -> None:
    """One of them gives a stream, the other does not: both at once mean nothing."""
    with pytest.raises(InvalidArgumentError):
        Branched(fn=lambda stream: stream, consumer=print)


def test_printing_to_no_file_is_refused() -> None:
    """A blank path is a mistake, not standard output."""
    with pytest.raises(TopologyError):
        Printed.to_file(" ")


def test_keywords_go_over_the_option_object() -> None:
    """What is written at the call is nearer than what was shared."""
    shared: Grouped[Any, Any] = Grouped(name="a", key="string")
    options = options_of(Grouped, shared, name="b", value=None)
    assert options == Grouped(name="b", key="string")
    assert options_of(Grouped, "c") == Grouped(name="c")


def test_nothing_given_is_not_the_same_as_empty_options() -> None:
    """Some operators take a number more for empty options, so the two are kept apart."""
    assert given_options(Grouped, None, name=None) is None
    assert given_options(Grouped, Grouped()) == Grouped()


def test_wrong_option_class_is_refused() -> None:
    """The message names the class that is wanted."""
    with pytest.raises(InvalidArgumentError, match="Grouped"):
        options_of(Grouped, Consumed())  # type: ignore[arg-type]


def test_two_spellings_at_once_are_refused() -> None:
    """Which of them should win?"""
    assert either(None, 1, "a and b") == 1
    with pytest.raises(InvalidArgumentError):
        either(1, 1, "a and b")
