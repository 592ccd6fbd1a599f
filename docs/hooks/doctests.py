"""Show examples in docstrings as code: put fences around lines that begin with ``>>>``.

mkdocstrings does so itself only below a heading ``Examples:``. ``mkdocs.yml`` names this file.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"(?:^ *>>> .*\n?(?:^ *\S.*\n?)*)+", re.MULTILINE)


class Doctests(griffe.Extension):
    """Rewrites the docstring of every object that is read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Put fences around the examples of one object."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """Return a docstring with its examples inside of fences."""
    return _EXAMPLE.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", text)
