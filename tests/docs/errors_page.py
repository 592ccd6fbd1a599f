"""The reference page of error codes, from the lines that raise them."""

from __future__ import annotations

import ast
import builtins
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.architecture.source import modules, relative, tree
from tests.docs.pages import DOCS
from tests.unit.errors.texts import ERROR_TEXTS

PAGE = DOCS / "reference" / "errors.md"
NOTES = Path(__file__).with_name("errors.toml")
INTRODUCTION = """\
# Error codes

Every error of Penstock has a code that stays the same, a text with the values, the line of your
program or script, and what to do about it. Programs should compare `error.code`, never the text.

```text
[co-partitioning] stream 'orders' (4 partitions) and table 'users' (6 partitions)
    cannot be joined
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
    "Records and serdes": ("serde", "formats", "registry", "kernel", "frames"),
    "State stores": ("state", "query"),
    "Running applications": ("runtime",),
    "HTTP": ("serving", "server", "client", "wire"),
    "Kafka and the private broker": ("kafka",),
    "Kafka Connect": ("connect",),
    "SQL": ("sql",),
    "Command line, tests and notebooks": ("cli", "testing", "extras.py", "notebook.py"),
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
    where = relative(file)
    for node in ast.walk(tree(file)):
        match node:
            case ast.Call(args=[code, *_]) if kind := _made_by(node.func):
                for text in _codes(code, file):
                    yield _raised(node, text, kind, where)
            # An error whose code depends on what happened takes it from a variable.
            case ast.Assign(targets=[ast.Name(id="code")], value=ast.Constant(value=str(text))):
                yield RaisedError(text, "PenstockError", "", "", where)


def _raised(node: ast.Call, code: str, kind: str, where: str) -> RaisedError:
    message = _template(node.args[1]) if len(node.args) > 1 else ""
    fix = node.args[2] if len(node.args) > 2 else _keyword(node, "fix")
    if (known := promised_texts().get(code)) and re.fullmatch(r"\{[^{}]*\}", message):
        return RaisedError(code, kind, f"such as: {known[0]}", known[1], where)
    return RaisedError(code, kind, message, _template(fix) if fix else "", where)


def _codes(node: ast.expr, file: Path) -> list[str]:
    """Return the code that an argument stands for: a text, or a constant of the module."""
    match node:
        case ast.Constant(value=str(text)) if CODE.fullmatch(text):
            return [text]
        case ast.Name(id=name) if name.isupper():
            return [
                str(each.value.value)
                for each in tree(file).body
                if isinstance(each, ast.Assign)
                and isinstance(each.value, ast.Constant)
                and [getattr(target, "id", "") for target in each.targets] == [name]
            ]
    return []


def _made_by(function: ast.expr) -> str:
    """Return the class of the error that a call makes, itself or through a helper."""
    return _error_class(function) or helpers().get(_called(function), "")


@cache
def helpers() -> dict[str, str]:
    """Return functions that make an error with the code they are given, each with its class."""
    return {
        function.name: kind
        for file in modules()
        for function in ast.walk(tree(file))
        if isinstance(function, ast.FunctionDef)
        for call in ast.walk(function)
        if isinstance(call, ast.Call) and (kind := _error_class(call.func)) and call.args
        if isinstance(call.args[0], ast.Name) and call.args[0].id == "code"
        if "code" in [argument.arg for argument in function.args.args[:2]]
        if not function.name.startswith("__")
    }


@cache
def promised_texts() -> dict[str, tuple[str, str]]:
    """Return text and fix of the errors in the golden file, by code."""
    found = {}
    for entry in ERROR_TEXTS.read_text(encoding="utf-8").split("\n\n"):
        if code := re.search(r"^\[([a-z0-9-]+)\] (.*)$", entry, re.MULTILINE):
            fix = re.search(r"^  fix: (.*)$", entry, re.MULTILINE)
            found.setdefault(code[1], (code[2], fix[1] if fix else ""))
    return found


def _error_class(function: ast.expr) -> str:
    name = _called(function)
    # Python's own errors have no codes, even if their text is a single word.
    return name if re.fullmatch(r"[A-Z]\w*Error", name) and not hasattr(builtins, name) else ""


def _called(function: ast.expr) -> str:
    return str(getattr(function, "id", getattr(function, "attr", "")))


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
        case ast.IfExp(body=body, orelse=other):
            return " / ".join(filter(None, (_template(body), _template(other))))
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
        texts = _with_note(code, "text", [each.message for each in errors])
        fixes = _with_note(code, "fix", [each.fix for each in errors])
        kinds = ", ".join(f"`{kind}`" for kind in sorted({each.kind for each in errors}))
        lines.append(
            f'| <a id="{code}"></a>`{code}` {kinds} | {"<br>".join(texts)} | {"<br>".join(fixes)} |'
        )
    return "\n".join(lines) + "\n"


def _with_note(code: str, part: str, texts: list[str]) -> list[str]:
    """Return the cells of the lines that raise an error, or the note if they have only values."""
    cells = list(dict.fromkeys(_cell(text) for text in texts if says_something(text)))
    note = notes().get(code, {}).get(part)
    return cells or [_cell(text) for text in texts if text and not note] or [_cell(note or "")]


def says_something(text: str) -> bool:
    """Tell whether a text has more words than the values that stand in it."""
    return bool(re.sub(r"\{[^{}]*\}|\W", "", text))


@cache
def notes() -> dict[str, dict[str, str]]:
    """Return cause and fix of errors whose own lines do not say them, by code."""
    areas = tomllib.loads(NOTES.read_text(encoding="utf-8"))
    return {code: note for area in areas.values() for code, note in area.items()}


def without_words() -> dict[str, set[str]]:
    """Return the codes whose lines have no text or no fix of their own, in some area."""
    found: dict[tuple[str, str], list[RaisedError]] = defaultdict(list)
    for error in raised():
        found[area_of(error.file), error.code].append(error)
    missing: dict[str, set[str]] = defaultdict(set)
    for (_, code), errors in found.items():
        if not any(says_something(each.message) for each in errors):
            missing[code].add("text")
        if not any(says_something(each.fix) for each in errors):
            missing[code].add("fix")
    return missing


def _cell(text: str) -> str:
    text = " ".join(text.replace("|", "\\|").split())
    return text.replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")
