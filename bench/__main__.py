"""``python -m bench compare``, ``alone``, ``kernel``, ``latency``, ``cluster`` and more."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer
from rich.console import Console
from rich.table import Table

from bench import kernel as kernel_alone
from bench.alone import WORKLOADS as ALONE
from bench.alone import measure_alone
from bench.beside import measure_beside
from bench.chart import bar_chart
from bench.cluster import local_cluster, measure_batches, measure_executors, measure_restore
from bench.compare import STYLES, compare
from bench.consoles import measure_consoles
from bench.data import USERS
from bench.history import QUERIES, measure_history
from bench.latency import measure
from bench.nexmark.measure import ENGINES as NEXMARK_ENGINES
from bench.nexmark.measure import measure as measure_nexmark
from bench.nexmark.measure import missing
from bench.nexmark.queries import NAMES as NEXMARK
from bench.peers import ENGINES, OURS, Peers
from bench.profiling import profile
from bench.queries import BROKER
from bench.queries import WAYS as QUERY_WAYS
from bench.queries import measure as measure_queries
from bench.serving import measure_serving
from bench.slot import WAYS, measure_slot
from bench.sql_server import Server, fill, measure_pull, measure_push
from bench.workloads import SHARED, WORKLOADS
from penstock.kafka.embedded import EmbeddedBroker

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)
console = Console()
RESULTS = Path(__file__).resolve().parent / "results"

Bootstrap = Annotated[str, typer.Option(help="A broker; without one a private one is started.")]
Keys = Annotated[int, typer.Option(help="How many different keys there may be.")]
JsonFile = Annotated[Path | None, typer.Option("--json", help="Write the figures here as JSON.")]


@contextlib.contextmanager
def broker(bootstrap: str) -> Iterator[str]:
    if bootstrap:
        yield bootstrap
        return
    with EmbeddedBroker() as private:
        yield private.bootstrap_servers


@app.command()
def beside(
    records: Annotated[int, typer.Option(help="Input records.")] = 3_000_000,
    gets: Annotated[int, typer.Option(help="Questions a second.")] = 2_000,
    rounds: Annotated[int, typer.Option(help="How often each way is run.")] = 2,
    bootstrap: Bootstrap = "",
) -> None:
    """Measure w2 with and without questions to its store over HTTP, in turn."""
    table = Table(title=f"w2, {records:,} records, with and without gets over HTTP")
    for column in ("gets/s", "records/s", "answered/s", "p50 ms", "p99 ms", "statuses"):
        table.add_column(column, justify="right")
    with broker(bootstrap) as servers:
        for wanted in [0, gets] * rounds:
            run, asked = measure_beside(servers, records, wanted)
            seen = [f"{asked.per_second:,.0f}", f"{asked.ms(50):.1f}", f"{asked.ms(99):.1f}",
                    str(dict(asked.statuses))] if asked.taken else [""] * 4  # fmt: skip
            table.add_row(f"{wanted:,}", f"{run.per_second:,.0f}", *seen)
    console.print(table)


@app.command()
def consoles(
    records: Annotated[int, typer.Option(help="Input records.")] = 3_000_000,
    many: Annotated[int, typer.Option(help="How many consoles are open at most.")] = 20,
    rounds: Annotated[int, typer.Option(help="How often each number is run.")] = 3,
    bootstrap: Bootstrap = "",
) -> None:
    """Measure w2 with none, one and many open consoles, in turn.

    On a machine that does other work, the processor time of the driver, the threads and the JVM
    says more than the records a second.
    """
    table = Table(title=f"w2, {records:,} records, with open consoles")
    columns = ("consoles", "records/s", "Python: CPU µs per record", "JVM", "samples")
    for column in columns:
        table.add_column(column, justify="right")
    with broker(bootstrap) as servers:
        for number in [0, 1, many] * rounds:
            found = measure_consoles(servers, records, number)
            table.add_row(
                f"{number}", f"{found.run.per_second:,.0f}",
                f"{found.python_us:.3f}", f"{found.jvm_us:.3f}",
                f"{found.samples}",
            )  # fmt: skip
    console.print(table)


@app.command()
def history(
    records: Annotated[int, typer.Option(help="Input records of each workload.")] = 20_000_000,
    workloads: Annotated[str, typer.Option(help="Which workloads.")] = ",".join(QUERIES),
    streaming: Annotated[bool, typer.Option(help="Run them from Kafka, too.")] = True,
    bootstrap: Bootstrap = "",
    json_file: JsonFile = None,
) -> None:
    """Measure run_batch over Parquet beside Kafka, and beside queries written in Spark SQL."""
    table = Table(title=f"{records:,} records, on two cores: records/s")
    for column in ("workload", "history", "Spark SQL", "Kafka", "of Spark SQL", "of Kafka"):
        table.add_column(column, justify="left" if column == "workload" else "right")
    figures = []
    with broker(bootstrap) if streaming else contextlib.nullcontext("") as servers:
        for name in filter(None, workloads.split(",")):
            found = measure_history(servers, name, records)
            figures.append(found.to_dict())
            ways = (found.history_s, found.sql_s, found.streaming_s)
            rates = [f"{records / seconds:,.0f}" if seconds else "" for seconds in ways]
            shares = [f"{s / found.history_s:.2f}" if s else "" for s in ways[1:]]
            table.add_row(name, *rates, *shares)
    console.print(table)
    if json_file is not None:
        json_file.write_bytes(orjson.dumps(figures))


@app.command()
def cluster(
    batches: Annotated[int, typer.Option(help="Small batches; 0 leaves this out.")] = 200,
    workloads: Annotated[str, typer.Option(help="On one and on two executors.")] = "w2,w5",
    records: Annotated[int, typer.Option(help="Input records of each workload.")] = 1_000_000,
    core_share: Annotated[
        float | None, typer.Option(help="Let each executor use only so much of a core.")
    ] = None,
    bootstrap: Bootstrap = "",
) -> None:
    """Measure executors of one core: do slots stay, the time of a batch, the gain of a second."""
    with broker(bootstrap) as servers:
        if batches:
            table = Table(title=f"{batches} batches of a word count with a repartition")
            for column in ("master", "moved", "restored", "reruns", "median ms", "p95 ms"):
                table.add_column(column, justify="left" if column == "master" else "right")
            for master in ("local[2]", local_cluster(2)):
                # Each measurement runs in a process of its own, since a Spark session stays
                # until its process ends.
                with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                    found = pool.submit(measure_batches, servers, master, batches).result()
                table.add_row(
                    master, f"{found.moved}", f"{found.restored}", f"{found.reruns}",
                    f"{found.median_ms:.0f}", f"{found.p95_ms:.0f}",
                )  # fmt: skip
            console.print(table)
        size = "one core" if core_share is None else f"{core_share} of a core"
        table = Table(title=f"{records:,} records, executors of {size}")
        for column in ("workload", "one: records/s", "two: records/s", "ratio"):
            table.add_column(column, justify="left" if column == "workload" else "right")
        for name in filter(None, workloads.split(",")):
            one, two = (
                measure_executors(servers, name, records, count, core_share) for count in (1, 2)
            )
            ratio = two.per_second / one.per_second
            table.add_row(name, f"{one.per_second:,.0f}", f"{two.per_second:,.0f}", f"{ratio:.2f}")
        console.print(table)


@app.command()
def restore(
    keys: Annotated[int, typer.Option(help="How many keys the store has.")] = 2_000_000,
    bootstrap: Bootstrap = "",
) -> None:
    """Measure how fast one slot restores lost state from its changelogs."""
    with broker(bootstrap) as servers:
        found = measure_restore(servers, keys)
    console.print(
        f"{found.records:,} records in {found.seconds:.1f} s ({found.cpu_seconds:.1f} s of CPU):"
        f" {found.per_second:,.0f} records/s"
    )


@app.command()
def kernel(
    records: Annotated[int, typer.Option(help="Input records.")] = 500_000,
    workload: Annotated[str, typer.Option(help="Only this one.")] = "",
    stores: Annotated[str, typer.Option(help="Only memory, or only rocksdb.")] = "",
    repeat: Annotated[int, typer.Option(help="The best of so many runs counts.")] = 1,
    keys: Keys = USERS,
    json: JsonFile = None,
) -> None:
    """Measure the kernel alone: one task in this process, by record and over columns."""
    table = Table(title=f"kernel: {records:,} records, commit every {kernel_alone.COMMIT_EVERY:,}")
    for column in ("workload", "stores", "way", "records/s", "per CPU second", "µs each", "sent"):
        is_text = column in ("workload", "stores", "way")
        table.add_column(column, justify="left" if is_text else "right")
    figures = []
    for name in (workload,) if workload else kernel_alone.WORKLOADS:
        for engine in (stores,) if stores else kernel_alone.ENGINES:
            for vectorize in kernel_alone.WAYS:
                runs = [
                    kernel_alone.measure(name, engine, records, vectorize, keys)
                    for _ in range(repeat)
                ]
                best = max(runs, key=lambda run: run.per_cpu_second)
                figures.append(best)
                way = "over columns" if best.column_batches else "by record"
                table.add_row(
                    name, engine, way, f"{best.per_second:,.0f}",
                    f"{best.per_cpu_second:,.0f}", f"{1e6 / best.per_cpu_second:.1f}",
                    f"{best.sent:,}",
                )  # fmt: skip
    console.print(table)
    _write(json, {"figures": [figure.to_dict() for figure in figures]})


@app.command()
def slot(
    records: Annotated[int, typer.Option(help="Input records; a quarter as many lines.")] = 400_000,
    batches: Annotated[int, typer.Option(help="Batches that they come in.")] = 2,
    workload: Annotated[str, typer.Option(help="Only this one.")] = "",
    repeat: Annotated[int, typer.Option(help="The best of so many runs counts.")] = 2,
    keys: Keys = USERS,
    json: JsonFile = None,
) -> None:
    """Measure a worker's CPU time per record: by style, record at a time or over columns."""
    size = f"{records:,} records of {keys:,} keys in {batches} batches"
    table = Table(title=f"one slot, {size}: CPU µs per record")
    for column in ("workload", *(f"{style}, vectorize {mode}" for style, mode in WAYS)):
        table.add_column(column, justify="left" if column == "workload" else "right")
    figures = []
    for name in (workload,) if workload else SHARED:
        count = records // 4 if name == "w5" else records
        found = [measure_slot(name, count, batches, *way, repeat, keys) for way in WAYS]
        figures += found
        table.add_row(name, *(f"{figure.cpu_us:.2f}" for figure in found))
    console.print(table)
    _write(json, {"figures": [figure.to_dict() for figure in figures]})


