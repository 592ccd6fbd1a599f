"""Write ``llms.txt`` and the Markdown form of every page, draw SVG files inline, rank the search.

MkDocs calls the functions that begin with ``on_``. ``mkdocs.yml`` names this file.
"""

from __future__ import annotations

import importlib
import inspect
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DIRECTIVE = re.compile(r"^::: (\S+)(?:\n(?: {4}.*|\s*)$)*", re.MULTILINE)
IMAGE = re.compile(r'(?:<p>)?<img alt="([^"]*)" src="([^"]+\.svg)" ?/?>(?:</p>)?')
CELL_CODE = re.compile(r"<code>([^<]+)</code>(?=(?:(?!</?t[dr]|<table).)*</td>)", re.DOTALL)
SUMMARY = "Kafka Streams and ksqlDB for Python, run by Spark."

#: How much a hit on a page counts in the search, by the beginning of its path. A reader who asks
#: "reset" wants the guide first, then the reference, and the reasons behind it last.
BOOSTS = {
    "how-to/": 3.0,
    "start/": 2.0,
    "concepts/": 2.0,
    "coming-from/": 1.5,
    "reference/api/": 0.5,
    "contributing/": 0.3,
    "decisions/": 0.2,
}

#: The Markdown of every page by the path of its source, in the order of the build.
_texts: dict[str, str] = {}


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Keep the Markdown with API directives replaced; tell the search how much a hit counts."""
    _texts[page.file.src_uri] = DIRECTIVE.sub(lambda found: api_text(found[1]), markdown)
    page.meta.setdefault("search", {"boost": boost_of(page.file.src_uri)})
    return markdown


def boost_of(source: str) -> float:
    """Return how much a hit on this page counts in the search; 1 is the normal weight."""
    return next((boost for start, boost in BOOSTS.items() if source.startswith(start)), 1.0)


def on_page_content(html: str, page: Any, config: Any, **_: Any) -> str:
    """Put drawings into the page, so that they follow its colours; let names in tables break."""
    docs = Path(config["docs_dir"])

    def drawn(found: re.Match[str]) -> str:
        file = docs / posixpath.normpath(posixpath.join(page.url, found[2]))
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        if 'class="drawing"' not in text:
            return found[0]
        return f'<figure class="drawing" aria-label="{found[1]}">{text}</figure>'

    return CELL_CODE.sub(breakable, IMAGE.sub(drawn, html))


def breakable(found: re.Match[str]) -> str:
    """Let a long name in a table break behind its dots, underscores and slashes."""
    name = re.sub(r"([._/])(?=[a-zA-Z])", r"\1<wbr>", found[1])
    return f"<code>{name}</code>"


def on_post_build(config: Any, **_: Any) -> None:
    """Write one Markdown file beside each page, and the list of them."""
    site = Path(config["site_dir"])
    for source, text in _texts.items():
        target = site / source
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    (site / "llms.txt").write_text(listed(_texts), encoding="utf-8")


def listed(texts: dict[str, str]) -> str:
    """Return ``llms.txt``: every page with its title and its first sentence, by section."""
    lines = ["# Penstock", "", f"> {SUMMARY}", ""]
    section = None
    for source in sorted(texts, key=lambda name: (name.count("/") > 0, name)):
        here = source.split("/")[0].removesuffix(".md").replace("-", " ").capitalize()
        if here != section:
            section = here
            lines += ["", f"## {section}", ""] if "/" in source else []
        title, first = title_and_first_sentence(texts[source])
        lines.append(f"- [{title}]({source}){': ' + first if first else ''}")
    return "\n".join(lines) + "\n"


def title_and_first_sentence(text: str) -> tuple[str, str]:
    """Return the heading of a page and the first sentence below it."""
    title = next((line[2:] for line in text.splitlines() if line.startswith("# ")), "")
    body = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    for paragraph in re.split(r"\n\s*\n", body):
        plain = " ".join(paragraph.split())
        if plain and plain[0] not in "#|<!:`-*" and not plain.startswith("---"):
            plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", plain)
            return title, re.split(r"(?<=[.:])\s", plain)[0].rstrip(":")
    return title, ""


def api_text(name: str) -> str:
    """Return the signature and docstrings of a public name as Markdown."""
    module, _, item = name.rpartition(".")
    value = getattr(importlib.import_module(module), item)
    return "\n".join(_described(item, value))


def _described(name: str, value: Any) -> Iterator[str]:
    yield f"## `{name}{_signature(value)}`"
    yield ""
    yield inspect.getdoc(value) or ""
    if inspect.isclass(value):
        for member, function in sorted(vars(value).items()):
            plain = getattr(function, "__func__", function)
            if not member.startswith("_") and inspect.isroutine(plain):
                yield f"\n### `{name}.{member}{_signature(plain)}`\n"
                yield inspect.getdoc(plain) or ""
    yield ""


def _signature(value: Any) -> str:
    try:
        return str(inspect.signature(value))
    except (TypeError, ValueError):
        return ""
