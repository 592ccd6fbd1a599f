"""KD-75: anomalies by SQL, and a service that tells the owners of the cards."""

import json

from penstock import WindowedSerdes
from penstock.cli.program import load_program
from penstock.model.windows.windowed import Window, Windowed
from penstock.testing import TopologyTestDriver
from tests.examples.play import EXAMPLES, assert_sql_test_passes

FOLDER = EXAMPLES / "event_driven_service"


def test_three_uses_of_a_card_are_an_anomaly() -> None:
    """Two are not, and neither is the third in the next half minute."""
    assert_sql_test_passes("event_driven_service")


def test_each_anomaly_is_told_once() -> None:
    """The service reads what the script has written, and nothing else."""
    anomalies = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))["outputs"]
    topology = load_program(str(FOLDER / "mailer.py")).topology
    with TopologyTestDriver(topology) as driver:
        topic = driver.create_input_topic(
            "possible-anomalies", WindowedSerdes.time_windowed("string", "30s"), "json"
        )
        for each in anomalies:
            window = Window(each["window"]["start"], each["window"]["end"])
            topic.pipe_input(Windowed(each["key"], window), each["value"], each["timestamp"])
        (mail,) = driver.create_output_topic("mails", "string", "json").read_key_values_to_list()
    assert mail[0] == "ann@example.com"
    assert mail[1]["subject"] == "Your card ending in 0099"
    assert "used 3 times within 30 seconds, for 161.75 in all" in mail[1]["text"]