@app.command()
def latency(
    workload: Annotated[str, typer.Argument(help="w1 or w2.")] = "w1",
    rate: Annotated[int, typer.Option(help="Records per second.")] = 1_000,
    seconds: Annotated[float, typer.Option(help="How long to measure.")] = 30.0,
    warm: Annotated[float, typer.Option(help="Seconds before the measurement.")] = 5.0,
    commit_ms: Annotated[int, typer.Option(help="commit.interval.ms")] = 100,
    bootstrap: Bootstrap = "",
    json: JsonFile = None,
) -> None:
    """Measure the latency from producer to committed output, exactly once, at a steady rate."""
    with broker(bootstrap) as servers:
        found = measure(servers, workload, rate, seconds, warm, commit_ms)
    table = Table(title=f"{workload} at {rate:,}/s for {seconds:.0f} s, commit {commit_ms} ms")
    for column in (
        "p50 ms",
        "p95 ms",
        "p99 ms",
        "max ms",
        "answered",
        "first answer s",
        "batch p50/p95 ms",
    ):
        table.add_column(column, justify="right")
    table.add_row(
        f"{found.p50_ms:,.0f}", f"{found.p95_ms:,.0f}", f"{found.p99_ms:,.0f}",
        f"{found.max_ms:,.0f}", f"{found.answered:,} of {found.sent:,}",
        f"{found.first_answer_s:.1f}", f"{found.batch_p50_ms}/{found.batch_p95_ms}",
    )  # fmt: skip
    console.print(table)
    _write(json, found.to_dict())


