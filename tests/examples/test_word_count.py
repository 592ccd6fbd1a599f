"""EX-27: word count, short."""

import re
from collections import Counter

from examples.word_count.app import build, config
from penstock.testing import TopologyTestDriver
from tests.examples.play import played, samples_of


def test_counts_words() -> None:
    """Each word's last record has its count."""
    with TopologyTestDriver(build(), config) as driver:
        driver.pipe("text-input", "Hello Kafka", "hello, Spark")
        assert driver.read_map("wordcount-output") == {"hello": 2, "kafka": 1, "spark": 1}
        assert driver.get_key_value_store("word-count-store").get("hello") == 2


def test_sample_has_the_counts_that_plain_python_finds() -> None:
    """The bundled text goes in whole."""
    with played("word_count", build(), config) as driver:
        counts = driver.read_map("wordcount-output")
    lines = ((sample.value or b"").decode() for sample in samples_of("word_count", build()))
    words = (word for line in lines for word in re.split(r"\W+", line.lower()))
    assert counts == Counter(words)


def test_two_sub_topologies_meet_in_the_store_s_repartition_topic() -> None:
    """Words must meet their equals: that is what the topic in the middle is for."""
    text = str(build().describe())
    assert text.count("Sub-topology:") == 2
    with TopologyTestDriver(build(), config) as driver:
        driver.pipe("text-input", "one")
        assert "wordcount-app-word-count-store-repartition" in driver.produced_topic_names()
