"""Routes about the application as a whole: stores, instances, topology, health, metrics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from penstock.extras import package_version
from penstock.serving.application import Health, Instance, Queryable, StoreInfo
from penstock.serving.console.files import PAGES
from penstock.serving.credentials import Access
from penstock.serving.in_thread import in_thread
from penstock.serving.key_text import key_form
from penstock.serving.openapi import openapi_document
from penstock.serving.parameters import LOCATION_PARAMETERS, bad_request, parameters, unquoted
from penstock.serving.prometheus import CONTENT_TYPE, to_prometheus
from penstock.serving.replies import NO_STORE, encoder, json_response
from penstock.serving.store_routes import StoreRoutes
from penstock.serving.wire.json_values import to_raw
from penstock.serving.wire.models import (
    AboutModel,
    HealthModel,
    InstanceModel,
    KeyLocationModel,
    MetadataModel,
    PositionModel,
    RestoreModel,
    StoreModel,
    StoresModel,
    TopologyModel,
)

#: An SVG may contain scripts. The policy makes sure that a browser runs none of them.
_SVG_HEADERS = {
    **NO_STORE,
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
}


class StatusRoutes:
    """Answer requests that are not about one store."""

    def __init__(self, application: Queryable, stores: StoreRoutes, request_s: float) -> None:
        self._application = application
        self._stores = stores
        self._request_s = request_s

    def routes(self) -> list[Route]:
        paths = {
            "/about": self.about,
            "/openapi.json": self.openapi,
            "/stores": self.stores,
            "/metadata": self.metadata,
            "/metadata/{store}/{key}": self.key_location,
            "/topology": self.topology,
            "/topology.svg": self.topology_svg,
            "/health/live": self.live,
            "/health/ready": self.ready,
            "/metrics": self.metrics,
        }
        return [Route(path, answer, methods=["GET"]) for path, answer in paths.items()]

    async def openapi(self, request: Request) -> Response:
        return json_response(openapi_document())

    async def about(self, request: Request) -> Response:
        access: Access = request.scope["penstock.access"]
        name = self._application.application_id
        return json_response(
            AboutModel("application", name, package_version(), access.name.lower(), [*PAGES])
        )

    async def stores(self, request: Request) -> Response:
        application = self._application
        stores = [_store_model(info) for _, info in sorted(application.stores().items())]
        return json_response(StoresModel(application.application_id, stores))

    async def metadata(self, request: Request) -> Response:
        application = self._application
        instances = [instance_model(each) for each in application.instances()]
        return json_response(
            MetadataModel(application.application_id, application.instance_id, instances)
        )

    async def key_location(self, request: Request) -> Response:
        """Say where a key is read: Kafka Streams' ``queryMetadataForKey``."""
        parts = request.scope["raw_path"].split(b"/")
        if len(parts) != 4:
            raise bad_request("a key has no slash", "write it as %2F")
        given = parameters(request.scope["query_string"], LOCATION_PARAMETERS)
        info = self._stores.info(unquoted(parts[2]))
        key = self._stores.key(info, unquoted(parts[3]), given.key_format)
        partition = self._stores.partition(info, key)
        location = self._application.location(info.name, partition)
        owner = location.owner
        return json_response(
            KeyLocationModel(
                info.name,
                to_raw(key, info.key_serde, info.changelog),
                partition,
                None if owner is None else instance_model(owner),
                [instance_model(each) for each in location.copies],
            )
        )

    async def topology(self, request: Request) -> Response:
        wants = request.headers.get("accept", "")
        if "image/svg+xml" in wants:
            return await self.topology_svg(request)
        described: Mapping[str, Any] = await in_thread(self._application.topology, self._request_s)
        body = TopologyModel(self._application.application_id, dict(described))
        # msgspec turns the model into plain values; orjson writes every value of the description.
        return Response(orjson.dumps(msgspec.to_builtins(body)), 200, NO_STORE, "application/json")

    async def topology_svg(self, request: Request) -> Response:
        picture = await in_thread(self._application.topology_svg, self._request_s)
        return Response(picture, 200, _SVG_HEADERS, "image/svg+xml")

    async def live(self, request: Request) -> Response:
        health = await in_thread(self._application.health, self._request_s)
        return _health(health, request, is_up=health.is_alive)

    async def ready(self, request: Request) -> Response:
        health = await in_thread(self._application.health, self._request_s)
        return _health(health, request, is_up=health.is_alive and health.is_ready)

    async def metrics(self, request: Request) -> Response:
        found = await in_thread(self._application.metrics, self._request_s)
        return Response(to_prometheus(found), 200, NO_STORE, CONTENT_TYPE.decode())


def _health(health: Health, request: Request, *, is_up: bool) -> Response:
    status = "UP" if is_up else "DOWN"
    if request.scope["penstock.access"] is Access.NONE:
        # Probes need no token, so they learn only whether the application is up or down.
        model = HealthModel(status)
    else:
        model = _health_model(health, status)
    code = 200 if is_up else 503
    headers = NO_STORE if is_up else {**NO_STORE, "retry-after": "1"}
    return Response(encoder.encode(model), code, headers, "application/json")


def _health_model(health: Health, status: str) -> HealthModel:
    lag: PositionModel | None = None
    total = None
    if health.lag is not None:
        lag = {t: {str(p): n for p, n in parts.items()} for t, parts in health.lag.items()}
        total = sum(sum(parts.values()) for parts in health.lag.values())
    return HealthModel(
        status=status,
        state=health.state,
        is_leader=health.is_leader,
        waiting_for=health.waiting_for,
        total_lag=total,
        lag=lag,
        restoring=[
            RestoreModel(each.store, each.partition, each.start, each.position, each.end)
            for each in health.restoring
        ],
        error=health.error,
        batch=health.batch,
    )


def instance_model(instance: Instance) -> InstanceModel:
    return InstanceModel(
        id=instance.id,
        address=instance.address,
        is_leader=instance.is_leader,
        tags=dict(instance.tags),
        owned={store: list(parts) for store, parts in instance.owned.items()},
        copies={store: list(parts) for store, parts in instance.copies.items()},
    )


def _store_model(info: StoreInfo) -> StoreModel:
    return StoreModel(
        name=info.name,
        kind=info.kind.value,
        partitions=info.partitions,
        is_global=info.is_global,
        key_form=key_form(info.key_serde)[0],
        key_serde=type(info.key_serde).__name__,
        value_serde=type(info.value_serde).__name__,
        window_size_ms=info.window_size_ms,
    )
