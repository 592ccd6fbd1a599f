"""Builds a case's topology: one method per operation, named as the operation is.

The DSL operations are here, those of the Processor API in ``build_papi``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import penstock as ps
from tests.oracle import folds, functions, options
from tests.oracle.build_papi import ProcessorApi, supplier, supplier_stores
from tests.oracle.extractors import TopicExtractor
from tests.oracle.options import Op
from tests.oracle.processors import Transformer
from tests.oracle.values import is_windowed

#: What ``peek`` and ``foreach`` saw, in order.
SideEffects = list[dict[str, Any]]


def build_topology(case: Mapping[str, Any], effects: SideEffects) -> ps.Topology:
    """Calls the case's operations in order and gives the topology they make."""
    kinds = store_kinds(case)
    operations = case["topology"]
    dsl = Dsl(ps.StreamsBuilder(options.builder_configuration(case)), kinds, effects)
    dsl_operations = [op for op in operations if hasattr(dsl, op["op"])]
    for op in dsl_operations:
        dsl.call(op)
    is_dsl = bool(dsl_operations)
    topology = dsl.builder.build(options.configuration(case)) if is_dsl else ps.Topology()
    papi = ProcessorApi(topology, kinds)
    for op in operations:
        if not hasattr(dsl, op["op"]):
            papi.call(op)
    return topology


def store_kinds(case: Mapping[str, Any]) -> dict[str, str]:
    """Gives the kind of each store that the case declares itself, by name."""
    stores = [op["store"] for op in case["topology"] if "store" in op]
    stores += [store for op in case["topology"] for store in supplier_stores(op)]
    return {store["name"]: store["kind"] for store in stores}


def _named(op: Op) -> dict[str, Any]:
    return {"name": op["named"]} if "named" in op else {}


def _kept(op: Op) -> dict[str, Any]:
    """The keywords of an operation that may be materialized and named."""
    store = {"materialized": options.materialized(op)} if "materialized" in op else {}
    return {**store, **_named(op)}


def _of_value(function: Callable[[Any, Any], Any], op: Op) -> Callable[..., Any]:
    """Narrows a (key, value) function to the overload without key unless ``with_key`` is set."""
    return function if op.get("with_key") else lambda value: function(None, value)


def _joiner(op: Op) -> Callable[..., Any]:
    join = folds.joiner(op["joiner"])
    return join if op.get("with_key") else lambda left, right: join(None, left, right)


