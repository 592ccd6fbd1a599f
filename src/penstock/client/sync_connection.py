"""The blocking connection to a server: whole answers, and answers line by line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

import httpx2

from penstock.client.errors import ServerUnreachableError
from penstock.client.options import ClientOptions
from penstock.client.wire import Lines, Request, parsed


class Connection:
    """Send requests and return their answers; it may be used by several threads."""

    def __init__(
        self, options: ClientOptions, transport: httpx2.BaseTransport | None = None
    ) -> None:
        self._options = options
        self._http = httpx2.Client(**options.http_arguments(), transport=transport)

    def send(self, request: Request) -> Any:
        """Return the JSON of the answer.

        Raises:
            RequestRefusedError: the server refused the request.
            ServerUnreachableError: there was no answer.
        """
        with reaching(self._options):
            response = self._http.send(self._request(request))
        return parsed(response.status_code, response.content, request)

    def open(self, request: Request, *, is_endless: bool = False) -> Chunks:
        """Return the chunks of a streamed answer; an endless one may pause for any time."""
        with reaching(self._options):
            sent = self._request(request, has_read_timeout=not is_endless)
            response = self._http.send(sent, stream=True)
            if response.status_code >= 400:
                response.read()
                response.close()
        if response.status_code >= 400:
            parsed(response.status_code, response.content, request)
        return Chunks(response, self._options)

    def close(self) -> None:
        self._http.close()

    def _request(self, request: Request, *, has_read_timeout: bool = True) -> httpx2.Request:
        timeout = httpx2.Timeout(
            self._options.timeout_s, read=self._options.timeout_s if has_read_timeout else None
        )
        return self._http.build_request(
            request.method,
            request.path,
            content=request.body,
            headers=request.headers,
            timeout=timeout,
        )


class Chunks:
    """The chunks of one streamed answer. Closing it tells the server to stop sending."""

    def __init__(self, response: httpx2.Response, options: ClientOptions) -> None:
        self._response = response
        self._options = options
        self._chunks = response.iter_bytes()
        #: The number of the cut that the server answers from; None if it is not from a cut.
        self.cut = cut_of(response)

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        with reaching(self._options):
            return next(self._chunks)

    def lines(self) -> Iterator[bytes]:
        """Yield the answer line by line."""
        lines = Lines()
        for chunk in self:
            yield from lines.feed(chunk)
        yield from lines.end()

    def close(self) -> None:
        self._response.close()

    def __enter__(self) -> Chunks:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def cut_of(response: httpx2.Response) -> int | None:
    """Return the number of the cut that a server has answered from."""
    text = response.headers.get("penstock-cut", "")
    return int(text) if text.isdecimal() else None


@contextmanager
def reaching(options: ClientOptions) -> Iterator[None]:
    """Turn errors of the HTTP library into the client's own."""
    try:
        yield
    except httpx2.TimeoutException:
        raise ServerUnreachableError(
            "server-timeout",
            f"the server at {options.base_url} did not answer within {options.timeout_s:g} s",
            fix="give the client a longer timeout, or look at the server's log",
        ) from None
    except (httpx2.HTTPError, httpx2.StreamError) as error:
        raise ServerUnreachableError(
            "server-unreachable",
            f"there is no answer from {options.base_url}: {str(error) or type(error).__name__}",
            fix="start one with: penstock server, or name another address",
        ) from None
