"""Which clocks tasks keep when their topology changes."""

from __future__ import annotations

from typing import Any, cast

import penstock as ps
from penstock.kernel.clocks import Clocks, renamed
from penstock.model.task_id import TaskId
from penstock.runtime.spark.driver.changes.renumbering import renumbered, topology_fingerprint
from penstock.runtime.spark.exchange.batch_log import Marker
from penstock.runtime.spark.exchange.plan import make_plan


def clocks(**given: Any) -> Clocks:
    empty: dict[str, Any] = {
        "stream_time": 9, "partitions": {}, "received": {}, "operators": {}, "joins": {},
        "stream_punctuations": [], "wall_punctuations": [],
    }  # fmt: skip
    return cast("Clocks", empty | given)


def graph_of(*topics: str) -> Any:
    builder = ps.StreamsBuilder()
    for topic in topics:
        builder.stream(topic).group_by_key().count(f"counts-{topic}")
    return builder.build().graph


def test_clocks_move_to_the_new_names_of_their_nodes() -> None:
    """The old owner of a name that another node has now is gone."""
    noted = clocks(
        operators={"AGG-1": (1, 1, 1), "AGG-2": (2, 2, 2), "AGG-9": (9, 9, 9)},
        joins={"MERGE-3": (3, 3, 3)},
        stream_punctuations=[["AGG-1", 5]],
    )
    found = renamed(noted, {"AGG-1": "AGG-2", "MERGE-3": "MERGE-4"})
    assert found["operators"] == {"AGG-2": (1, 1, 1), "AGG-9": (9, 9, 9)}
    assert found["joins"] == {"MERGE-4": (3, 3, 3)}
    assert found["stream_punctuations"] == [("AGG-2", 5)]


def test_markers_take_their_clocks_to_another_number_and_name() -> None:
    """Nothing is committed under the new number yet."""
    plan = make_plan(graph_of("new", "old"), {"new": 1, "old": 1})
    marker = Marker(7, clocks(operators={"AGG-1": (1, 1, 1)}), {("old", 0): 3})
    found = renumbered({(TaskId(0, 0), 0): marker}, plan, {"AGG-1": "AGG-2"})
    (place, moved), = found.items()  # fmt: skip
    assert str(place[0]) == "1_0"
    assert (moved.batch, list(moved.clocks["operators"])) == (-1, ["AGG-2"])


def test_topology_is_another_one_when_its_topics_are() -> None:
    """The fingerprint does not depend on the process that makes it."""
    assert topology_fingerprint(graph_of("a")) == topology_fingerprint(graph_of("a"))
    assert topology_fingerprint(graph_of("a")) != topology_fingerprint(graph_of("b"))
