"""EX-12: purchases with masking."""

import json

from examples.purchases.app import Purchase, PurchasePattern, Reward, build
from penstock.testing import TopologyTestDriver
from tests.examples.play import played, samples_of

SAMPLES = samples_of("purchases", build())


def test_no_whole_card_number_leaves_the_application() -> None:
    """Neither in a topic of the user's nor in an internal one."""
    numbers = {json.loads(sample.value or b"")["card_number"] for sample in SAMPLES}
    with played("purchases", build()) as driver:
        sent = driver.outputs()
    assert len(sent) == 3 * len(SAMPLES)
    for record in sent:
        assert not any(number.encode() in (record.value or b"") for number in numbers)


def test_patterns_rewards_and_purchases_come_of_every_purchase() -> None:
    """Three topics, three views of one event."""
    beans = Purchase("c-1", "4024-1111-2222-3333", "beans", 4, 1.75, "21117")
    with TopologyTestDriver(build()) as driver:
        driver.pipe("transactions", ("c-1", beans))
        assert driver.read_values("patterns") == [PurchasePattern("21117", "beans", 7.0)]
        assert driver.read_values("rewards") == [Reward("c-1", 7)]
        assert driver.read_values("purchases") == [beans.masked()]
    assert beans.masked().card_number == "xxxx-xxxx-xxxx-3333"