@app.command(name="profile")
def profile_command(
    workload: Annotated[str, typer.Argument(help=f"One of {', '.join(WORKLOADS)}.")],
    records: Annotated[int, typer.Option(help="Input records; lines for w5.")] = 200_000,
    batches: Annotated[int, typer.Option(help="Batches that they come in.")] = 2,
    kafka: Annotated[bool, typer.Option(help="Read from and write to a real broker.")] = False,
    bootstrap: Bootstrap = "",
    top: Annotated[int, typer.Option(help="How many functions to list.")] = 15,
    keys: Keys = USERS,
    json: JsonFile = None,
) -> None:
    """Profile a worker: one slot in this process, without Spark."""
    with broker(bootstrap) if kafka or bootstrap else contextlib.nullcontext(None) as servers:
        found = profile(workload, records, batches, servers, top, keys)
    rate, cpu_rate = found.records / found.seconds, found.records / found.cpu_seconds
    console.print(
        f"{workload}: {found.records:,} records in {found.seconds:.2f} s: {rate:,.0f}/s,"
        f" {cpu_rate:,.0f} per CPU second; {found.profiled_seconds:.2f} s with the profiler"
    )
    table = Table(title="parts of the data path")
    for column in ("part", "%", "µs per record"):
        table.add_column(column, justify="left" if column == "part" else "right")
    total = sum(found.parts.values())
    for part, spent in found.parts.items():
        table.add_row(part, f"{100 * spent / total:.1f}", f"{spent / found.records * 1e6:.2f}")
    console.print(table)
    table = Table(title="functions by their own time")
    for column in ("function", "part", "calls", "s"):
        table.add_column(column, justify="left" if column in ("function", "part") else "right")
    for name, part, calls, spent in found.functions:
        table.add_row(name, part, f"{calls:,}", f"{spent:.3f}")
    console.print(table)
    _write(json, found.to_dict())


