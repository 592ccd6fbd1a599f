"""A stream split by predicates."""

from penstock import StreamsBuilder, java
from penstock.testing import rows
from tests.operators.driver import Driver


def test_first_branch_that_takes_a_record_gets_it(driver: Driver) -> None:
    """The default branch gets what is left; without one it is dropped."""
    builder = StreamsBuilder()
    split = builder.stream("in").split(name="by-")
    split.branch(lambda key, value: "a" in value, name="a")
    split.branch(lambda key, value: "b" in value, name="b")
    for name, stream in split.default_branch(name="rest").items():
        stream.to(name)
    driver.start(builder.build())
    driver.pipe("in", "key | value\n1 | ab\n2 | b\n3 | c")
    assert driver.read("by-a") == rows("key | value\n1 | ab")
    assert driver.read("by-b") == rows("key | value\n2 | b")
    assert driver.read("by-rest") == rows("key | value\n3 | c")


def test_unnamed_branches_are_numbered(driver: Driver) -> None:
    """XX-18: parent and number; the default branch is number 0."""
    builder = StreamsBuilder()
    split = builder.stream("in").split()
    branches = split.branch(lambda key, value: True).default_branch()
    assert list(branches) == ["KSTREAM-BRANCH-00000000011", "KSTREAM-BRANCH-00000000010"]
    driver.start(builder.build())


def test_branch_is_the_older_spelling(driver: Driver) -> None:
    """XX-15: one stream per predicate, in their order."""
    builder = StreamsBuilder()
    small, large = java.branch(
        builder.stream("in", value=int), lambda key, value: value < 5, lambda key, value: True
    )
    small.to("small")
    large.to("large")
    driver.start(builder.build())
    driver.pipe("in", "key | value\na | 3\nb | 7")
    assert driver.read("small") == rows("key | value\na | 3")
    assert driver.read("large") == rows("key | value\nb | 7")
