"""A topology as a picture: Mermaid text for documents, SVG for notebooks and pages."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from penstock.topology.graph import Graph
from penstock.topology.nodes import Node, Sink, Source
from penstock.topology.subtopology import SubTopology, subtopologies

_CELL_W, _CELL_H, _GAP_X, _GAP_Y, _PAD, _TITLE = 250, 44, 30, 34, 16, 26
_COLOURS = {"source": "#d7ecd9", "sink": "#f6e2c8", "processor": "#dfe7f5", "store": "#eee3f2"}

#: What a sink writes whose topic is a function: its address would differ in every picture.
_BY_RECORD = "a topic chosen by record"


def to_mermaid(graph: Graph) -> str:
    """Return a Mermaid flow chart: a box per sub-topology, topics and stores beside it."""
    ids = {name: f"n{number}" for number, name in enumerate(graph.nodes)}
    lines = ["flowchart TD"]
    for part in subtopologies(graph):
        title = f"Sub-topology {part.id}" + (" (global store)" if part.is_global else "")
        lines.append(f'  subgraph s{part.id}["{title}"]')
        lines += [f"    {ids[name]}{_shape(graph.nodes[name])}" for name in part.nodes]
        lines.append("  end")
    for node in graph.nodes.values():
        lines += [f"  {ids[parent]} --> {ids[node.name]}" for parent in node.parents]
        lines += [f"  {ids[node.name]} -.- {_store_id(s)}[({_quoted(s)})]" for s in node.stores]
    return "\n".join(lines + _topic_edges(graph, ids)) + "\n"


def _topic_edges(graph: Graph, ids: dict[str, str]) -> list[str]:
    lines = []
    for node in graph.nodes.values():
        if isinstance(node, Source):
            topics = (node.pattern.pattern,) if node.pattern else node.topics
            lines += [f"  {_topic_id(t)}>{_quoted(t)}] --> {ids[node.name]}" for t in topics]
        elif isinstance(node, Sink):
            topic = node.topic or _BY_RECORD
            lines.append(f"  {ids[node.name]} --> {_topic_id(topic)}>{_quoted(topic)}]")
    return lines


def _shape(node: Node) -> str:
    text = _quoted(node.name)
    if isinstance(node, Source | Sink):
        return f"([{text}])"
    return f"[{text}]"


def _quoted(text: str) -> str:
    return '"' + text.replace('"', "#quot;") + '"'


def _store_id(store: str) -> str:
    return "store_" + _safe(store)


def _topic_id(topic: str) -> str:
    return "topic_" + _safe(topic)


def _safe(text: str) -> str:
    return "".join(c if c.isalnum() else f"_{ord(c):x}_" for c in text)


@dataclass(frozen=True, slots=True)
class _Box:
    node: Node
    x: int
    y: int


def to_svg(graph: Graph) -> str:
    """Return an SVG picture with a panel for each sub-topology."""
    panels, top, width = [], _PAD, 0
    for part in subtopologies(graph):
        panel, panel_width, panel_height = _panel(part, graph, top)
        panels.append(panel)
        top += panel_height + _PAD
        width = max(width, panel_width)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width + 2 * _PAD} {top}"'
        f' width="{width + 2 * _PAD}" height="{top}" font-family="sans-serif" font-size="12">'
        "<style>.panel{fill:#fafafa;stroke:#ccc;rx:8px}</style>"
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7"'
        ' markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#556"/></marker></defs>'
        + "".join(panels)
        + "</svg>"
    )


def _panel(part: SubTopology, graph: Graph, top: int) -> tuple[str, int, int]:
    boxes = _place(part, graph, top + _TITLE)
    width = max(box.x for box in boxes.values()) + _CELL_W
    height = max(box.y for box in boxes.values()) + _CELL_H - top + _PAD
    title = f"Sub-topology {part.id}" + (" · global store" if part.is_global else "")
    drawn = [
        f'<rect x="{_PAD}" y="{top}" width="{width}" height="{height}" class="panel"/>',
        f'<text x="{_PAD + 10}" y="{top + 17}" fill="#555">{escape(title)}</text>',
    ]
    for box in boxes.values():
        drawn += [_arrow(boxes[p], box) for p in box.node.parents if p in boxes]
    drawn += [_cell(box) for box in boxes.values()]
    return "".join(drawn), width + _PAD, height


def _place(part: SubTopology, graph: Graph, top: int) -> dict[str, _Box]:
    """Put each node one row below its lowest parent, side by side within a row."""
    rows: dict[str, int] = {}
    filled: dict[int, int] = {}
    boxes = {}
    for name in part.nodes:
        node = graph.nodes[name]
        row = 1 + max((rows[parent] for parent in node.parents if parent in rows), default=-1)
        column = filled.get(row, 0)
        rows[name], filled[row] = row, column + 1
        x = 2 * _PAD + column * (_CELL_W + _GAP_X)
        boxes[name] = _Box(node, x, top + row * (_CELL_H + _GAP_Y))
    return boxes


def _cell(box: _Box) -> str:
    node = box.node
    kind = (
        "source" if isinstance(node, Source) else "sink" if isinstance(node, Sink) else "processor"
    )
    colour = _COLOURS["store" if node.stores else kind]
    return (
        f"<g><title>{escape(node.name)}{escape(f' at {node.site}' if node.site else '')}</title>"
        f'<rect x="{box.x}" y="{box.y}" width="{_CELL_W}" height="{_CELL_H}" rx="6"'
        f' fill="{colour}" stroke="#889"/>'
        f'<text x="{box.x + 10}" y="{box.y + 18}" fill="#223">{escape(_short(node.name))}</text>'
        f'<text x="{box.x + 10}" y="{box.y + 35}" fill="#667" font-size="10">'
        f"{escape(_short(_note(node)))}</text></g>"
    )


def _note(node: Node) -> str:
    if isinstance(node, Source):
        return "reads " + (node.pattern.pattern if node.pattern else ", ".join(node.topics))
    if isinstance(node, Sink):
        return "writes " + (node.topic or _BY_RECORD)
    if node.stores:
        return "stores " + ", ".join(node.stores)
    return node.site or ""


def _short(text: str, most: int = 36) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _arrow(parent: _Box, child: _Box) -> str:
    x1, y1 = parent.x + _CELL_W // 2, parent.y + _CELL_H
    x2, y2 = child.x + _CELL_W // 2, child.y
    bend = (y2 - y1) // 2
    return (
        f'<path d="M{x1} {y1}C{x1} {y1 + bend} {x2} {y2 - bend} {x2} {y2 - 1}" fill="none"'
        ' stroke="#556" marker-end="url(#arrow)"/>'
    )
