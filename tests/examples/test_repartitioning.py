"""Repartitioning, by a bad, a better and the best way."""

import pytest

from examples.repartitioning import app
from penstock import TopologyTestDriver
from tests.examples.play import played, samples_of, sources

WAYS = {"bad": (app.bad, 2), "better": (app.better, 1), "best": (app.best, 0)}


def repartitioned(driver: TopologyTestDriver) -> dict[str, int]:
    """The bytes that each repartition topic took."""
    found: dict[str, int] = {}
    for record in driver.outputs():
        if record.topic.endswith("-repartition"):
            found[record.topic] = found.get(record.topic, 0) + len(record.value or b"")
    return found


@pytest.mark.parametrize("way", WAYS)
def test_every_way_has_the_same_tables(way: str) -> None:
    """What differs is the price."""
    with played("repartitioning", app.build()) as driver:
        counts = dict(driver.get_key_value_store(f"{way}-orders").all())
        revenue = dict(driver.get_key_value_store(f"{way}-revenue").all())
    assert counts == {"ann": 3, "bob": 1, "cem": 1}
    assert revenue == {"ann": 33.5, "bob": 7.5, "cem": 3.0}


@pytest.mark.parametrize("way", WAYS)
def test_each_way_pays_with_its_number_of_topics(way: str) -> None:
    """Two topics, one, and none."""
    make, topics = WAYS[way]
    topology = app.build(make)
    with TopologyTestDriver(topology) as driver:
        for sample in samples_of("repartitioning", topology):
            if sample.topic in sources(topology):
                driver.pipe_bytes(*sample)
        assert len(repartitioned(driver)) == topics


def test_a_small_record_travels_cheaper_than_a_whole_order() -> None:
    """A double has eight bytes."""
    with played("repartitioning", app.build()) as driver:
        taken = repartitioned(driver)
    (small,) = (size for topic, size in taken.items() if "amounts-by-user" in topic)
    assert small == 5 * 8
    assert sum(taken.values()) - small > 20 * small
