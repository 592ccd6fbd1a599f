"""Programs with functions that may do anything: they note what they are called with.

``NOTES`` has what all functions and handlers of a run have noted, in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import penstock as ps
from penstock.processor.handlers import CONTINUE, Response

Build = Callable[[ps.StreamsBuilder], None]

NOTES: list[Any] = []


def note(*what: Any) -> None:
    """Note what is said, as it is at this moment."""
    NOTES.append(repr(what))


def handled(context: Any, record: Any, error: Exception) -> Response:
    """A handler of the user: it notes what it is asked, and goes on."""
    note("handler", context.processor_node_id, context.offset, type(error).__name__)
    return Response(CONTINUE)


def numbers(builder: ps.StreamsBuilder, topic: str = "in") -> ps.KStream[Any, Any]:
    return builder.stream(topic, key="string", value="json")


def number(value: Any) -> Any:
    """The number of a value; of a value without one it fails."""
    return value["n"] + 0


def between_expressions(builder: ps.StreamsBuilder) -> None:
    """Columns before it and behind it; it fails for some values."""

    def more(value: Any) -> Any:
        note("more", value)
        return {"n": number(value), "s": value.get("s")}

    kept = numbers(builder).filter(ps.value.is_not_null()).map_values(more)
    kept.filter(ps.col("n") > 1).map_values(ps.struct(n=ps.col("n") * 2)).to("out")


def chained(builder: ps.StreamsBuilder) -> None:
    """Several functions, with others between them that only compute."""

    def keep(key: Any, value: Any) -> bool:
        note("keep", key, value)
        return value is not None

    def several(key: Any, value: Any) -> Iterator[Any]:
        note("several", key)
        yield key, 1
        yield str(value.get("s")), number(value)

    stream = numbers(builder).filter(keep).map_values(ps.col("s")).map_values(lambda s: {"s": s})
    stream.peek(lambda key, value: note("peek", key, value)).to("other")
    numbers(builder).filter(lambda _, value: value is not None).flat_map(several).to("out")


def branched(builder: ps.StreamsBuilder) -> None:
    """Predicates that note; records leave on several ways, with values of their own."""

    def large(key: Any, value: Any) -> bool:
        note("large", key)
        return value is not None and number(value) > 3

    def other(key: Any, value: Any) -> bool:
        note("other", key)
        return key == "k1"

    arms = (
        numbers(builder).split("arm-").branch(large, ps.Branched.as_("large"))
        .branch(other, ps.Branched.as_("other")).default_branch(ps.Branched.as_("rest"))
    )  # fmt: skip
    arms["arm-large"].map_values(ps.col("n")).to("out")
    arms["arm-other"].select_key(lambda key, value: note("select", key) or "one").to("other")
    arms["arm-rest"].for_each(lambda key, value: note("rest", key, value))


def arms(builder: ps.StreamsBuilder) -> None:
    """Functions behind several arms, whose records take turns; one arm has none."""
    found = (
        numbers(builder).filter(ps.value.is_not_null()).split("arm-")
        .branch(ps.col("n") > 3, ps.Branched.as_("large"))
        .branch(ps.col("s") == "a", ps.Branched.as_("a")).default_branch(ps.Branched.as_("rest"))
    )  # fmt: skip
    found["arm-large"].map_values(ps.col("n")).peek(lambda k, v: note("large", k, v)).to("out")
    found["arm-a"].to("windows")
    found["arm-rest"].for_each(lambda key, value: note("rest", key, value))


def one_arm(builder: ps.StreamsBuilder) -> None:
    """A function behind one arm only."""
    found = numbers(builder).split("arm-").branch(ps.value.is_null(), ps.Branched.as_("null"))
    rest = found.default_branch(ps.Branched.as_("rest"))["arm-rest"]
    rest.peek(lambda key, value: note("rest", key, value)).to("out")


def changing(builder: ps.StreamsBuilder) -> None:
    """A function changes values in their place; others have seen them before, or see them later."""
    seen: list[Any] = []

    def change(key: Any, value: Any) -> None:
        note("change", value)
        if value is not None:
            value["seen"] = len(seen)
            value.get("s", seen) and seen.append(value)

    stream = numbers(builder)
    stream.map_values(lambda value: str(value)).to("windows", value="string")
    stream.peek(change).to("out")
    stream.to("other")


def changing_what_is_kept(builder: ps.StreamsBuilder) -> None:
    """Folds look at values when the batch ends; a function has changed them by then."""

    def change(key: Any, value: Any) -> None:
        note("change", value)
        if value is not None:
            value["n"] = number(value) + 1
            value["s"] = [key]

    stream = numbers(builder)
    kept = ps.Materialized(name="kept", key="string", value="json")
    stream.group_by_key().aggregate(
        list, lambda key, value, last: [*last[-2:], value], materialized=kept
    )
    stream.group_by_key().reduce(lambda one, other: other, "last", value="json")
    stream.peek(change).to("out")


def returning_one_object(builder: ps.StreamsBuilder) -> None:
    """A function returns the same object for each record, changed; another keeps what it got."""
    total: dict[str, Any] = {"n": 0, "all": []}
    last: list[Any] = [{}]

    def add(key: Any, value: Any) -> Any:
        total["n"] += 1
        total["all"] = [*total["all"][-2:], key]
        total["last"] = value
        return total

    def spoil(key: Any, value: Any) -> bool:
        last[0]["spoiled"] = True
        last[0] = value
        return True

    numbers(builder).map_values(add).filter(lambda key, value: value["n"] % 2 > 0).to("out")
    numbers(builder, "table").filter(ps.value.is_not_null()).filter(spoil).to("other")


def counted(builder: ps.StreamsBuilder) -> None:
    """A fold behind it, whose cache hands its results to a function that notes as well."""
    stream = numbers(builder).select_key(lambda key, value: note("key", key) or str(key)[:1])
    table = stream.group_by_key(key="string", value="json").count("counts")
    table.to_stream().peek(lambda key, count: note("count", key, count)).to(
        "out", key="string", value="long"
    )


def behind_a_fold(builder: ps.StreamsBuilder) -> None:
    """A fold without a cache before it."""
    table = numbers(builder).group_by_key().count(ps.Materialized(name="counts", caching=False))
    noted = table.to_stream().map_values(lambda key, n: note("count", key, n) or 6 // (3 - n))
    noted.to("out", value="json")


def merged(builder: ps.StreamsBuilder) -> None:
    """Functions of two sources, which take turns."""
    left = numbers(builder).map_values(lambda value: note("in", value) or value)
    right = numbers(builder, "table").filter(lambda key, value: note("table", key) is None)
    left.to("out")
    right.to("other")


def merged_before(builder: ps.StreamsBuilder) -> None:
    """A function behind a merge of two sources, which fails for some values of both."""

    def more(key: Any, value: Any) -> Any:
        note("more", key, value)
        return number(value)

    rows = numbers(builder, "table").filter(ps.value.is_not_null())
    both = numbers(builder).filter(ps.value.is_not_null()).merge(rows)
    both.map_values(more).to("out")


def twice_reached(builder: ps.StreamsBuilder) -> None:
    """Two ways to one function: it sees a record on the first way, then on the second."""
    stream = numbers(builder).filter(ps.value.is_not_null())
    one = stream.map_values(lambda value: [value.get("n")])
    both = one.merge(stream.map_values(ps.col("s")))
    both.peek(lambda key, value: note(key, value)).to("out")


def before_a_join(builder: ps.StreamsBuilder) -> None:
    left = numbers(builder).map_values(lambda key, value: note("left", key) or value)
    windows = ps.JoinWindows.of_time_difference_and_grace("10s", "5s")
    left.left_join(
        numbers(builder, "table"), lambda one, other: [one, other], windows,
        key="string", value="json", other_value="json",
    ).to("out", key="string", value="json")  # fmt: skip


def behind_a_join(builder: ps.StreamsBuilder) -> None:
    rows = builder.table("table", materialized="rows", key="string", value="json")
    joined = numbers(builder).join(rows, lambda one, other: [one, other])
    joined.peek(lambda key, value: note(key, value)).to("out")


#: All of them run over columns, with an island in between.
PROGRAMS = [
    between_expressions, chained, branched, arms, one_arm, changing, changing_what_is_kept,
    returning_one_object, counted, behind_a_fold, merged, merged_before, twice_reached,
    before_a_join, behind_a_join,
]  # fmt: skip
