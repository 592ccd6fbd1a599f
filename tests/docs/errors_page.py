"""The reference page of error codes, from the lines that raise them."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.architecture.source import modules, relative, tree
from tests.docs.pages import DOCS

PAGE = DOCS / "reference" / "errors.md"
INTRODUCTION = """\
# Error codes

Every error of Penstock has a code that stays the same, a text with the values, the line of your
program or script, and what to do about it. Programs should compare `error.code`, never the text.

```text
[co-partitioning] stream 'orders' (4 partitions) and table 'users' (6 partitions) cannot be joined
  at:  shop.py:12
  fix: give both topics the same number of partitions, or repartition one side
```

`make docs` writes this page from the code. `{…}` stands for a value. A code with several texts is
raised in several places. What Kafka itself reports is on [Errors of Kafka](kafka-errors.md).
"""
CODE = re.compile(r"[a-z]+(?:-[a-z0-9]+)*")

#: Headings of the page, and the folders below the package whose errors stand there.
AREAS: dict[str, tuple[str, ...]] = {
    "Programs and topologies": ("dsl", "topology", "processor", "model", "expr"),
    "Settings": ("config.py", "setting.py", "settings"),
    "Records and serdes": ("serde", "formats", "registry", "kernel"),
    "State stores": ("state", "query"),
    "Running applications": ("runtime",),
    "HTTP": ("serving", "server", "client", "wire"),
    "Kafka and the private broker": ("kafka",),
    "SQL": ("sql",),
    "Command line and tests": ("cli", "testing"),
}


@dataclass(frozen=True, slots=True, order=True)
class RaisedError:
    """One line that makes an error: its code, its class, its text and its fix as templates."""

    code: str
    kind: str
    message: str
    fix: str
    file: str


def render() -> str:
    """Return the page: a table of codes for each area."""
    by_area: dict[str, dict[str, list[RaisedError]]] = defaultdict(lambda: defaultdict(list))
    for error in raised():
        by_area[area_of(error.file)][error.code].append(error)
    return INTRODUCTION + "".join(_table(area, by_area[area]) for area in AREAS if by_area[area])


def area_of(file: str) -> str:
    """Return the heading under which the errors of a file stand."""
    top = file.split("/", maxsplit=1)[0]
    return next((area for area, folders in AREAS.items() if top in folders), "Other")


def raised() -> list[RaisedError]:
    """Return every error that a line of the package makes with a code written out."""
    return sorted({error for file in modules() for error in _in(file)})


def _in(file: Path) -> Iterator[RaisedError]:
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.Call) and (kind := _error_class(node.func)) and node.args:
            code = node.args[0]
            if isinstance(code, ast.Constant) and CODE.fullmatch(str(code.value)):
                message = _template(node.args[1]) if len(node.args) > 1 else ""
                fix = node.args[2] if len(node.args) > 2 else _keyword(node, "fix")
                yield RaisedError(
                    str(code.value), kind, message, _template(fix) if fix else "", relative(file)
                )


def _error_class(function: ast.expr) -> str:
    name = getattr(function, "id", getattr(function, "attr", ""))
    return name if re.fullmatch(r"[A-Z]\w*Error", name) else ""


def _keyword(node: ast.Call, name: str) -> ast.expr | None:
    return next((each.value for each in node.keywords if each.arg == name), None)


def _template(node: ast.expr) -> str:
    """Return a text with its values left out, as far as the source has it."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(_template(part) for part in parts)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _template(left) + _template(right)
        case ast.FormattedValue(value=value):
            return f"{{{_short(value)}}}"
        case ast.BoolOp(values=values):
            return _template(values[-1])
        case ast.Constant():
            return ""
    return f"{{{_short(node)}}}"


def _short(node: ast.expr) -> str:
    """Return one word for a value: the last name in the expression that makes it."""
    match node:
        case ast.Name(id=name):
            return name.strip("_").replace("_", " ")
        case ast.Attribute(attr=attr):
            return attr.strip("_").replace("_", " ")
        case ast.Call(func=ast.Attribute(value=ast.Constant(), attr="join"), args=[inner, *_]):
            return _short(inner)
        case ast.Call(args=[inner, *_]):
            return _short(inner)
        case ast.Call(func=function):
            return _short(function)
        case ast.Subscript(value=value):
            return _short(value)
    return "…"


def _table(area: str, codes: dict[str, list[RaisedError]]) -> str:
    lines = [f"\n## {area}\n", "| Code | Text | What to do |", "|---|---|---|"]
    for code, errors in sorted(codes.items()):
        texts = list(dict.fromkeys(_cell(each.message) for each in errors if each.message))
        fixes = list(dict.fromkeys(_cell(each.fix) for each in errors if each.fix))
        kinds = ", ".join(f"`{kind}`" for kind in sorted({each.kind for each in errors}))
        lines.append(
            f'| <a id="{code}"></a>`{code}` {kinds} | {"<br>".join(texts)} | {"<br>".join(fixes)} |'
        )
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    text = " ".join(text.replace("|", "\\|").split())
    return text.replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")
