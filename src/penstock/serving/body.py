"""The body of a request, up to the limit of ``penstock.server.max.request.bytes``."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request


async def limited_body(request: Request, most: int) -> bytes:
    """Return the body; refuse one that is too long, also if its length was not stated."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise HTTPException(
                413,
                f"the body has more than {most} bytes:"
                " raise penstock.server.max.request.bytes to send it",
            )
    return bytes(body)
