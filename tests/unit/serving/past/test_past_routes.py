"""Stores as of a commit over HTTP. Exercises ``past_answers`` and ``past.models``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("granian", reason="needs penstock-streams[server]")

from penstock.serving.server import ServingServer
from tests.unit.serving.memory_application import MemoryApplication, one_instance, store_info
from tests.unit.serving.test_server import Client


def application() -> MemoryApplication:
    made = one_instance(store_info("counts", partitions=3), store_info("other"))
    keys = [f"k{number}" for number in range(9)]
    made.cluster.write("counts", *((key, 1) for key in keys))
    made.cluster.commit(10)
    made.cluster.write("counts", ("k0", 2), ("k1", None), ("new", 1))
    made.cluster.commit(11)
    made.cluster.write("counts", ("k0", 3))
    made.cluster.commit(12)
    return made


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with ServingServer(application()) as server:
        yield Client(server.port)


def test_the_commits_are_listed(client: Client) -> None:
    """A slider needs their numbers and their times."""
    _, body, _ = client.get("/commits")
    assert [each["number"] for each in body["commits"]] == [10, 11, 12]
    assert body["commits"][0]["at_ms"] == 1_700_000_000_010


def test_a_key_as_of_a_commit(client: Client) -> None:
    """The answer says which commit it is."""
    status, body, _ = client.get("/stores/counts/k0?commit=11")
    assert (status, body["value"], body["past"]["commit"]["number"]) == (200, 2, 11)
    assert client.get("/stores/counts/k1?commit=10")[1]["value"] == 1
    status, body, _ = client.get("/stores/counts/k1?commit=11")
    assert (status, body["code"]) == (404, "no-such-key")
    assert "past" not in client.get("/stores/counts/k0")[1]


def test_pages_as_of_a_commit_lead_to_each_other(client: Client) -> None:
    """The address of the next page has the commit."""
    found, path = {}, "/stores/counts?commit=10&limit=2"
    while path:
        _, body, _ = client.get(path)
        found |= {row["key"]: row["value"] for row in body["rows"]}
        path = body["next"]
    assert found == {f"k{number}": 1 for number in range(9)}


def test_a_difference_between_two_commits(client: Client) -> None:
    """Over all partitions."""
    _, body, _ = client.get("/changes/counts?first=10&second=12")
    rows = {row["key"]: (row["before"], row["after"]) for row in body["rows"]}
    assert rows == {"k0": (1, 3), "k1": (1, None), "new": (None, 1)}
    assert (body["truncated"], body["second"]["number"]) == (False, 12)
    assert client.get("/changes/counts?first=10&second=12&limit=1")[1]["truncated"]


def test_the_history_of_a_key(client: Client) -> None:
    """Newest first, each with its commit."""
    _, body, _ = client.get("/history/counts/k0")
    assert [(each["value"], each.get("commit")) for each in body["changes"]] == [
        (3, 12), (2, 11), (1, None)
    ]  # fmt: skip
    assert body["is_whole"]


def test_hot_keys_come_first(client: Client) -> None:
    """The number of changes is among the newest ones."""
    _, body, _ = client.get("/hot-keys/counts?limit=2")
    assert body["keys"][0] == {"key": "k0", "changes": 3, "partition": body["keys"][0]["partition"]}
    assert len(body["keys"]) == 2


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/stores/counts?commit=9", 404, "commit-gone"),
        ("/stores/counts?commit=x", 400, "bad-request"),
        ("/changes/counts?first=10", 400, "bad-request"),
        ("/changes/counts?first=12&second=10", 400, "bad-request"),
        ("/changes/nothing?first=10&second=11", 404, "unknown-store"),
        ("/history/counts/a/b", 400, "bad-request"),
        ("/hot-keys/counts?first=3", 400, "bad-request"),
        ("/commits?limit=3", 400, "bad-request"),
    ],
)
def test_what_cannot_be_answered_says_why(
    client: Client, path: str, status: int, code: str
) -> None:
    """With a code that does not change."""
    found = client.get(path)
    assert (found[0], found[1]["code"]) == (status, code)
