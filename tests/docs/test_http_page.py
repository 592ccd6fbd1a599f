"""The page on HTTP has every route and every parameter of the OpenAPI document."""

from __future__ import annotations

import re

import pytest

from penstock.server.rest.openapi import openapi_document as sql_document
from penstock.serving.openapi import openapi_document
from tests.docs.pages import DOCS

PAGE = (DOCS / "reference" / "http.md").read_text(encoding="utf-8")


SQL_PAGE = (DOCS / "reference" / "sql-server.md").read_text(encoding="utf-8")


def test_every_route_of_the_sql_server_is_on_its_page() -> None:
    """What is behind a parameter of a path has no line of its own."""
    paths = {re.sub(r"/\{.*", "", path) for path in sql_document()["paths"]}
    assert [path for path in sorted(paths) if path not in SQL_PAGE] == []


def test_every_route_is_on_the_page() -> None:
    """A new route gets a line in the table of routes."""
    document = openapi_document()
    assert [path for path in document["paths"] if f"`{path}`" not in PAGE] == []


@pytest.mark.parametrize("path", ["/stores/{store}", "/stores/{store}/{key}"])
def test_every_parameter_of_stores_is_on_the_page(path: str) -> None:
    """A new parameter is explained where readers look for it."""
    parameters = openapi_document()["paths"][path]["get"]["parameters"]
    names = [each["name"] for each in parameters if each["in"] != "path"]
    assert [name for name in names if f"`{name}" not in PAGE] == []
