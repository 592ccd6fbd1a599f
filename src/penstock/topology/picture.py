"""A topology as a picture: Mermaid text for documents, SVG for notebooks and pages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from penstock.topology.graph import Graph
from penstock.topology.nodes import Node, Sink, Source
from penstock.topology.subtopology import SubTopology, subtopologies
from penstock.topology.titles import BY_RECORD, code, subject, title

_CELL_W, _CELL_H, _GAP_X, _GAP_Y, _PAD, _TITLE = 250, 58, 30, 34, 16, 26
_COLOURS = {"source": "#d7ecd9", "sink": "#f6e2c8", "processor": "#dfe7f5", "store": "#eee3f2"}


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
            topic = node.topic or BY_RECORD
            lines.append(f"  {ids[node.name]} --> {_topic_id(topic)}>{_quoted(topic)}]")
    return lines


def _shape(node: Node) -> str:
    about = "" if isinstance(node, Source | Sink) else code(node)
    name = "" if node.name in title(node) else node.name
    text = _quoted("\n".join(line for line in (title(node), about, name) if line))
    if isinstance(node, Source | Sink):
        return f"([{text}])"
    return f"[{text}]"


def _quoted(text: str) -> str:
    """Return the text of a label. Characters that Mermaid reads as markup are written as codes."""
    codes = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "\n": "<br/>"}
    return '"' + "".join(codes.get(char, char) for char in text) + '"'


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
    """Return an SVG picture with a panel for each sub-topology.

    Dashed arrows lead from the sinks of a topic to the sources that read it.
    """
    panels, top, width = [], _PAD, 0
    boxes: dict[str, _Box] = {}
    for part in subtopologies(graph):
        panel, placed, panel_width, panel_height = _panel(part, graph, top)
        panels.append(panel)
        boxes |= placed
        top += panel_height + _PAD
        width = max(width, panel_width)
    panels += [_topic_arrow(boxes[one], boxes[two], topic) for one, two, topic in _by_topic(graph)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width + 2 * _PAD} {top}"'
        f' width="{width + 2 * _PAD}" height="{top}" font-family="sans-serif" font-size="12">'
        "<style>.panel{fill:#fafafa;stroke:#ccc;rx:8px}</style>"
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7"'
        ' markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#556"/></marker></defs>'
        + "".join(panels)
        + "</svg>"
    )


def _by_topic(graph: Graph) -> Iterator[tuple[str, str, str]]:
    """Return sink, source and topic wherever one part of the topology reads what another writes."""
    for sink in graph.nodes.values():
        if isinstance(sink, Sink) and sink.topic is not None:
            for source in graph.nodes.values():
                if isinstance(source, Source) and sink.topic in source.topics:
                    yield sink.name, source.name, sink.topic


def _panel(part: SubTopology, graph: Graph, top: int) -> tuple[str, dict[str, _Box], int, int]:
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
    return "".join(drawn), boxes, width + _PAD, height


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
    head, note = title(node), subject(node)
    name = "" if node.name in head else node.name
    hover = "\n".join(line for line in (head, note, name) if line)
    return (
        f"<g><title>{escape(hover)}</title>"
        f'<rect x="{box.x}" y="{box.y}" width="{_CELL_W}" height="{_CELL_H}" rx="6"'
        f' fill="{colour}" stroke="#889"/>'
        f'<text x="{box.x + 10}" y="{box.y + 18}" fill="#223">{escape(_short(head))}</text>'
        f'<text x="{box.x + 10}" y="{box.y + 34}" fill="#445" font-size="11">'
        f"{escape(_short(note, 38))}</text>"
        f'<text x="{box.x + 10}" y="{box.y + 49}" fill="#889" font-size="9">'
        f"{escape(_short(name, 44))}</text></g>"
    )


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


def _topic_arrow(sink: _Box, source: _Box, topic: str) -> str:
    x1, y1 = sink.x + _CELL_W // 2, sink.y + _CELL_H
    x2, y2 = source.x + _CELL_W // 2, source.y
    bend = max(abs(y2 - y1) // 2, _GAP_Y)
    return (
        f'<path d="M{x1} {y1}C{x1} {y1 + bend} {x2} {y2 - bend} {x2} {y2 - 1}" fill="none"'
        ' stroke="#a60" stroke-dasharray="5 4" marker-end="url(#arrow)">'
        f"<title>{escape(topic)}</title></path>"
    )
