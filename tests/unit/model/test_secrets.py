"""Which settings are printed, and which are not."""

import pytest

from penstock.model.secrets import HIDDEN, all_shown, is_secret, shown


@pytest.mark.parametrize(
    "name",
    [
        "database.password",
        "sasl.jaas.config",
        "basic.auth.user.info",
        "ssl.key.password",
        "AWS.Secret.Access.Key",
        "github.token",
    ],
)
def test_a_name_tells_a_secret(name: str) -> None:
    """Whatever the case, a part of the name is enough."""
    assert is_secret(name)
    assert shown(name, "x") == HIDDEN


def test_other_values_are_shown_without_the_logins_in_them() -> None:
    """A URL may carry a password in two ways."""
    assert shown("topics", "orders") == "orders"
    assert shown("url", "http://ann:pw@host:1/x") == f"http://{HIDDEN}@host:1/x"
    assert shown("url", "jdbc:x://h/d?user=a&password=pw&b=1").endswith(
        f"?user=a&password={HIDDEN}&b=1"
    )


def test_references_and_empty_values_are_no_secrets() -> None:
    """A worker looks up what ``${…}`` names; the name may be seen."""
    assert all_shown({"db.password": "${file:/run/s:pw}", "db.secret": ""}) == {
        "db.password": "${file:/run/s:pw}",
        "db.secret": "",
    }
