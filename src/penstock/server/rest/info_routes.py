"""What the server tells of itself: ``/info``, ``/healthcheck``, ``/clusterStatus`` and others."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

import penstock
from penstock.errors import PenstockError
from penstock.server.commands.runner import RunnerState
from penstock.server.errors import BadRequestError
from penstock.server.metrics import node_metrics
from penstock.server.node import ServerNode
from penstock.server.rest.openapi import openapi_document
from penstock.server.rest.replies import answering, body_of, json_reply
from penstock.serving.prometheus import CONTENT_TYPE, to_prometheus

#: No host has a longer name.
_MOST_NAME = 300


class InfoRoutes:
    """Answer requests about the server; none of them changes anything."""

    def __init__(self, node: ServerNode) -> None:
        self._node = node
        self._cluster_id: str | None = None

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/", self.redirect, methods=["GET"]),
            Route("/info", answering(self.info), methods=["GET"]),
            Route("/healthcheck", answering(self.healthcheck), methods=["GET"]),
            Route("/clusterStatus", answering(self.cluster_status), methods=["GET"]),
            Route("/v1/metadata", answering(self.metadata), methods=["GET"]),
            Route("/v1/metadata/id", answering(self.metadata_id), methods=["GET"]),
            Route("/heartbeat", answering(self.heartbeat), methods=["POST"]),
            Route("/lag", answering(self.lag), methods=["POST"]),
            Route("/chc/ready", answering(self.ready), methods=["GET"]),
            Route("/chc/live", answering(self.live), methods=["GET"]),
            Route("/metrics", self.metrics, methods=["GET"]),
            Route("/openapi.json", answering(self.openapi), methods=["GET"]),
        ]

    async def redirect(self, request: Request) -> Response:
        return RedirectResponse("/info", 307)

    async def info(self, request: Request) -> Any:
        return {
            "KsqlServerInfo": {
                "version": penstock.__version__,
                "kafkaClusterId": await self._cluster(),
                "ksqlServiceId": self._node.options.service_id,
                "serverStatus": self._node.server_status,
            }
        }

    async def _cluster(self) -> str:
        """Return the id of the Kafka cluster; once it is known, no thread is needed for it."""
        if self._cluster_id is None and self._node.admin is not None:
            return await asyncio.to_thread(self._kafka_cluster)
        return self._cluster_id or ""

    def _kafka_cluster(self) -> str:
        """Return the id of the Kafka cluster, asked once; empty while Kafka does not answer."""
        if self._cluster_id is None and self._node.admin is not None:
            try:
                self._cluster_id = self._node.admin.cluster().id
            except PenstockError:
                return ""
        return self._cluster_id or ""

    async def healthcheck(self, request: Request) -> Any:
        is_kafka_there = await asyncio.to_thread(self._reaches_kafka)
        runner = self._node.runner
        details = {
            "metastore": {"isHealthy": runner.state is not RunnerState.STARTING},
            "kafka": {"isHealthy": is_kafka_there},
            "commandRunner": {"isHealthy": runner.state is RunnerState.RUNNING},
        }
        is_healthy = all(each["isHealthy"] for each in details.values())
        body = {
            "isHealthy": is_healthy,
            "details": details,
            "serverState": "READY" if is_healthy else self._node.server_status,
        }
        return json_reply(body, 200 if is_healthy else 503)

    def _reaches_kafka(self) -> bool:
        if self._node.admin is None:
            return True
        try:
            self._node.admin.cluster()
        except PenstockError:
            return False
        return True

    async def cluster_status(self, request: Request) -> Any:
        own = {
            "hostAlive": True,
            "lastStatusUpdateMs": 0,
            "activeStandbyPerQuery": {},
            "hostStoreLags": {"stateStoreLags": {}, "updateTimeMs": 0},
            "queryStatuses": self._node.own_statuses(),
        }
        others = {
            host: {
                **own,
                "hostAlive": is_alive,
                "lastStatusUpdateMs": report.heard_ms,
                "queryStatuses": dict(report.statuses),
            }
            for host, (report, is_alive) in self._node.hosts.reports().items()
        }
        return {"clusterStatus": {self._node.host: own, **others}}

    async def metadata(self, request: Request) -> Any:
        return {"version": penstock.__version__, "clusterId": await self.metadata_id(request)}

    async def metadata_id(self, request: Request) -> Any:
        clusters = {
            "kafka-cluster": await self._cluster(),
            "ksql-cluster": self._node.options.service_id,
        }
        return {"id": "", "scope": {"path": [], "clusters": clusters}}

    async def heartbeat(self, request: Request) -> Any:
        body = await body_of(request)
        host = body.get("hostInfo")
        if not isinstance(host, str | dict):
            raise BadRequestError("bad-body", "hostInfo is missing")
        name = host if isinstance(host, str) else f"{host.get('host')}:{host.get('port')}"
        if len(name) > _MOST_NAME:
            raise BadRequestError("bad-body", "hostInfo is too long")
        self._node.hosts.hear(name)
        return {"isOk": True}

    async def lag(self, request: Request) -> Any:
        await body_of(request)
        return {"isOk": True}

    async def ready(self, request: Request) -> Any:
        is_ready = self._node.runner.state is RunnerState.RUNNING
        return json_reply({}, 200 if is_ready else 503)

    async def live(self, request: Request) -> Any:
        return {}

    async def metrics(self, request: Request) -> Response:
        page = await asyncio.to_thread(lambda: to_prometheus(node_metrics(self._node)))
        return Response(page, media_type=CONTENT_TYPE.decode())

    async def openapi(self, request: Request) -> Any:
        return openapi_document()
