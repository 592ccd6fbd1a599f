"""What a program's stores mean: which changes of a program its state survives."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

import penstock as ps
from penstock.errors import TopologyError
from penstock.serde.base import SerdeDefaults
from penstock.serde.serdes import Serdes
from penstock.topology.upgrades.fingerprint import PlanFingerprint
from penstock.topology.upgrades.settle import Settlement, settle
from penstock.topology.upgrades.stores import fingerprint_of, section_name, topic_section

Program = Callable[[ps.StreamsBuilder], object]
Minute = ps.TimeWindows.of_size_with_no_grace(timedelta(minutes=1))


def fingerprint(program: Program) -> PlanFingerprint:
    builder = ps.StreamsBuilder()
    program(builder)
    return fingerprint_of(builder.build().graph)


def upgraded(old: Program, new: Program, **given: Any) -> Settlement:
    stored = fingerprint(old).to_json()
    return settle(stored, fingerprint(new), application_id="app", has_state=True, **given)


def refused(old: Program, new: Program) -> str:
    with pytest.raises(TopologyError) as caught:
        upgraded(old, new)
    assert caught.value.code == "plan-changed"
    return str(caught.value)


def counts(builder: ps.StreamsBuilder) -> Any:
    return builder.stream("words").group_by_key().count("counts")


def by_value(builder: ps.StreamsBuilder) -> Any:
    return builder.stream("words").group_by(lambda key, value: value).count("counts")


def per_minute(builder: ps.StreamsBuilder, windows: Any = Minute) -> Any:
    return builder.stream("words").group_by_key().windowed_by(windows).count("counts")


def left_join(builder: ps.StreamsBuilder, minutes: int = 5) -> Any:
    windows = ps.JoinWindows.of_time_difference_with_no_grace(timedelta(minutes=minutes))
    left, right = builder.stream("left"), builder.stream("right")
    return left.left_join(
        right, lambda a, b: a, windows, stream_joined=ps.StreamJoined(store_name="j")
    )


KEPT: dict[str, tuple[Program, Program]] = {
    "nothing": (counts, counts),
    "a step behind the state": (counts, lambda b: counts(b).filter(lambda k, v: v > 1)),
    "a sink behind the state": (counts, lambda b: counts(b).to_stream().to("out")),
    "a look in passing": (
        counts,
        lambda b: b.stream("words").peek(print).group_by_key().count("counts"),
    ),
    "another function": (
        lambda b: b.stream("words").group_by(lambda k, v: v[0]).count("counts"),
        lambda b: b.stream("words").group_by(lambda k, v: v[1]).count("counts"),
    ),
    "the name of a step": (
        lambda b: b.stream("words").filter(print, name="one").group_by_key().count("counts"),
        lambda b: b.stream("words").filter(print, name="two").group_by_key().count("counts"),
    ),
    "the order of two parts": (
        lambda b: (counts(b), b.stream("lines").group_by_key().count("lines")),
        lambda b: (b.stream("lines").group_by_key().count("lines"), counts(b)),
    ),
}


@pytest.mark.parametrize("name", KEPT)
def test_change_that_does_not_reach_the_state_is_none(name: str) -> None:
    """Steps behind a store, names and functions leave its meaning as it is."""
    assert upgraded(*KEPT[name]).changes == ()


REFUSED: dict[str, tuple[Program, Program, tuple[str, ...]]] = {
    "a filter before the state": (
        counts,
        lambda b: b.stream("words").filter(lambda k, v: v).group_by_key().count("counts"),
        ("store 'counts'", "+ filter"),
    ),
    "another topic": (
        counts,
        lambda b: b.stream("lines").group_by_key().count("counts"),
        ("- reads words", "+ reads lines"),
    ),
    "another key": (counts, by_value, ("+ select key", "+ repartition by key")),
    "a window": (counts, per_minute, ("+ windows of 60000 ms", "keeps windows")),
    "another size of windows": (
        per_minute,
        lambda b: per_minute(b, ps.TimeWindows.of_size_with_no_grace(timedelta(minutes=2))),
        ("- windows of 60000 ms", "+ windows of 120000 ms"),
    ),
    "another grace period": (
        per_minute,
        lambda b: per_minute(
            b, ps.TimeWindows.of_size_and_grace(timedelta(minutes=1), timedelta(minutes=3))
        ),
        ("grace 180000 ms",),
    ),
    "another serde of the input": (
        counts,
        lambda b: b.stream("words", value="json").group_by_key().count("counts"),
        ("value json",),
    ),
    "another operator": (
        counts,
        lambda b: b.stream("words").group_by_key().reduce(lambda a, c: a + c, "counts"),
        ("- aggregate", "+ reduce"),
    ),
    "another expression": (
        lambda b: b.stream("words").filter(ps.col("n") > 5).group_by_key().count("counts"),
        lambda b: b.stream("words").filter(ps.col("n") > 7).group_by_key().count("counts"),
        ("5", "7"),
    ),
    "another join window": (left_join, lambda b: left_join(b, minutes=6), ("360000 ms",)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_change_that_the_state_does_not_survive_is_refused(name: str) -> None:
    """The error has the old line, the new line and two ways out."""
    old, new, told = REFUSED[name]
    message = refused(old, new)
    assert [text for text in told if text not in message] == []
    assert "another application.id" in message
    assert "penstock reset --application-id app" in message


def named(builder: ps.StreamsBuilder, *, adds_steps: bool = False) -> Any:
    """Group by a key under a name, maybe with a filter and a mapping in front of it."""
    keyed = builder.stream("words").select_key(lambda k, v: v)
    if adds_steps:
        keyed = keyed.filter(lambda k, v: True).map_values(lambda v: v)
    return keyed.group_by_key(ps.Grouped.as_("by-word")).count("counts")


ACCEPTABLE: dict[str, tuple[Program, Program]] = {
    "steps before a named repartition": (named, lambda b: named(b, adds_steps=True)),
    "steps taken away": (lambda b: named(b, adds_steps=True), named),
    "another topic": (counts, lambda b: b.stream("lines").group_by_key().count("counts")),
    "one more topic": (
        counts,
        lambda b: b.stream(["words", "lines"]).group_by_key().count("counts"),
    ),
    "another expression": (
        lambda b: b.stream("words").filter(ps.col("n") > 5).group_by_key().count("counts"),
        lambda b: b.stream("words").filter(ps.col("n") > 7).group_by_key().count("counts"),
    ),
    "a look into a table": (
        counts,
        lambda b: (
            b.stream("words")
            .join(b.table("names"), lambda left, right: right)
            .group_by_key()
            .count("counts")
        ),
    ),
}


@pytest.mark.parametrize("name", ACCEPTABLE)
def test_change_before_a_named_store_needs_a_person_who_accepts_it(name: str) -> None:
    """The state can be read, and whether it may stay is for a person to say."""
    old, new = ACCEPTABLE[name]
    digest = fingerprint(new).digest
    assert f"penstock.accepted.plan={digest}" in refused(old, new)
    found = upgraded(old, new, accepted=digest)
    assert found.must_write
    assert found.changes != ()


NEVER = sorted(
    {"a window", "another size of windows", "another grace period", "another key",
     "another join window", "another serde of the input", "another operator"}
)  # fmt: skip


@pytest.mark.parametrize("name", NEVER)
def test_state_that_cannot_be_used_is_refused_even_if_the_plan_is_accepted(name: str) -> None:
    """Nobody can say that bytes in another format or windows of another size still fit."""
    old, new, _ = REFUSED[name]
    assert "--accept-plan" not in refused(old, new)
    with pytest.raises(TopologyError, match="accepting the plan does not change that"):
        upgraded(old, new, accepted=fingerprint(new).digest)


def test_acceptance_of_one_plan_is_not_that_of_the_next() -> None:
    """The setting may stay in a file: it names one plan, and every other one is refused."""
    old, new = ACCEPTABLE["another expression"]
    with pytest.raises(TopologyError, match="the accepted plan is 'abc'"):
        upgraded(old, new, accepted="abc")


def test_filter_over_a_table_before_a_count_cannot_be_accepted() -> None:
    """A table takes old rows back through the new filter, and the count would stay too high."""

    def per_name(builder: ps.StreamsBuilder, *, filters: bool) -> None:
        table = builder.table("users")
        table = table.filter(lambda k, v: True) if filters else table
        table.group_by(lambda k, v: (v, v)).count("counts")

    new = lambda b: per_name(b, filters=True)  # noqa: E731
    with pytest.raises(TopologyError, match="accepting the plan does not change that"):
        upgraded(lambda b: per_name(b, filters=False), new, accepted=fingerprint(new).digest)


def test_step_before_a_store_without_a_name_cannot_be_accepted() -> None:
    """Its number may have belonged to another store, whose state it would take over."""
    old = lambda b: b.stream("words").group_by_key().count()  # noqa: E731
    new = lambda b: b.stream("lines").group_by_key().count()  # noqa: E731
    with pytest.raises(TopologyError, match="accepting the plan does not change that"):
        upgraded(old, new, accepted=fingerprint(new).digest)


def test_store_that_takes_over_the_number_of_another_one_is_refused() -> None:
    """Generated names have numbers: a part in front shifts state from one store to the next."""

    def one(builder: ps.StreamsBuilder) -> None:
        builder.stream("words").group_by_key().count()

    def two(builder: ps.StreamsBuilder) -> None:
        builder.stream("lines").group_by_key().count()
        one(builder)

    assert "name the stores" in refused(one, two)


def test_store_whose_generated_number_moves_would_lose_its_state() -> None:
    """Under its former name it keeps the state, wherever it stands."""

    def unnamed(builder: ps.StreamsBuilder) -> None:
        builder.stream("words").group_by_key().count()

    def later(builder: ps.StreamsBuilder, name: str | None = None) -> None:
        builder.stream("lines").map_values(str).to("out")
        builder.stream("words").group_by_key().count(name)

    message = refused(unnamed, later)
    assert "its state would be lost" in message
    former = next(iter(fingerprint(unnamed).by_name)).split("'")[1]
    assert upgraded(unnamed, lambda b: later(b, former)).changes == ()


def test_added_store_starts_in_the_middle_of_topics_that_were_read_before() -> None:
    """It is no error in Kafka Streams, and it is said."""
    both = lambda b: (counts(b), b.stream("words").group_by_key().count("more"))  # noqa: E731
    (change,) = upgraded(counts, both).changes
    assert "starts empty in the middle of 'words'" in change.note
    elsewhere = lambda b: (counts(b), b.stream("lines").group_by_key().count("more"))  # noqa: E731
    (change,) = upgraded(counts, elsewhere).changes
    assert change.note == "added"


def test_store_that_comes_back_is_refused_while_its_changelog_is_there() -> None:
    """The changelog misses everything that was processed without the store."""
    without = lambda b: b.stream("words").to("copies")  # noqa: E731
    gone = upgraded(counts, without)
    assert [section.name for section in gone.fingerprint.orphans] == ["store 'counts'"]
    stored, back = gone.fingerprint.to_json(), fingerprint(counts)
    kept = frozenset({section_name("counts")})
    with pytest.raises(TopologyError, match="misses what was processed since"):
        settle(stored, back, application_id="app", has_state=True, kept=kept)
    again = settle(stored, back, application_id="app", has_state=True)
    assert again.fingerprint.orphans == ()


def test_nodes_that_fill_a_store_are_known_under_their_new_names() -> None:
    """Clocks are kept by node: one that is lost would reopen closed windows."""
    front = lambda b: (b.stream("lines").map_values(str), per_minute(b))  # noqa: E731
    renames = upgraded(per_minute, front).renames
    ((old, new),) = renames.items()
    assert old != new
    assert old.startswith("KSTREAM-AGGREGATE-")


def test_both_arms_of_a_join_share_a_clock_that_is_renamed() -> None:
    """Its name is that of the node in which the arms meet."""
    front = lambda b: (b.stream("lines").map_values(str), left_join(b))  # noqa: E731
    section = fingerprint(left_join).sections[0]
    assert set(section.nodes) <= set(upgraded(left_join, front).renames)


def test_format_of_a_repartition_topic_may_change_once_it_is_empty() -> None:
    """The runtime looks whether records of the former plan wait in it."""

    def grouped(builder: ps.StreamsBuilder, serde: str) -> None:
        words = builder.stream("words", value="string")
        words.repartition(name="by", value=serde).to("out")

    found = upgraded(lambda b: grouped(b, "string"), lambda b: grouped(b, "json"))
    assert found.changed_sections == {topic_section("by-repartition")}
    assert found.fingerprint.orphans == ()


def test_default_serdes_are_part_of_the_meaning() -> None:
    """A store that names no serde is written with that of the configuration."""
    builder = ps.StreamsBuilder()
    counts(builder)
    defaults = SerdeDefaults(Serdes.string(), Serdes.long())
    texts = fingerprint_of(builder.build().graph, defaults).sections[0].texts
    assert "key string" in texts
    assert "reads words: key string, value long" in texts


def test_store_in_memory_without_a_changelog_has_no_meaning_to_keep() -> None:
    """It starts empty each time."""

    def program(builder: ps.StreamsBuilder) -> None:
        store = ps.Stores.in_memory_key_value_store("seen")
        spec = ps.Stores.key_value_store_builder(store, "string", "string")
        builder.add_state_store(spec.with_logging_disabled())

    assert fingerprint(program).sections == ()


def _as_dict(value: Any) -> dict[str, Any]:
    return {"value": value}


def _tables(mapper: Callable[[Any], Any]) -> Callable[[ps.StreamsBuilder], object]:
    return lambda builder: builder.stream("in").map_values(mapper).to_table("latest")


def test_annotation_that_changes_the_bytes_of_a_store_is_a_change() -> None:
    """What was text would be read as JSON."""
    unset = SerdeDefaults(Serdes.string(), Serdes.string(), is_key_set=False, is_value_set=False)
    text, annotated = (_fingerprint_with(_tables(each), unset) for each in (len, _as_dict))
    assert "value string" in text
    assert "value json" in annotated


def test_default_that_is_set_changes_what_was_inferred() -> None:
    """With the same default that nobody had set, nothing would show it."""
    unset = SerdeDefaults(Serdes.string(), Serdes.string(), is_key_set=False, is_value_set=False)
    chosen = SerdeDefaults(Serdes.string(), Serdes.string())
    before, after = (_fingerprint_with(_tables(_as_dict), each) for each in (unset, chosen))
    assert ("value json" in before, "value string" in after) == (True, True)


def _fingerprint_with(program: Program, defaults: SerdeDefaults) -> str:
    builder = ps.StreamsBuilder()
    program(builder)
    return str(fingerprint_of(builder.build().graph, defaults).to_json())
