"""The plan of ``penstock reset``; carrying it out is tested in ``tests/integration/spark``."""

from pathlib import Path
from typing import Any, cast

import pytest
import typer
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.cli.reset import position
from penstock.cli.reset.plan import ResetPlan
from penstock.cli.reset.position import Places
from penstock.errors import InvalidArgumentError
from penstock.runtime.spark.driver.removal import owned_topics

A, B = ("orders", 0), ("orders", 1)
PLACES = Places(begin={A: 10, B: 0}, end={A: 50, B: 5}, now={A: 40})
NO_ADMIN = cast(Any, None)


def test_internal_topics_are_recognised_by_their_names() -> None:
    """Kafka's own tool goes by the same endings."""
    own = [
        "shop-counts-changelog",
        "shop-counts-repartition",
        "shop-KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000006-topic",
        "shop-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000014-topic",
        "shop-fk-subscription-registration-topic",
        "shop-penstock-batches",
    ]
    others = ["shop-orders", "orders", "shop", "bookshop-counts-changelog", "-changelog"]
    assert owned_topics("shop", own + others) == own


def test_application_with_a_longer_name_keeps_its_topics() -> None:
    """Its batch log says that it exists."""
    topics = ["shop-eu-counts-changelog", "shop-eu-penstock-batches", "shop-counts-changelog"]
    assert owned_topics("shop", topics) == ["shop-counts-changelog"]
    assert owned_topics("shop-eu", topics) == topics[:2]


@pytest.mark.parametrize(
    ("way", "expected"),
    [
        (position.earliest, {A: 10, B: 0}),
        (position.latest, {A: 50, B: 5}),
        (position.at_offset(20), {A: 20, B: 5}),
        (position.at_offset(3), {A: 10, B: 3}),
        (position.shifted_by(-15), {A: 25, B: 0}),
        (position.shifted_by(2), {A: 42, B: 2}),
        (position.shifted_by(1_000), {A: 50, B: 5}),
    ],
)
def test_positions_stay_within_what_is_there(way: Any, expected: dict[Any, int]) -> None:
    """An offset that does not exist is taken as the nearest one that does."""
    assert way(NO_ADMIN, PLACES) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PT1H30M", 5_400_000),
        ("P1D", 86_400_000),
        ("P1DT0.25S", 86_400_250),
        ("PT10.5S", 10_500),
        ("90m", 5_400_000),
        ("1h 30m", 5_400_000),
    ],
)
def test_durations_are_kafka_s_or_penstock_s(text: str, expected: int) -> None:
    """Both spellings mean the same."""
    assert position.duration_ms(text) == expected


@pytest.mark.parametrize("text", ["P", "PT", "soon", ""])
def test_what_is_no_duration_is_refused(text: str) -> None:
    """With the ways to write one."""
    with pytest.raises(InvalidArgumentError, match="is not a duration"):
        position.duration_ms(text)


def test_only_one_position_can_be_asked_for() -> None:
    """None at all means the beginning."""
    assert position.chosen({"--to-latest": None}) is position.earliest
    with pytest.raises(typer.BadParameter):
        position.chosen({"--to-latest": position.latest, "--to-earliest": position.earliest})


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--application-id", "a", "--to-earliest", "--to-latest"),
        ("--application-id", "a", "--to-datetime", "soon"),
        ("--application-id", "a", "--to-offset", "-1"),
        ("--application-id", "a", "--from-file", "/no/such/file"),
    ],
)
def test_misuse_exits_with_2(arguments: tuple[str, ...]) -> None:
    """Before any broker is asked."""
    assert CliRunner().invoke(app, ["reset", *arguments]).exit_code == 2


def test_plan_as_json_has_everything() -> None:
    """A script can look before it leaps."""
    plan = ResetPlan("shop", {A: (40, 10), B: (None, 0)}, ("shop-c-changelog",), Path("/s/shop"))
    assert plan.to_json() == {
        "application_id": "shop",
        "offsets": [
            {"topic": "orders", "partition": 0, "from": 40, "to": 10},
            {"topic": "orders", "partition": 1, "from": None, "to": 0},
        ],
        "topics": ["shop-c-changelog"],
        "state": "/s/shop",
    }
    assert not plan.is_empty
    assert ResetPlan("shop", {}, (), None).is_empty
