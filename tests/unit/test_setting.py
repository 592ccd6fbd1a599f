"""A setting takes what its type takes, and says about the rest what would be right."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from penstock.config import SETTINGS
from penstock.errors import ConfigError
from penstock.setting import (
    Setting,
    at_least,
    boolean,
    few_texts,
    guarantee,
    host_and_port,
    integer,
    older_name,
    one_of,
    pairs,
    part_of_topics,
    texts,
)
from penstock.settings import group, kafka_clients, observability, processing, state

COUNT = Setting("app.count", at_least(1), 3, "How many there are.")


@pytest.mark.parametrize(
    ("parse", "given", "value"),
    [
        (integer, "12", 12),
        (integer, 3.0, 3),
        (boolean, "TRUE", True),
        (boolean, False, False),
        (guarantee, "exactly_once_v2", "exactly_once_v2"),
        (host_and_port, "", ""),
        (host_and_port, "::1:80", "::1:80"),
        (texts, "a, b", ("a", "b")),
        (texts, ["a,b"], ("a,b",)),
        (few_texts(2), "", ()),
        (few_texts(2), "zone, row", ("zone", "row")),
        (pairs, "ada:x:y,bob:z", (("ada", "x:y"), ("bob", "z"))),
        (pairs, {"ada": "x"}, (("ada", "x"),)),
    ],
)
def test_what_fits_is_taken(parse: Callable[[Any], Any], given: Any, value: Any) -> None:
    """Text of a properties file means the same as a value of Python."""
    assert parse(given) == value


@pytest.mark.parametrize(
    ("parse", "given", "said"),
    [
        (integer, True, "a whole number"),
        (integer, 1.5, "a whole number"),
        (integer, "many", "a whole number"),
        (at_least(1), 0, "at least 1"),
        (boolean, 1, "true or false"),
        (part_of_topics, "", "letters, digits"),
        (part_of_topics, "my app", "letters, digits"),
        (part_of_topics, "shop/orders", "letters, digits"),
        (one_of("on", "off"), "auto", "one of on, off"),
        (guarantee, "exactly_once", "use exactly_once_v2"),
        (host_and_port, "localhost", "host:port"),
        (host_and_port, "localhost:http", "host:port"),
        (texts, "a,,b", "not empty"),
        (few_texts(2), "a,b,c", "at most 2"),
        (texts, 5, "a list of texts"),
        (pairs, "ada", "name:password"),
        (pairs, {"ada": ""}, "not empty"),
    ],
)
def test_what_does_not_fit_is_refused(parse: Callable[[Any], Any], given: Any, said: str) -> None:
    """The text says what is needed."""
    with pytest.raises(ValueError, match=said):
        parse(given)


def test_an_error_names_the_setting_its_default_and_its_meaning() -> None:
    """A user can correct the line without a look at the documentation."""
    with pytest.raises(ConfigError, match=r"'app\.count' cannot be 0: at least 1") as error:
        COUNT.parsed(0)
    assert error.value.code == "bad-setting"
    assert "leave it out for 3" in str(error.value)
    assert "how many there are" in str(error.value)


def test_a_setting_without_a_default_cannot_be_left_out() -> None:
    """An application has to have an id."""
    with pytest.raises(ConfigError) as error:
        processing.APPLICATION_ID.parsed("my app")
    assert str(error.value.fix).startswith("give what it means: group id")


def test_a_secret_is_not_in_its_error() -> None:
    """Not in the text, and not in the error behind it, which a log would show."""
    secret = Setting("app.password", boolean, False, "A secret.", is_secret=True)
    with pytest.raises(ConfigError) as error:
        secret.parsed("hunter2")
    assert "hunter2" not in str(error.value)
    assert error.value.__cause__ is None


def test_a_value_that_is_not_given_is_the_default() -> None:
    """None counts as not given."""
    assert [COUNT.value_in(of) for of in ({}, {"app.count": None}, {"app.count": "7"})] == [3, 3, 7]


def test_an_older_name_reads_and_defaults_like_the_newer() -> None:
    """And says which one wins."""
    older = older_name("app.number", COUNT)
    assert (older.newer, older.default, older.parsed("2")) == (COUNT, 3, 2)
    assert "Older name of app.count" in older.doc


@pytest.mark.parametrize("family", [group, kafka_clients, observability, processing, state])
def test_every_setting_of_a_family_is_a_setting_of_the_configuration(family: ModuleType) -> None:
    """A setting that is declared and not registered would be refused as unknown."""
    declared = [each for each in vars(family).values() if isinstance(each, Setting)]
    assert declared
    assert [each.name for each in declared if SETTINGS.get(each.name) is not each] == []


@pytest.mark.parametrize("family", [group, kafka_clients, observability, processing, state])
def test_every_default_is_a_value_that_could_be_given(family: ModuleType) -> None:
    """Writing it into a configuration changes nothing. None and empty text mean: not given."""
    for each in vars(family).values():
        if isinstance(each, Setting) and each.default not in (None, ""):
            assert each.parsed(each.default) == each.default
