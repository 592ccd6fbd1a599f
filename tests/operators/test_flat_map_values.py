"""One value in, any number out under the same key.

Exercises ``flat_map_values_columns``.
"""

from penstock import StreamsBuilder
from penstock.testing import rows
from tests.operators.driver import Driver


def test_words_of_a_line_stay_under_its_key(driver: Driver) -> None:
    """The order of the function's results is the order of the records."""
    builder = StreamsBuilder()
    builder.stream("in").flat_map_values(str.split).to("out")
    driver.start(builder.build())
    driver.pipe("in", "key | value\nann | to be or\nbob | not")
    assert driver.read("out") == rows("key | value\nann | to\nann | be\nann | or\nbob | not")


def test_generator_is_read_one_value_at_a_time(driver: Driver) -> None:
    """Each value has gone all the way down before the next is made."""
    seen: list[str] = []
    builder = StreamsBuilder()

    def letters(value: str) -> object:
        for letter in value:
            seen.append(f"made {letter}")
            yield letter

    stream = builder.stream("in").flat_map_values(letters)
    stream.for_each(lambda key, value: seen.append(f"used {value}"))
    driver.start(builder.build())
    driver.pipe("in", "key | value\nann | ab")
    assert seen == ["made a", "used a", "made b", "used b"]
