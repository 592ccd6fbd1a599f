"""EX-10: a compacted topic as a table."""

from examples.user_profiles.app import COMPACTED, Profile, build
from tests.examples.play import played


def test_table_has_the_newest_profile_and_no_deleted_one() -> None:
    """The tombstone of user1 comes last."""
    with played("user_profiles", build()) as driver:
        assert dict(driver.get_key_value_store("profiles").all()) == {"user2": Profile("Bob", 25)}
        assert driver.read_key_values("adults") == [
            ("user1", Profile("Alice", 30)),
            ("user2", Profile("Bob", 25)),
            ("user1", Profile("Alice", 31)),
            ("user1", None),
        ]
    assert COMPACTED["cleanup.policy"] == "compact"