@app.command(name="compare")
def compare_command(
    records: Annotated[
        int, typer.Option(help="Input records; a quarter as many lines.")
    ] = 3_000_000,
    rounds: Annotated[int, typer.Option(help="Medians are over so many rounds.")] = 3,
    workloads: Annotated[str, typer.Option(help="Some of them.")] = ",".join(SHARED),
    engines: Annotated[str, typer.Option(help="The peers to run.")] = ",".join(ENGINES),
    styles: Annotated[str, typer.Option(help="How ours is written.")] = ",".join(STYLES),
    results: Annotated[Path, typer.Option(help="Where figures and plot go.")] = RESULTS,
) -> None:
    """Compare Penstock with Java Kafka Streams, PySpark and Quix, in one run on one broker."""
    peers = Peers.find()
    if peers is None:
        console.print("no peers found: name their folder with PENSTOCK_PEERS")
        raise typer.Exit(2)
    able = []
    for engine in filter(None, engines.split(",")):
        missing = peers.missing(engine)
        if missing is None:
            able.append((engine, ""))
        else:
            console.print(f"without {engine}: {missing}")
    able += [(OURS, style) for style in filter(None, styles.split(","))]
    found = compare(peers, able, workloads.split(","), records, rounds, _tell)
    names = list(dict.fromkeys(cell.engine for cell in found))
    table = Table(title=f"{records:,} records, {rounds} rounds, exactly once")
    for column in ("workload", "engine", "records/s", "to Java", "CPU µs each", "MB", "check"):
        table.add_column(column, justify="left" if column in ("workload", "engine") else "right")
    for cell in sorted(found, key=lambda each: (each.workload, names.index(each.engine))):
        table.add_row(
            cell.workload, cell.engine, f"{cell.per_second:,.0f}",
            "-" if cell.ratio is None else f"{cell.ratio:.2f}", f"{cell.cpu_us:.1f}",
            f"{cell.rss_mb:,.0f}", " ".join(cell.checks),
        )  # fmt: skip
    console.print(table)
    results.mkdir(parents=True, exist_ok=True)
    _write(results / "compare.json", {"cells": [cell.to_dict() for cell in found]})
    groups = {
        workload: {c.engine: c.per_second for c in found if c.workload == workload}
        for workload in workloads.split(",")
    }
    chart = bar_chart("Throughput by workload, exactly once", groups, "records/s", names)
    (results / "compare.svg").write_text(chart, encoding="utf-8")
    console.print(f"written: {results / 'compare.json'}, {results / 'compare.svg'}")


def _tell(engine: str, workload: str, row: dict[str, Any] | None) -> None:
    if row is None:
        console.print(f"{workload} {engine}: did not end; see the bench's log")
        return
    console.print(
        f"{workload} {engine}: {row['rate']:,.0f}/s, others {row['foreign_cores']:.2f} cores,"
        f" {row.get('invalid') or row.get('check') or 'not checked'}"
    )


