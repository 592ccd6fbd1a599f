"""One record in, any number out.

Exercises ``flat_map_columns``.
"""

from penstock import StreamsBuilder
from penstock.testing import rows
from tests.operators.driver import Driver


def test_flat_map_gives_each_pair_the_time_of_its_record(driver: Driver) -> None:
    """None at all is an empty list."""
    builder = StreamsBuilder()
    builder.stream("in").flat_map(lambda key, value: [(part, key) for part in value]).to("out")
    driver.start(builder.build())
    driver.pipe("in", "key | value | time\nann | xy | 0:05\nbob |  | 0:06")
    assert driver.read("out") == rows("key | value | time\nx | ann | 0:05\ny | ann | 0:05")
