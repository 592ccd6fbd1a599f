"""A topology as Mermaid text and as SVG: every node, topic and store is in it, safely."""

import re
import xml.etree.ElementTree as ET

import penstock as ps
from penstock.topology.picture import to_mermaid, to_svg

SVG = "{http://www.w3.org/2000/svg}"


def program() -> ps.Topology:
    builder = ps.StreamsBuilder()
    builder.global_table("names", materialized="names")
    words = builder.stream("words", key=str, value=str)
    words.group_by(lambda key, word: word).count("counts").to_stream().to("<out>")
    return builder.build()


def test_mermaid_has_an_edge_for_every_parent_topic_and_store() -> None:
    """A global store is a sub-topology that says so."""
    graph = program().graph
    lines = to_mermaid(graph).splitlines()
    ids = {name: f"n{number}" for number, name in enumerate(graph.nodes)}
    assert lines[0] == "flowchart TD"
    for node in graph.nodes.values():
        for parent in node.parents:
            assert f"  {ids[parent]} --> {ids[node.name]}" in lines
    assert sum(' -.- store_counts[("counts")]' in line for line in lines) == 1
    assert any(line.startswith('  topic_words>"words"] --> ') for line in lines)
    assert sum("(global store)" in line for line in lines) == 1


def test_two_topics_never_share_a_mermaid_id() -> None:
    """What is not a letter or digit is spelled as its number; quotes cannot end a text."""
    builder = ps.StreamsBuilder()
    builder.stream("a-b").to("a_b")
    builder.stream("a.b").to('a"b')
    text = to_mermaid(builder.build().graph)
    assert len(set(re.findall(r"topic_\w+", text))) == 4
    assert '"a#quot;b"' in text


def test_svg_is_xml_with_a_cell_for_every_node() -> None:
    """Names of users are escaped: the picture is shown in notebooks."""
    graph = program().graph
    picture = ET.fromstring(to_svg(graph))
    titles = [title.text or "" for title in picture.iter(f"{SVG}title")]
    texts = [text.text for text in picture.iter(f"{SVG}text")]
    cells = [title.splitlines() for title in titles if "\n" in title]
    assert sorted(cell[-1] for cell in cells) == sorted(graph.nodes)
    name = "KSTREAM-AGGREGATE-0000000004"
    head = f"count · {graph.nodes[name].site}"
    assert [head, "counts", name] in cells
    assert {head, "counts", "<out>"} <= set(texts)


def test_no_two_cells_of_the_picture_overlap() -> None:
    """Children are below their parents; nodes of one row stand side by side."""
    builder = ps.StreamsBuilder()
    words = builder.stream("words", key=str, value=str)
    for number in range(3):
        words.map_values(str.upper).to(f"out-{number}")
    cells = [
        (int(rect.get("x", "")), int(rect.get("y", "")))
        for group in ET.fromstring(to_svg(builder.build().graph)).iter(f"{SVG}g")
        for rect in group.iter(f"{SVG}rect")
    ]
    assert len(cells) == len(set(cells)) == 7
    assert len({y for _, y in cells}) == 3


def test_sink_that_chooses_its_topic_is_drawn_the_same_each_time() -> None:
    """A function's address is not part of a picture."""
    builder = ps.StreamsBuilder()
    builder.stream("in").to(lambda key, value, context: f"out-{value}")
    graph = builder.build().graph
    svg, mermaid = to_svg(graph), to_mermaid(graph)
    assert "a topic chosen by record" in svg
    assert "a topic chosen by record" in mermaid
    assert "lambda" not in svg + mermaid


def test_svg_joins_parts_of_a_topology_through_their_topic() -> None:
    """Of two sub-topologies nobody would see otherwise that one feeds the other."""
    picture = ET.fromstring(to_svg(program().graph))
    dashed = [p for p in picture.iter(f"{SVG}path") if p.get("stroke-dasharray")]
    assert [p.findtext(f"{SVG}title") for p in dashed] == ["counts-repartition"]


def test_mermaid_shows_operator_line_and_function_before_the_name() -> None:
    """Characters of the function that Mermaid reads as markup are written as codes."""
    builder = ps.StreamsBuilder()
    builder.stream("n", value=int).filter(lambda _, n: n < 3).to("few")
    graph = builder.build().graph
    name = "KSTREAM-FILTER-0000000001"
    line = f"filter · {graph.nodes[name].site}<br/>lambda _, n: n #lt; 3<br/>{name}"
    assert f'["{line}"]' in to_mermaid(graph)