@app.command()
def alone(
    records: Annotated[int, typer.Option(help="Input records of each topic.")] = 500_000,
    workload: Annotated[str, typer.Option(help="Only this one, which may be any.")] = "",
    keys: Keys = USERS,
    bootstrap: Bootstrap = "",
    json: JsonFile = None,
) -> None:
    """Measure workloads that no peer has: w6 stream-stream join, w7 session windows."""
    table = Table(title=f"end to end, exactly once, {records:,} records per topic, {keys:,} keys")
    for column in ("workload", "records", "records/s", "outputs"):
        table.add_column(column, justify="left" if column == "workload" else "right")
    figures = []
    with broker(bootstrap) as servers:
        for name in (workload,) if workload else ALONE:
            figure = measure_alone(servers, name, records, keys)
            figures.append(figure)
            table.add_row(
                name, f"{figure.records:,}", f"{figure.per_second:,.0f}", f"{figure.outputs:,}"
            )
    console.print(table)
    _write(json, {"figures": [figure.to_dict() for figure in figures]})


@app.command()
def serving(
    keys: Annotated[int, typer.Option(help="How many keys the store has.")] = 200_000,
    seconds: Annotated[float, typer.Option(help="How long to measure.")] = 10.0,
    connections: Annotated[int, typer.Option(help="How many clients ask at the same time.")] = 32,
    json: JsonFile = None,
) -> None:
    """Measure queries over HTTP to a RocksDB store: one server core, the load from another."""
    figures = measure_serving(keys, seconds, connections)
    table = Table(title=f"one server core, {keys:,} keys")
    for column in ("question", "clients", "requests/s", "p50 ms", "p99 ms", "max ms", "cores"):
        table.add_column(column, justify="left" if column == "question" else "right")
    for each in figures:
        table.add_row(
            each.question, f"{each.connections}", f"{each.per_second:,.0f}", f"{each.p50_ms:.3f}",
            f"{each.p99_ms:.3f}", f"{each.max_ms:.1f}", f"{each.server_cpu:.2f}",
        )  # fmt: skip
    console.print(table)
    _write(json, {"figures": [figure.to_dict() for figure in figures]})


@app.command()
def sql_server(
    keys: Annotated[int, typer.Option(help="How many rows the table has.")] = 100_000,
    seconds: Annotated[float, typer.Option(help="How long to measure lookups.")] = 10.0,
    connections: Annotated[int, typer.Option(help="How many clients ask at the same time.")] = 8,
    subscribers: Annotated[int, typer.Option(help="Push queries on one stream.")] = 500,
    bootstrap: Bootstrap = "",
    json: JsonFile = None,
) -> None:
    """Measure the SQL server's queries over HTTP: lookups by key, and push queries."""
    with broker(bootstrap) as servers:
        fill(servers, keys)
        with Server(servers) as server:
            pulls = measure_pull(server, keys, seconds, connections)
            pushes = [
                measure_push(server, servers, "filter", 1, 200, 0.02),
                measure_push(server, servers, "aggregate", 1, 200, 0.02),
                measure_push(server, servers, "filter", subscribers, 50, 0.2),
            ]
    table = Table(title=f"pull by key over HTTP, one server core, {keys:,} rows")
    for column in ("path", "clients", "requests/s", "p50 ms", "p99 ms", "cores", "load"):
        table.add_column(column, justify="left" if column == "path" else "right")
    for each in pulls:
        table.add_row(
            each.path, f"{each.connections}", f"{each.per_second:,.0f}", f"{each.p50_ms:.2f}",
            f"{each.p99_ms:.2f}", f"{each.server_cpu:.2f}", f"{each.load_average:.1f}",
        )  # fmt: skip
    console.print(table)
    table = Table(title="push: from produce to the row at the client")
    for column in ("query", "subscribers", "rows", "p50 ms", "p99 ms", "max ms", "cores", "load"):
        table.add_column(column, justify="left" if column == "query" else "right")
    for push in pushes:
        table.add_row(
            push.query, f"{push.subscribers}", f"{push.rows:,}", f"{push.p50_ms:.1f}",
            f"{push.p99_ms:.1f}", f"{push.max_ms:.1f}", f"{push.server_cpu:.2f}",
            f"{push.load_average:.1f}",
        )  # fmt: skip
    console.print(table)
    _write(json, {"pull": [f.to_dict() for f in pulls], "push": [f.to_dict() for f in pushes]})


