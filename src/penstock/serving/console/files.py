"""``/console``: the files of the page, which are built from ``console/`` of the repository.

They hold no data, so they need no credentials: the page asks for a token and sends it with every
question. The policy lets the page run only its own scripts and talk only to its own server.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

#: Requests below this path need no credentials.
CONSOLE_PATH = "/console"
#: What the console can show of an application.
PAGES = ("now", "topology", "stores", "tasks", "journey", "failed", "changes")
_FOLDER = Path(__file__).with_name("static")
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
_HEADERS = {
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "vary": "accept-encoding",
    # The names of files stay the same from version to version, so a browser asks every time.
    "cache-control": "no-cache",
}


@dataclass(frozen=True, slots=True)
class ConsoleFile:
    """One file, as it is and compressed."""

    content_type: str
    data: bytes
    packed: bytes
    etag: str


def console_routes() -> list[Route]:
    """Return the routes of the page and its files."""
    return [
        Route(CONSOLE_PATH, _to_folder, methods=["GET"]),
        Route(f"{CONSOLE_PATH}/", _index, methods=["GET"]),
        Route(f"{CONSOLE_PATH}/{{name}}", _named, methods=["GET"]),
    ]


def is_console_path(path: str) -> bool:
    """Return whether a path is one of the page's files."""
    return path == CONSOLE_PATH or path.startswith(f"{CONSOLE_PATH}/")


async def _to_folder(request: Request) -> Response:
    # Relative, so that it holds behind a proxy that puts a path in front, too.
    return RedirectResponse("console/", 308, {"cache-control": "no-cache"})


async def _index(request: Request) -> Response:
    return _file(request, "index.html")


async def _named(request: Request) -> Response:
    return _file(request, request.path_params["name"])


def _file(request: Request, name: str) -> Response:
    found = console_files().get(name)
    if found is None:
        return Response("there is no such file", 404, _HEADERS, "text/plain")
    headers = {**_HEADERS, "etag": found.etag}
    if request.headers.get("if-none-match") == found.etag:
        return Response(None, 304, headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["content-encoding"] = "gzip"
        return Response(found.packed, 200, headers, found.content_type)
    return Response(found.data, 200, headers, found.content_type)


@cache
def console_files() -> dict[str, ConsoleFile]:
    """Return the files by name; they are read once."""
    return {path.name: _read(path) for path in sorted(_FOLDER.iterdir()) if path.suffix in _TYPES}


def _read(path: Path) -> ConsoleFile:
    data = path.read_bytes()
    # Without a time, so that the same file always packs into the same bytes.
    packed = gzip.compress(data, compresslevel=9, mtime=0)
    return ConsoleFile(_TYPES[path.suffix], data, packed, f'"{sha256(data).hexdigest()[:32]}"')
