"""Parts of URLs. A text that is not a URL is an error; a missing part is NULL."""

from __future__ import annotations

import re
from urllib.parse import quote_plus, unquote, unquote_plus

from penstock.model.sql.errors import FunctionError
from penstock.sql.functions.declare import scalar

# RFC 3986, appendix B, without the characters that java.net.URI refuses.
_URL = re.compile(
    r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/?#\s]*))?([^?#\s\"<>\\^`{|}]*)"
    r"(?:\?([^#\s\"<>\\^`{|}]*))?(?:#([^\s\"<>\\^`{|}#]*))?"
)
# RFC 2396: labels of letters, digits and hyphens; the last label begins with a letter. Any
# other authority, such as one with an underscore, has neither host nor port for java.net.URI.
_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_HOST = re.compile(
    rf"(?:[^@]*@)?((?:{_LABEL}\.)*(?=[A-Za-z]){_LABEL}\.?|\d{{1,3}}(?:\.\d{{1,3}}){{3}}|\[[0-9A-Fa-f:.%\w]+\])"
    r"(?::(\d*))?"
)


def _part(url: str, group: int) -> str | None:
    match = _URL.fullmatch(url)
    if match is None or re.search(r"%(?![0-9A-Fa-f]{2})", url):
        raise FunctionError("bad-url", f"{url!r} is not a URL")
    return match[group]


def _authority(url: str) -> re.Match[str] | None:
    authority = _part(url, 2)
    return _HOST.fullmatch(authority) if authority else None


@scalar("URL_EXTRACT_PROTOCOL", "STRING -> STRING")
def url_extract_protocol(url: str) -> str | None:
    """Return the protocol of a URL."""
    return _part(url, 1)


@scalar("URL_EXTRACT_HOST", "STRING -> STRING")
def url_extract_host(url: str) -> str | None:
    """Return the host of a URL."""
    match = _authority(url)
    return match[1] or None if match else None


@scalar("URL_EXTRACT_PORT", "STRING -> INTEGER")
def url_extract_port(url: str) -> int | None:
    """Return the port of a URL."""
    match = _authority(url)
    return int(match[2]) if match and match[2] else None


@scalar("URL_EXTRACT_PATH", "STRING -> STRING")
def url_extract_path(url: str) -> str | None:
    """Return the path of a URL."""
    path = _part(url, 3)
    if _part(url, 1) and _part(url, 2) is None and path and not path.startswith("/"):
        return None
    return unquote(path) if path is not None else None


@scalar("URL_EXTRACT_QUERY", "STRING -> STRING")
def url_extract_query(url: str) -> str | None:
    """Return the query of a URL: the part after the question mark."""
    query = _part(url, 4)
    return None if query is None else unquote(query)


@scalar("URL_EXTRACT_FRAGMENT", "STRING -> STRING")
def url_extract_fragment(url: str) -> str | None:
    """Return the fragment of a URL: the part after the hash sign."""
    fragment = _part(url, 5)
    return None if fragment is None else unquote(fragment)


@scalar("URL_EXTRACT_PARAMETER", "STRING, STRING -> STRING")
def url_extract_parameter(url: str, name: str) -> str | None:
    """Return the value of a parameter in a URL's query, an empty text if it has no value."""
    query = url_extract_query(url)
    # As the whole query is decoded first, an encoded & also ends a value.
    for pair in [] if query is None else query.split("&"):
        key, _, value = pair.partition("=")
        if key == name:
            return value
    return None


@scalar("URL_ENCODE_PARAM", "STRING -> STRING")
def url_encode_param(text: str) -> str:
    """Encode a text as a parameter of a URL."""
    return quote_plus(text, safe="*-._").replace("~", "%7E")


@scalar("URL_DECODE_PARAM", "STRING -> STRING")
def url_decode_param(text: str) -> str:
    """Decode a parameter of a URL."""
    if re.search(r"%(?![0-9A-Fa-f]{2})", text):
        raise FunctionError("bad-url", f"{text!r} has a percent sign without two digits")
    return unquote_plus(text)
