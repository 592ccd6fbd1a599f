"""Write the gallery of examples: ``python -m tests.architecture.examples_page``."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from penstock.cli.program import load_program
from penstock.sql import SqlEngine
from penstock.topology.picture import to_svg
from penstock.topology.topology import Topology
from tests.architecture.source import ROOT

EXAMPLES = ROOT / "examples"
PAGE = ROOT / "docs" / "examples" / "index.md"
IMAGES = PAGE.parent / "images"

INTRODUCTION = """\
# Examples

Each folder of `examples` has a small program or a script of SQL, sample data, and a test in
`tests/examples`. `--demo` starts a private broker, writes the sample data to it, runs the program
on Spark until there is nothing left to do, and prints what it wrote. Without `--demo` a program
runs on the records of your own cluster: `--bootstrap kafka:9092`.

The examples are in the source repository, not in the installed package: run the commands in a
checkout. `penstock init` makes a program to start from anywhere.

The pictures are drawn from the programs: a panel for each sub-topology, sources green, sinks
orange, nodes with state violet. `make docs` draws them.
"""

FAMILIES = {
    "First steps": (
        "word_count", "upper_case", "high_value_orders", "purchases", "crypto_sentiment",
    ),
    "Counting and time": (
        "order_statistics", "rolling_average", "fraud_detection", "heartbeat_watchdog",
    ),
    "Joins and repartitioning": ("order_enrichment", "co_partitioning", "repartitioning"),
    "State": (
        "running_sum", "product_enricher", "key_value_ttl", "tuned_changelog", "state_directory",
        "state_budget", "stream_table_duality",
    ),
    "Queries": ("user_counts", "customer_state", "word_lookup", "read_your_writes"),
    "Patterns": (
        "command_event_query", "event_collaboration", "order_saga", "cqrs", "database_inside_out",
        "user_profiles", "latest_by_version",
    ),
    "Production": (
        "word_count_production", "order_service", "order_pipeline", "named_operators",
    ),
    "SQL": (
        "order_dashboard", "user_counts_sql", "materialized_cache", "streaming_etl",
        "event_driven_service", "connect_pipeline",
    ),
}  # fmt: skip


def examples() -> dict[str, Path]:
    """Return the program or script of every example, by the name of its folder."""
    files = (file for name in ("app.py", "app.sql") for file in EXAMPLES.glob(f"*/{name}"))
    return {file.parent.name: file for file in sorted(files)}


def topologies(file: Path) -> dict[str, Topology]:
    """Return the topologies of an example by the names of their pictures; a query has its own."""
    name = file.parent.name
    if file.suffix == ".py":
        return {name: load_program(str(file)).topology}
    engine = SqlEngine()
    engine.execute(file.read_text(encoding="utf-8"), answers=False)
    return {f"{name}_{query.lower()}": each for query, each in engine.topologies().items()}


def picture(topology: Topology) -> str:
    """Draw a topology without line numbers: an edit elsewhere in a program changes no picture."""
    nodes = {name: replace(node, site=None) for name, node in topology.graph.nodes.items()}
    return to_svg(replace(topology.graph, nodes=nodes)) + "\n"


def pictures() -> dict[str, str]:
    """Return the text of every picture by the name of its file."""
    return {
        f"{name}.svg": picture(topology)
        for file in examples().values()
        for name, topology in topologies(file).items()
    }


def render() -> str:
    found = examples()
    listed = {name for names in FAMILIES.values() for name in names}
    others = tuple(name for name in found if name not in listed)
    families = {**FAMILIES, "More": others} if others else FAMILIES
    return INTRODUCTION + "".join(_family(title, names, found) for title, names in families.items())


def _family(title: str, names: tuple[str, ...], found: Mapping[str, Path]) -> str:
    return f"\n## {title}\n" + "".join(_example(found[name]) for name in names)


def _example(file: Path) -> str:
    heading, what, *_ = (file.parent / "README.md").read_text(encoding="utf-8").split("\n\n")
    place = file.relative_to(ROOT).as_posix()
    title = heading.removeprefix("# ")
    images = "\n".join(f"![{_alt(title, name)}](images/{name}.svg)" for name in topologies(file))
    return f"\n### {title}\n\n{what}\n\n```sh\npenstock run {place} --demo\n```\n\n{images}\n"


def _alt(title: str, name: str) -> str:
    """Return what the picture shows, for readers who do not see it."""
    query = re.search("_(c[st]as_.*|insertquery_.*)", name)
    return f"Topology of {title}" + (f", query {query[1].upper()}" if query else "")


def write() -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    drawn = pictures()
    for file in IMAGES.glob("*.svg"):
        if file.name not in drawn:
            file.unlink()
    for name, text in drawn.items():
        (IMAGES / name).write_text(text, encoding="utf-8")
    PAGE.write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    write()
