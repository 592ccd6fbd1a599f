"""Names: one counter for everything, and rules for what users choose."""

from __future__ import annotations

import pytest

from penstock.dsl.options.naming import Named, Names, check_name, is_generated, name_of
from penstock.errors import NullArgumentError, TopologyError


def test_processors_and_stores_share_one_counter() -> None:
    """Names depend on the order of calls, whatever they are for."""
    names = Names()
    assert names.new_processor_name("KSTREAM-SOURCE-") == "KSTREAM-SOURCE-0000000000"
    assert names.new_store_name("KSTREAM-REDUCE-") == "KSTREAM-REDUCE-STATE-STORE-0000000001"
    assert names.new_processor_name("KSTREAM-SINK-") == "KSTREAM-SINK-0000000002"


def test_given_name_takes_a_number_all_the_same() -> None:
    """Naming one operator must not rename the others."""
    names = Names()
    assert names.given_or_new("mine", "KSTREAM-FILTER-") == "mine"
    assert names.suffixed_or_new("mine", "-source", "KSTREAM-SOURCE-") == "mine-source"
    assert names.given_or_new(None, "KSTREAM-MAP-") == "KSTREAM-MAP-0000000002"


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "ä", "a/b", "x" * 250])
def test_name_that_no_topic_could_have_is_refused(name: str) -> None:
    """Names become parts of topics and directories."""
    with pytest.raises(TopologyError) as caught:
        check_name(name)
    assert caught.value.code == "bad-name"
    assert repr(name) in caught.value.message


@pytest.mark.parametrize("name", ["a", "A-1_b.c", "...", "x" * 249])
def test_name_that_a_topic_could_have_is_taken(name: str) -> None:
    """The rules are Kafka's for topics."""
    assert check_name(name) == name


def test_suffix_that_makes_a_name_too_long_is_refused() -> None:
    """What counts is the name that is used."""
    with pytest.raises(TopologyError):
        Names().suffixed_or_new("x" * 245, "-source", "KSTREAM-SOURCE-")


def test_named_and_text_are_the_same_name() -> None:
    """Both spellings are checked and give text."""
    assert name_of(Named.as_("a")) == name_of("a") == "a"
    assert name_of(None) is None
    assert Named("a").with_name("b") == Named("b")


def test_named_without_name_is_refused() -> None:
    """None is no name; leaving the argument out is."""
    with pytest.raises(NullArgumentError):
        Named.as_(None)  # type: ignore[arg-type]


def test_only_names_from_the_counter_count_as_generated() -> None:
    """A repartition named by a user gets readable part names, any other gets numbers."""
    assert is_generated("KSTREAM-MAP-0000000012")
    assert not is_generated("word-count")
    assert not is_generated("COGROUPKSTREAM-AGGREGATE-STATE-STORE-0000000002")