class Dsl:
    """Calls the builder, and keeps the result of each operation under its id."""

    def __init__(
        self, builder: ps.StreamsBuilder, kinds: Mapping[str, str], effects: SideEffects
    ) -> None:
        self.builder = builder
        self._kinds = kinds
        self._effects = effects
        self._results: dict[str, Any] = {}

    def call(self, op: Op) -> None:
        """Runs one operation."""
        result = getattr(self, op["op"])(op)
        if "id" in op:
            self._results[op["id"]] = result

    def _in(self, op: Op) -> Any:
        return self._results[op["in"]]

    def _two(self, op: Op) -> tuple[Any, Any]:
        left, right = op["in"]
        return self._results[left], self._results[right]

    # Sources and sinks.

    def stream(self, op: Op) -> Any:
        return self.builder.stream(options.topics(op), options.consumed(op))

    def table(self, op: Op) -> Any:
        source = options.consumed(op)
        return self.builder.table(op["topic"], source, options.materialized(op))

    def global_table(self, op: Op) -> Any:
        source = options.consumed(op)
        return self.builder.global_table(op["topic"], source, options.materialized(op))

    def state_store(self, op: Op) -> Any:
        return self.builder.add_state_store(options.store_builder(op["store"]))

    def global_store(self, op: Op) -> Any:
        store = options.store_builder(op["store"])
        source, process = options.consumed(op), supplier(op, self._kinds)
        return self.builder.add_global_store(store, op["topic"], source, process)

    def to(self, op: Op) -> None:
        topic = TopicExtractor(op["topic_extractor"]) if "topic_extractor" in op else op["topic"]
        self._in(op).to(topic, options.produced(op))

    # Stateless operations of streams and tables.

    def filter(self, op: Op) -> Any:
        return self._in(op).filter(functions.predicate(op["predicate"]), **_kept(op))

    def filter_not(self, op: Op) -> Any:
        return self._in(op).filter_not(functions.predicate(op["predicate"]), **_kept(op))

    def map_values(self, op: Op) -> Any:
        mapper = _of_value(functions.value_mapper(op["mapper"]), op)
        return self._in(op).map_values(mapper, **_kept(op))

    def map(self, op: Op) -> Any:
        return self._in(op).map(functions.pair_mapper(op["mapper"]), **_named(op))

    def flat_map(self, op: Op) -> Any:
        return self._in(op).flat_map(functions.flat_mapper(op["mapper"]), **_named(op))

    def flat_map_values(self, op: Op) -> Any:
        mapper = _of_value(functions.flat_value_mapper(op["mapper"]), op)
        return self._in(op).flat_map_values(mapper, **_named(op))

    def select_key(self, op: Op) -> Any:
        return self._in(op).select_key(functions.key_selector(op["mapper"]), **_named(op))

    def peek(self, op: Op) -> Any:
        return self._in(op).peek(self._observer(op["id"]), **_named(op))

    def foreach(self, op: Op) -> None:
        self._in(op).for_each(self._observer(op["id"]), **_named(op))

    def _observer(self, node: str) -> Callable[[Any, Any], None]:
        def observe(key: Any, value: Any) -> None:
            if is_windowed(key):
                window = {"start": key.window.start, "end": key.window.end}
                key = {"key": key.key, "window": window}
            self._effects.append({"id": node, "key": key, "value": value})

        return observe

    def merge(self, op: Op) -> Any:
        left, right = self._two(op)
        return left.merge(right, **_named(op))

    def split(self, op: Op) -> None:
        branched = self._in(op).split(**_named(op))
        ids = [branch["id"] for branch in op["branches"]]
        for branch in op["branches"]:
            test = functions.predicate(branch["predicate"])
            branched = branched.branch(test, name=branch.get("name"))
        if "default" in op:
            ids.append(op["default"]["id"])
            streams = branched.default_branch(op["default"].get("name"))
        else:
            streams = branched.no_default_branch()
        self._results.update(zip(ids, streams.values(), strict=True))

    def repartition(self, op: Op) -> Any:
        return self._in(op).repartition(options.repartitioned(op))

    def to_table(self, op: Op) -> Any:
        return self._in(op).to_table(**_kept(op))

    def to_stream(self, op: Op) -> Any:
        if "mapper" not in op:
            return self._in(op).to_stream(**_named(op))
        return self._in(op).to_stream(functions.key_selector(op["mapper"]), **_named(op))

    def transform_values(self, op: Op) -> Any:
        stores = op.get("stores", [])
        make = lambda: Transformer(op["transformer"])  # noqa: E731
        return self._in(op).transform_values(make, *stores, **_kept(op))

    def process(self, op: Op) -> Any:
        made = supplier(op, self._kinds)
        return self._in(op).process(made, *op.get("stores", []), **_named(op))

    def process_values(self, op: Op) -> Any:
        made = supplier(op, self._kinds, fixed_key=True)
        return self._in(op).process_values(made, *op.get("stores", []), **_named(op))

    # Grouping and aggregating.

    def group_by_key(self, op: Op) -> Any:
        return self._in(op).group_by_key(options.grouped(op))

    def group_by(self, op: Op) -> Any:
        source = self._in(op)
        is_table = isinstance(source, ps.KTable)
        mappers = functions.pair_mapper if is_table else functions.key_selector
        return source.group_by(mappers(op["mapper"]), options.grouped(op))

    def windowed_by(self, op: Op) -> Any:
        return self._in(op).windowed_by(options.windows(op))

    def emit_strategy(self, op: Op) -> Any:
        strategy = ps.EmitStrategy(op["strategy"])
        if strategy is ps.EmitStrategy.ON_WINDOW_CLOSE:
            # The cases were recorded from Java, which loses windows after a jump of time.
            strategy = ps.EmitStrategy.AFTER_EXPIRY
        return self._in(op).emit_strategy(strategy)

    def cogroup(self, op: Op) -> Any:
        fold = folds.aggregator(op["aggregator"])
        if isinstance(op["in"], str):
            return self._in(op).cogroup(fold)
        if len(op["in"]) == 1:
            return self._results[op["in"][0]].cogroup(fold)
        cogrouped, grouped = self._two(op)
        return cogrouped.cogroup(grouped, fold)

    def count(self, op: Op) -> Any:
        return self._in(op).count(**_kept(op))

    def reduce(self, op: Op) -> Any:
        folds_given = [folds.reducer(op[each]) for each in ("reducer", "subtractor") if each in op]
        return self._in(op).reduce(*folds_given, **_kept(op))

    def aggregate(self, op: Op) -> Any:
        steps = [folds.initializer(op["initializer"])]
        steps += [folds.aggregator(op[each]) for each in ("aggregator", "subtractor") if each in op]
        steps += [folds.merger(op["merger"])] if "merger" in op else []
        return self._in(op).aggregate(*steps, **_kept(op))

    def suppress(self, op: Op) -> Any:
        return self._in(op).suppress(options.suppressed(op))

    # Joins.

    def join(self, op: Op) -> Any:
        return self._join(op, "join")

    def left_join(self, op: Op) -> Any:
        return self._join(op, "left_join")

    def outer_join(self, op: Op) -> Any:
        return self._join(op, "outer_join")

    def _join(self, op: Op, method: str) -> Any:
        left, right = self._two(op)
        join = getattr(left, method)
        if "window" in op:
            how = options.stream_joined(op)
            return join(right, _joiner(op), options.join_windows(op), stream_joined=how)
        if "mapper" in op:
            lookup = functions.key_selector(op["mapper"])
            return join(right, _joiner(op), key=lookup, **_named(op))
        if isinstance(left, ps.KStream):
            return join(right, _joiner(op), joined=options.joined(op))
        return join(right, _joiner(op), **_kept(op))

    def fk_join(self, op: Op) -> Any:
        return self._fk_join(op, "join")

    def fk_left_join(self, op: Op) -> Any:
        return self._fk_join(op, "left_join")

    def _fk_join(self, op: Op, method: str) -> Any:
        left, right = self._two(op)
        key = _of_value(functions.key_selector(op["foreign_key"]), op)
        join = folds.joiner(op["joiner"])
        return getattr(left, method)(
            right,
            lambda this, other: join(None, this, other),
            foreign_key=key,
            table_joined=options.table_joined(op),
            **_kept(op),
        )
