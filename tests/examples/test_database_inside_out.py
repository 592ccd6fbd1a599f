"""EX-09: three views of one log."""

from typing import Any

from examples.database_inside_out import app
from penstock import TopologyTestDriver
from tests.examples.play import played, samples_of


def rows(driver: TopologyTestDriver, store: str) -> dict[Any, Any]:
    return dict(driver.get_key_value_store(store).all())


def test_each_view_has_what_its_service_needs() -> None:
    """A changed product leaves its old place in every view, a deleted one leaves all of them."""
    with played("database_inside_out", app.build()) as driver:
        index, categories = rows(driver, "search-index"), rows(driver, "categories")
        features = rows(driver, "features")
    assert index["lamp"] == {"p-1", "p-2"}
    assert index["small"] == {"p-2"}
    assert "kettle" not in index
    assert categories["light"] == app.Category(2, 40.0)
    assert categories["office"] == categories["kitchen"] == app.Category(0, 0.0)
    assert features == {"p-1": app.Features(10, is_cheap=False), "p-2": app.Features(16, True)}


def test_a_view_that_was_dropped_is_made_again_from_the_log() -> None:
    """A new service with nothing but the log ends with the same rows."""
    with played("database_inside_out", app.build()) as driver:
        before = rows(driver, "search-index")
    with played("database_inside_out", app.search_alone()) as driver:
        assert rows(driver, "search-index") == before
        assert set(driver.state_store_names()) == {"products", "indexed-titles", "search-index"}


def test_compacted_log_is_enough() -> None:
    """The last record of each key makes the same views as the whole history."""
    topology = app.build()
    last = {sample.key: sample for sample in samples_of("database_inside_out", topology)}
    with played("database_inside_out", app.build()) as driver:
        expected = rows(driver, "search-index"), rows(driver, "features")
    with TopologyTestDriver(topology) as driver:
        for sample in last.values():
            driver.pipe_bytes(*sample)
        assert (rows(driver, "search-index"), rows(driver, "features")) == expected