@app.command()
def queries(
    counts: Annotated[str, typer.Option(help="How many queries, one after the other.")] = "1,5,20",
    ways: Annotated[str, typer.Option(help="Processes and jobs.")] = ",".join(QUERY_WAYS),
    rate: Annotated[int, typer.Option(help="Records per second of the source.")] = 200,
    seconds: Annotated[float, typer.Option(help="How long to measure.")] = 20.0,
    idle: Annotated[float, typer.Option(help="Seconds without input.")] = 10.0,
    commit_ms: Annotated[int, typer.Option(help="commit.interval.ms")] = 100,
    bootstrap: Bootstrap = "",
    json: JsonFile = None,
) -> None:
    """Measure many small persistent SQL queries over one source, exactly once."""
    table = Table(title=f"{rate:,} records/s, commit {commit_ms} ms, {seconds:.0f} s")
    for column in (
        "queries", "way", "start s", "p50 ms", "p99 ms", "answered", "cores", "broker",
        "idle cores", "processes", "MB (PSS)", "load",
    ):  # fmt: skip
        table.add_column(column, justify="right")
    figures = []
    os.environ.setdefault(BROKER, uuid.uuid4().hex)
    with broker(bootstrap) as servers:
        for count in map(int, counts.split(",")):
            for way in ways.split(","):
                each = measure_queries(servers, way, count, rate, seconds, idle, commit_ms)
                figures.append(each.to_dict())
                table.add_row(
                    f"{count}", way, f"{each.answered_s:.1f}", f"{each.p50_ms:,.0f}",
                    f"{each.p99_ms:,.0f}", f"{each.answered:,} of {each.expected:,}",
                    f"{each.busy.engine:.2f}", f"{each.busy.broker:.2f}",
                    f"{each.idle.engine:.3f}", f"{each.processes}", f"{each.pss_mb:,.0f}",
                    f"{each.load_average:.1f}",
                )  # fmt: skip
                console.print(orjson.dumps(figures[-1]).decode(), soft_wrap=True)
    Console(width=130).print(table)
    _write(json, {"figures": figures})


@app.command()
def nexmark(
    queries: Annotated[str, typer.Option(help="Some of q0 to q23.")] = ",".join(NEXMARK),
    engines: Annotated[str, typer.Option(help="Who runs them.")] = ",".join(NEXMARK_ENGINES),
    count: Annotated[int, typer.Option("--events", help="People, auctions and bids.")] = 1_000_000,
    rounds: Annotated[int, typer.Option(help="How often each one runs.")] = 1,
    check: Annotated[bool, typer.Option(help="Compare our rows with DuckDB's.")] = True,
    bootstrap: Bootstrap = "",
    json: JsonFile = None,
) -> None:
    """Measure the Nexmark queries over Kafka, exactly once: ours, and Flink SQL where it is."""
    able = []
    for engine in filter(None, engines.split(",")):
        lack = missing(engine)
        if lack is None:
            able.append(engine)
        else:
            console.print(f"without {engine}: {lack}")
    names = [name for name in queries.split(",") if name]
    with broker(bootstrap) as servers:
        found = measure_nexmark(servers, able, names, count, rounds, print, check=check)
    table = Table(title=f"Nexmark, {count:,} events, exactly once")
    for column in ("query", "engine", "events/s", "seconds", "start s", "CPU s", "MB", "rows"):
        table.add_column(column, justify="left" if column in ("query", "engine") else "right")
    for each in found:
        table.add_row(
            each.query, each.engine, f"{each.per_second:,.0f}", f"{each.seconds:.1f}",
            f"{each.startup_s:.1f}", f"{each.cpu_s:.1f}", f"{each.rss_mb:,.0f}", each.check,
        )  # fmt: skip
    console.print(table)
    _write(json, {"figures": [each.to_dict() for each in found]})


def _write(file: Path | None, content: dict[str, Any]) -> None:
    if file is not None:
        file.write_bytes(orjson.dumps(content, option=orjson.OPT_INDENT_2))


if __name__ == "__main__":
    app()
