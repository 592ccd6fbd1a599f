"""EX-02: page views per user."""

from examples.user_counts.app import build
from tests.examples.play import played


def test_views_are_counted_per_user_and_mirrored_in_the_changelog() -> None:
    """The last change of each key in the changelog is the store's row."""
    with played("user_counts", build(), {"application.id": "user-counts"}) as driver:
        expected = {"user1": 2, "user42": 4, "user7": 1}
        assert dict(driver.get_key_value_store("user-counts").all()) == expected
        assert driver.read_map("views-per-user") == expected
        logged = driver.take_all("user-counts-user-counts-changelog")
    assert {record.key for record in logged} == {b"user1", b"user42", b"user7"}
