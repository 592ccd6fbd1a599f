"""Which copies may answer, in which order."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.serving.application import Instance, Location, NotAvailableError
from penstock.serving.places import places
from tests.unit.serving.memory_application import store_info

ONE, TWO, THREE = (Instance(id=name, address=f"{name}:80") for name in ("one", "two", "three"))
SILENT = Instance(id="silent")


class Located:
    """An application, "one", that knows one location."""

    instance_id = "one"

    def __init__(self, owner: Instance | None, *copies: Instance) -> None:
        self._location = Location(owner, copies)

    def location(self, store: str, partition: int) -> Location:
        return self._location


def found(located: Located, *, is_global: bool = False, **given: bool) -> list[str]:
    application: Any = located
    asked = {"allows_stale": False, "is_forwarded": False, **given}
    named = places(application, store_info("s", is_global=is_global), 0, **asked)
    return ["here" if each is None else each.id for each in named]


def test_the_owner_answers() -> None:
    assert found(Located(ONE, TWO)) == ["here"]
    assert found(Located(TWO, ONE, THREE)) == ["two"]


def test_with_staleness_the_nearest_copy_comes_first_and_the_owner_next() -> None:
    assert found(Located(TWO, ONE, THREE), allows_stale=True) == ["here", "two", "three"]
    assert found(Located(TWO, THREE), allows_stale=True) == ["two", "three"]
    assert found(Located(ONE, THREE), allows_stale=True) == ["here", "three"]
    assert found(Located(None, THREE), allows_stale=True) == ["three"]


def test_a_forwarded_question_goes_no_further() -> None:
    assert found(Located(ONE, TWO), is_forwarded=True) == ["here"]
    assert found(Located(TWO, ONE), is_forwarded=True, allows_stale=True) == ["here"]
    with pytest.raises(NotAvailableError, match="on its way"):
        found(Located(TWO, ONE), is_forwarded=True)


def test_instances_without_an_address_cannot_be_asked() -> None:
    with pytest.raises(NotAvailableError, match="partition-moving"):
        found(Located(SILENT))
    assert found(Located(SILENT, SILENT, THREE), allows_stale=True) == ["three"]


def test_nobody_answers_while_a_partition_moves() -> None:
    for copies in ((), (ONE,), (TWO, THREE)):
        with pytest.raises(NotAvailableError, match="on its way"):
            found(Located(None, *copies))


def test_a_global_store_is_asked_here_first() -> None:
    assert found(Located(TWO), is_global=True) == ["here", "two"]
    assert found(Located(None), is_global=True) == ["here"]
