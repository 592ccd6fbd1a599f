"""Prepared plans by the shape of the statement. A change of the catalog makes them invalid."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from penstock.server.pull.prepared import PreparedPull
from penstock.sql.catalog.catalog import Catalog
from penstock.sql.pull.shape import Literal, Shape, shape_of

_MOST_SHAPES = 500
_MOST_PER_SHAPE = 100

#: Plans a statement, given its literals.
Plan = Callable[[Sequence[Literal]], PreparedPull]


class BoundPull(NamedTuple):
    """A prepared plan with the literals of one statement."""

    prepared: PreparedPull
    literals: Sequence[Literal]


@dataclass(slots=True)
class _OfShape:
    """The plans of one shape, by those literals that are a fixed part of the plan."""

    fixed: tuple[int, ...]
    plans: OrderedDict[tuple[Any, ...], PreparedPull]


class PlanCache:
    """Keep the plans that were added last. Threads may share it."""

    def __init__(self) -> None:
        self._shapes: OrderedDict[Any, _OfShape] = OrderedDict()
        self._catalog: Catalog | None = None
        self._lock = threading.Lock()
        self.hits = 0
        self.misses = 0

    def is_current(self, catalog: Catalog) -> bool:
        """Return whether the plans are valid for a catalog; if not, forget all of them."""
        if catalog is self._catalog:
            return True
        with self._lock:
            old, self._catalog = self._catalog, catalog
            if old is not None and _means_the_same(old, catalog):
                return True
            self._shapes.clear()
        return False

    def find(
        self, sql: str, properties: Mapping[str, Any]
    ) -> tuple[BoundPull | None, Shape | None]:
        """Return the plan for a statement if there is one, and the shape of the statement."""
        shape = shape_of(sql)
        if shape is None:
            return None, None
        of_shape = self._shapes.get(_key(shape, properties))
        if of_shape is not None:
            literals = shape.literals
            plan = of_shape.plans.get(tuple([literals[n].value for n in of_shape.fixed]))
            if plan is not None:
                self.hits += 1
                return BoundPull(plan, literals), shape
        return None, shape

    def planned(
        self, shape: Shape | None, properties: Mapping[str, Any], plan: Plan, catalog: Catalog
    ) -> BoundPull:
        """Plan a statement and keep the plan; one without a shape is not kept.

        Args:
            shape: What the statement has in common with others.
            properties: The settings of the request.
            plan: Plans the statement.
            catalog: The catalog from before the planning. If another one has come since, the plan
                may belong to the old one and is not kept.
        """
        self.misses += 1
        literals = () if shape is None else shape.literals
        prepared = plan(literals)
        if shape is not None:
            with self._lock:
                if catalog is self._catalog:
                    self._keep(_key(shape, properties), prepared, literals)
        return BoundPull(prepared, literals)

    def _keep(self, key: Any, prepared: PreparedPull, literals: Sequence[Literal]) -> None:
        fixed = tuple(n for n in range(len(literals)) if n not in prepared.bound)
        of_shape = self._shapes.get(key)
        if of_shape is None or of_shape.fixed != fixed:
            of_shape = self._shapes[key] = _OfShape(fixed, OrderedDict())
        of_shape.plans[tuple([literals[n].value for n in fixed])] = prepared
        if len(of_shape.plans) > _MOST_PER_SHAPE:
            of_shape.plans.popitem(last=False)
        self._shapes.move_to_end(key)
        if len(self._shapes) > _MOST_SHAPES:
            self._shapes.popitem(last=False)


def _key(shape: Shape, properties: Mapping[str, Any]) -> Any:
    if not properties:
        return shape.text
    return shape.text, tuple(sorted((name, str(value)) for name, value in properties.items()))


def _means_the_same(old: Catalog, new: Catalog) -> bool:
    """Return whether statements mean the same under both catalogs.

    INSERT VALUES, for one, makes a new catalog with equal content.
    """
    if old.sources.keys() != new.sources.keys():
        return False
    if any(old.sources[name] is not source for name, source in new.sources.items()):
        return False
    return (old.types, old.functions, old.properties, old.system, old.variables) == (
        new.types,
        new.functions,
        new.properties,
        new.system,
        new.variables,
    )
