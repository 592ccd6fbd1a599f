"""``/plan``: the plan that runs, and what a new version of the program would do to its state.

A new version comes as the file that ``penstock plan --export`` writes. It has no code, so nothing
of it is run.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from penstock.errors import InvalidArgumentError
from penstock.serving.application import Queryable
from penstock.serving.body import limited_body
from penstock.serving.in_thread import in_thread
from penstock.serving.options import Limits
from penstock.serving.parameters import parameters
from penstock.serving.plan.models import PlanModel, PlanReportModel, SectionModel
from penstock.serving.replies import json_response
from penstock.topology.upgrades.fingerprint import PlanFingerprint
from penstock.topology.upgrades.report import new_entry

#: May be asked with POST by whoever may read: it changes nothing.
PLAN_PATH = "/plan"
_MAKE = "make the file again: penstock plan APP.PY --export FILE"


class PlanRoutes:
    """Compare plans with that of the application."""

    def __init__(self, application: Queryable, limits: Limits) -> None:
        self._application, self._limits = application, limits

    def routes(self) -> list[Route]:
        return [Route(PLAN_PATH, self.answer, methods=["GET", "POST"])]

    async def answer(self, request: Request) -> Response:
        parameters(request.scope["query_string"], frozenset())
        running = await in_thread(self._application.plan, self._limits.request_s)
        if request.method != "POST":
            return json_response(self._described(running))
        name, new = _read(await limited_body(request, self._limits.request_bytes))
        entry = new_entry(
            name,
            self._application.application_id,
            new,
            stored=running.to_json(),
            has_run=True,
            is_running=True,
        )
        return json_response(msgspec.convert(entry.to_json(), PlanReportModel))

    def _described(self, plan: PlanFingerprint) -> PlanModel:
        return PlanModel(
            application=self._application.application_id,
            plan=plan.digest,
            sql=plan.sql,
            topics=list(plan.topics),
            sections=[SectionModel(each.name, each.texts) for each in plan.sections],
        )


def _read(body: bytes) -> tuple[str, PlanFingerprint]:
    """Return the name of the new version's file and its plan.

    Raises:
        InvalidArgumentError: ``bad-plan``: it is not such a file, or one of another version.
    """
    try:
        told: dict[str, Any] = json.loads(body)
        name, plan = str(told["name"]), PlanFingerprint.from_json(json.dumps(told["plan"]).encode())
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidArgumentError(
            "bad-plan", "the body is not a plan that penstock has written", fix=_MAKE
        ) from error
    if plan is None:
        raise InvalidArgumentError(
            "bad-plan",
            f"the plan of {name!r} was written by another version of Penstock",
            fix=f"{_MAKE}, with the version that runs here",
        )
    return name, plan
