"""A new version is compared over HTTP with the plan that runs. Exercises ``plan.models``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("granian", reason="needs penstock-streams[server]")

import penstock as ps
from penstock.config import StreamsConfig
from penstock.runtime.settings import plan_fingerprint
from penstock.serving.credentials import Credentials
from penstock.serving.options import ServerOptions
from penstock.serving.server import ServingServer
from penstock.topology.upgrades.fingerprint import PlanFingerprint
from tests.unit.serving.failed.test_failed_routes import Server
from tests.unit.serving.memory_application import MemoryApplication, one_instance
from tests.unit.serving.memory_letters import MemoryLetters

CONFIG = StreamsConfig(
    {"application.id": "app", "default.key.serde": "string", "default.value.serde": "json"}
)


def plan(*, filters: bool = False, store: str = "counts") -> PlanFingerprint:
    builder = ps.StreamsBuilder()
    words = builder.stream("words")
    if filters:
        words = words.filter(lambda _, word: bool(word))
    words.group_by_key().count(store)
    return plan_fingerprint(builder.build().graph, CONFIG)


class Planned(MemoryApplication):
    def plan(self) -> PlanFingerprint:
        return plan()


def exported(new: PlanFingerprint) -> dict[str, Any]:
    return {"name": "words.py", "plan": json.loads(new.to_json())}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    application = Planned(one_instance().cluster)
    with ServingServer(application) as served:
        yield Server(served.port, application, MemoryLetters())


def test_the_plan_that_runs_is_in_words(server: Server) -> None:
    """Each store with what its state depends on."""
    status, body, _ = server.get("/plan")
    assert (status, body["application"], body["topics"]) == (200, "app", ["words"])
    assert body["plan"] == plan().digest
    assert [each["name"] for each in body["sections"]] == ["store 'counts'"]
    assert "key string" in body["sections"][0]["lines"]


@pytest.mark.parametrize(
    ("new", "status", "parts"),
    [
        (plan(), "unchanged", {"store 'counts'": "unchanged"}),
        (plan(filters=True), "refused", {"store 'counts'": "refused"}),
        (
            plan(store="words-by-key"),
            "changed",
            {"store 'counts'": "removed", "store 'words-by-key'": "added"},
        ),
    ],
)
def test_a_new_version_is_compared_with_what_runs(
    new: PlanFingerprint, status: str, parts: dict[str, str], server: Server
) -> None:
    """As ``penstock plan`` does; who may read may ask."""
    code, body = server.post(exported(new), "/plan")
    assert (code, body["status"], body["running"], body["name"]) == (200, status, True, "words.py")
    assert {part["name"]: part["status"] for part in body["parts"]} == parts


def test_a_refused_plan_says_what_changed_and_the_ways_out(server: Server) -> None:
    """The line that came, and the setting that accepts it."""
    new = plan(filters=True)
    _, body = server.post(exported(new), "/plan")
    (change,) = body["parts"][0]["changes"]
    assert (change["removed"], change["added"]) == ([], ["filter"])
    assert body["acceptable"]
    assert new.digest in body["fix"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"{", "not a plan"),
        ([], "not a plan"),
        ({"name": "x"}, "not a plan"),
        ({"name": "x", "plan": []}, "not a plan"),
        ({"name": "x", "plan": {"version": 1, "sections": 3}}, "not a plan"),
        ({"name": "x", "plan": {"version": 99}}, "another version"),
    ],
)
def test_a_body_that_is_no_plan_is_refused(body: Any, said: str, server: Server) -> None:
    """With the command that makes one."""
    status, answer = server.post(body, "/plan")
    assert (status, answer["code"]) == (400, "bad-plan")
    assert said in answer["message"]
    assert "--export" in answer["fix"]


def test_who_may_not_read_may_not_compare() -> None:
    """The answer tells how the program is built."""
    options = ServerOptions(credentials=Credentials.of(read_tokens=("reader",)))
    application = Planned(one_instance().cluster)
    with ServingServer(application, options) as served:
        asked = Server(served.port, application, MemoryLetters())
        assert asked.post(exported(plan()), "/plan")[0] == 401
        assert asked.post(exported(plan()), "/plan", Authorization="Bearer reader")[0] == 200
        status, body = asked.post({}, "/stores", Authorization="Bearer reader")
    assert (status, body["code"]) == (403, "read-only")
