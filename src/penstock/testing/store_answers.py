"""``driver.store(name)``: the stores of a test driver, read as those of a running application."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from penstock.config import StreamsConfig
from penstock.query.parameters import StoreQueryParameters, store_name_of
from penstock.runtime.spark.driver.stores.store_view import StoreView
from penstock.state.header_rows import face
from penstock.state.spec import StoreHeaders
from penstock.topology.graph import Graph
from penstock.topology.key_placement import is_placed


class StoreAnswers:
    """Answers for a ``StoreView`` from the stores in this process, by partition."""

    def __init__(self, stores: Mapping[int, Any]) -> None:
        self._stores = stores

    def query(self, store: str, partition: int, method: str, arguments: tuple[Any, ...]) -> Any:
        view = face(self._stores[partition], StoreHeaders.KEPT)
        result = getattr(view, method)(*arguments)
        if isinstance(result, Iterable) and not isinstance(result, tuple | str | bytes | dict):
            return list(result)
        return result


def store_view(
    graph: Graph, asked: str | StoreQueryParameters, store: Any, config: StreamsConfig
) -> StoreView:
    """Return a view of a store: of one object, or of one for each partition."""
    view = _whole(graph, store_name_of(asked), store, config)
    return view.narrowed(asked) if isinstance(asked, StoreQueryParameters) else view


def _whole(graph: Graph, name: str, store: Any, config: StreamsConfig) -> StoreView:
    if name in graph.global_stores:
        spec = graph.global_stores[name].spec
        return StoreView(spec, 1, config, StoreAnswers({0: store}))
    parts = store if isinstance(store, dict) else {0: store}
    answers = StoreAnswers(parts)
    placed = is_placed(graph, name)
    return StoreView(graph.stores[name], len(parts), config, answers, is_placed=placed)
