"""``KTable``. Each method calls the file of its operator in ``dsl.operators``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Literal, Unpack, overload

from penstock.dsl.faces.kgrouped_table import KGroupedTable
from penstock.dsl.generics import K2, V2, K, KOther, SerdeLike, V, VOther, VOut
from penstock.dsl.operators.aggregations.table_group_by import group_table
from penstock.dsl.operators.joins.foreign_key_join import join_tables_on_foreign_key
from penstock.dsl.operators.joins.table_join import join_tables
from penstock.dsl.operators.streams.select_key import select_stream_key
from penstock.dsl.operators.tables.suppress import suppress_table
from penstock.dsl.operators.tables.table_filter import filter_table
from penstock.dsl.operators.tables.table_map_values import map_table_values
from penstock.dsl.operators.tables.table_transform_values import transform_table_values
from penstock.dsl.operators.tables.to_stream import table_to_stream
from penstock.dsl.operators.topics.to_lake import table_to_lake
from penstock.dsl.options.java_arguments import names_options
from penstock.dsl.options.join_keywords import TableJoinKeywords, TableResultKeywords
from penstock.dsl.options.join_options import TableJoined
from penstock.dsl.options.materialized import Materialized
from penstock.dsl.options.naming import Named, name_of
from penstock.dsl.options.stream_options import Grouped, options_of
from penstock.dsl.options.suppressed import Suppressed
from penstock.dsl.plan.materialize import StoreOptions, materialized_of
from penstock.dsl.plan.table import Table
from penstock.errors import InvalidArgumentError, NullArgumentError
from penstock.model.former_names import absent, one_spelling
from penstock.model.site import caller_site
from penstock.topology.nodes import JoinKind

if TYPE_CHECKING:
    from penstock.dsl.faces.kstream import KStream
    from penstock.processor.processor import ValueTransformer


@one_spelling
@names_options
class KTable(Generic[K, V]):
    """A table: the latest value per key, and a stream of its changes.

    The result of an operator has a store if ``materialized`` names one, or if a later operator
    looks up rows. A table without a store is computed from the table above it.
    """

    def __init__(self, table: Table) -> None:
        self._table = table

    def __repr__(self) -> str:
        return f"KTable({self._table.name!r})"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise absent("KTable", name, dir(KTable))

    @property
    def queryable_store_name(self) -> str | None:
        """Return the name of the store for interactive queries; None if there is none."""
        return self._table.queryable_store_name

    def filter(
        self,
        fn: Callable[[K, V], bool],
        materialized: StoreOptions | None = None,
        name: str | Named | None = None,
    ) -> KTable[K, V]:
        """Keep the rows for which ``fn`` holds; delete a row for which it no longer does.

        Args:
            fn: A function of key and value. It is not called for deleted rows.
            materialized: Options of the result's store, or only its name.
            name: The name of the processor.
        """
        options = materialized_of(materialized)
        return self._of(filter_table(self._table, fn, options, name_of(name), negate=False))

    def filter_not(
        self,
        fn: Callable[[K, V], bool],
        materialized: StoreOptions | None = None,
        name: str | Named | None = None,
    ) -> KTable[K, V]:
        """Keep the rows for which ``fn`` does not hold; see ``filter``."""
        options = materialized_of(materialized)
        return self._of(filter_table(self._table, fn, options, name_of(name), negate=True))

    def map_values(
        self,
        fn: Callable[[V], V2] | Callable[[K, V], V2],
        materialized: StoreOptions | None = None,
        name: str | Named | None = None,
        *,
        value: SerdeLike[V2] | None = None,
    ) -> KTable[K, V2]:
        """Replace the value of each row. A deleted row stays deleted.

        Args:
            fn: A function of the value, or of key and value.
            materialized: Options of the result's store, or only its name.
            name: The name of the processor.
            value: The serde of the new values.
        """
        options = materialized_of(materialized, value=value)
        return self._of(map_table_values(self._table, fn, options, name_of(name)))

    def transform_values(
        self,
        supplier: Callable[[], ValueTransformer],
        *stores: str,
        materialized: StoreOptions | None = None,
        name: str | Named | None = None,
        value: SerdeLike[Any] | None = None,
    ) -> KTable[K, Any]:
        """Replace the value of each row with the help of state stores.

        Args:
            supplier: A ``ValueTransformer`` class, or a function that creates one
                each time. It is also called for deleted rows.
            stores: Names of the stores that the transformer uses.
            materialized: Options of the result's store, or only its name. Without a store,
                a row may be transformed several times.
            name: The name of the processor.
            value: The serde of the new values.
        """
        options = materialized_of(materialized, value=value)
        transformed = transform_table_values(self._table, supplier, stores, options, name_of(name))
        return self._of(transformed)

    def to_spark(
        self,
        fn: Callable[[Any, int], object],
        schema: Any = None,
        name: str | Named | None = None,
    ) -> None:
        """Call ``fn(dataframe, batch_id)`` with committed changes; see ``KStream.to_spark``.

        A deleted row has a null value.
        """
        self.to_stream().to_spark(fn, schema, name)

    def to_lake(
        self,
        table: str,
        schema: Any = None,
        name: str | Named | None = None,
        *,
        mode: Literal["changes", "present"] = "changes",
    ) -> None:
        """Write the changes or the present rows to a table of a lakehouse.

        See ``KStream.to_lake``. With ``mode="changes"`` every change is appended, and a deleted
        row has a null value. With ``mode="present"`` the table has one row for each row of this
        table, and each of its versions is this table at one moment.
        """
        stream = self.to_stream()._stream
        table_to_lake(stream, table, schema, name_of(name), mode)

    def to(self, topic: Any, produced: Any = None, **options: Any) -> None:
        """Write every change to a topic: short for ``to_stream().to(...)``."""
        self.to_stream().to(topic, produced, **options)

    @overload
    def to_stream(self, fn: None = None, name: str | Named | None = None) -> KStream[K, V]: ...
    @overload
    def to_stream(
        self, fn: Callable[[K, V], K2], name: str | Named | None = None
    ) -> KStream[K2, V]: ...
    def to_stream(
        self, fn: Callable[[K, V], Any] | None = None, name: str | Named | None = None
    ) -> KStream[Any, V]:
        """Return the table's changes as a stream of new values; None is a deleted row.

        Args:
            fn: A function of key and value that returns a new key for each record.
            name: The name of the processor.
        """
        stream = table_to_stream(self._table, name_of(name))
        if fn is not None:
            stream = select_stream_key(stream, fn, None)
        result: KStream[Any, V] = self._table.graph.faces.stream(stream)
        return result

    def suppress(self, suppressed: Suppressed) -> KTable[K, V]:
        """Delay changes, and emit only the last one per key, or per key and window."""
        if not isinstance(suppressed, Suppressed):
            raise InvalidArgumentError(
                "bad-option",
                f"{suppressed!r} is given where Suppressed is wanted",
                fix="give Suppressed.until_window_closes(…) or Suppressed.until_time_limit(…)",
                at=caller_site(),
            )
        return self._of(suppress_table(self._table, suppressed))

    def group_by(
        self,
        fn: Callable[[K, V], tuple[K2, V2]],
        grouped: Grouped[K2, V2] | str | None = None,
        *,
        key: SerdeLike[K2] | None = None,
        value: SerdeLike[V2] | None = None,
        name: str | Named | None = None,
    ) -> KGroupedTable[K2, V2]:
        """Group rows by a new key, for an aggregation.

        Args:
            fn: A function of key and value that returns the new key and value.
            grouped: Name and serdes of the repartition topic.
            key: The serde of the new keys.
            value: The serde of the new values.
            name: The name of the topic and the processor.
        """
        options = options_of(Grouped, grouped, key=key, value=value, name=name_of(name))
        return KGroupedTable(group_table(self._table, fn, options))

    @overload
    def join(
        self,
        other: KTable[KOther, VOther],
        joiner: Callable[[V, VOther], VOut],
        **keywords: Unpack[TableJoinKeywords[K, V, KOther, VOut]],
    ) -> KTable[K, VOut]: ...
    @overload
    def join(
        self,
        other: KTable[KOther, VOther],
        joiner: Callable[[K, V, VOther], VOut],
        **keywords: Unpack[TableJoinKeywords[K, V, KOther, VOut]],
    ) -> KTable[K, VOut]: ...
    def join(
        self,
        other: KTable[KOther, VOther],
        joiner: Callable[..., VOut],
        *,
        foreign_key: Callable[[V], KOther | None] | Callable[[K, V], KOther | None] | None = None,
        table_joined: TableJoined[K, KOther] | str | None = None,
        materialized: StoreOptions | None = None,
        name: str | Named | None = None,
        value: SerdeLike[VOut] | None = None,
    ) -> KTable[K, VOut]:
        """Join rows of two tables with the same key, or on a foreign key.

        Args:
            other: The right table.
            joiner: A function of the two values, or of the key and the two values.
            foreign_key: A function of the left value, or of left key and value, that returns
                the key of the row in the right table. Without it, the keys must be equal.
            table_joined: Name and partitioners of a join on a foreign key.
            materialized: Options of the result's store, or only its name.
            name: The name of the processors.
            value: The serde of the result's values.
        """
        options = materialized_of(materialized, value=value)
        if foreign_key is None:
            _refuse(table_joined)
            return self._join(JoinKind.INNER, other, joiner, options, name)
        joined = options_of(TableJoined, table_joined, name=name_of(name))
        return self._foreign_key_join(other, joiner, foreign_key, joined, options, is_left=False)

    @overload
    def left_join(
        self,
        other: KTable[KOther, VOther],
        joiner: Callable[[V, VOther | None], VOut],
        **keywords: Unpack[TableJoinKeywords[K, V, KOther, VOut]],
    ) -> KTable[K, VOut]: ...
    @overload
    def left_join(
        self,
        other: KTable[KOther, VOther],
        joiner: Callable[[K, V, VOther | None], VOut],
        **keywords: Unpack[TableJoinKeywords[K, V, KOther, VOut]],
    ) -> KTable[K, VOut]: ...
    def left_join(
        self,
        other: KTable[KOther, VOther],
        joiner: Callable[..., VOut],
        *,
        foreign_key: Callable[[V], KOther | None] | Callable[[K, V], KOther | None] | None = None,
        table_joined: TableJoined[K, KOther] | str | None = None,
        materialized: StoreOptions | None = None,
        name: str | Named | None = None,
        value: SerdeLike[VOut] | None = None,
    ) -> KTable[K, VOut]:
        """Join as ``join`` does, and keep left rows without a partner, with None as right value."""
        options = materialized_of(materialized, value=value)
        if foreign_key is None:
            _refuse(table_joined)
            return self._join(JoinKind.LEFT, other, joiner, options, name)
        joined = options_of(TableJoined, table_joined, name=name_of(name))
        return self._foreign_key_join(other, joiner, foreign_key, joined, options, is_left=True)

    @overload
    def outer_join(
        self,
        other: KTable[K, VOther],
        joiner: Callable[[V | None, VOther | None], VOut],
        **keywords: Unpack[TableResultKeywords[VOut]],
    ) -> KTable[K, VOut]: ...
    @overload
    def outer_join(
        self,
        other: KTable[K, VOther],
        joiner: Callable[[K, V | None, VOther | None], VOut],
        **keywords: Unpack[TableResultKeywords[VOut]],
    ) -> KTable[K, VOut]: ...
    def outer_join(
        self,
        other: KTable[K, VOther],
        joiner: Callable[..., VOut],
        *,
        materialized: StoreOptions | None = None,
        name: str | Named | None = None,
        value: SerdeLike[VOut] | None = None,
    ) -> KTable[K, VOut]:
        """Join as ``join`` does, and keep rows of both sides; the missing value is None."""
        options = materialized_of(materialized, value=value)
        return self._join(JoinKind.OUTER, other, joiner, options, name)

    def _join(
        self,
        kind: JoinKind,
        other: KTable[Any, Any],
        joiner: Callable[..., Any],
        options: Materialized[Any, Any] | None,
        name: str | Named | None,
    ) -> KTable[K, Any]:
        right = _table_of(other)
        return self._of(join_tables(self._table, right, kind, joiner, options, name_of(name)))

    def _foreign_key_join(
        self, other: KTable[Any, Any], joiner: Callable[..., Any], *how: Any, is_left: bool
    ) -> KTable[K, Any]:
        foreign_key, joined, options = how
        right = _table_of(other)
        return self._of(
            join_tables_on_foreign_key(
                self._table, right, foreign_key, joiner, joined, options, is_left=is_left
            )
        )

    def _of(self, table: Table) -> KTable[Any, Any]:
        result: KTable[Any, Any] = table.graph.faces.table(table)
        return result


def _table_of(other: KTable[Any, Any]) -> Table:
    if other is None:
        raise NullArgumentError(
            "missing-argument", "the other table is None", "give a KTable", caller_site()
        )
    if not isinstance(other, KTable):
        raise InvalidArgumentError(
            "not-a-table",
            f"a table can be joined with a KTable, not with {other!r}",
            fix="turn a stream into a table first, with to_table()",
            at=caller_site(),
        )
    return other._table


def _refuse(table_joined: object) -> None:
    if table_joined is not None:
        raise InvalidArgumentError(
            "table-joined-without-foreign-key",
            f"table_joined={table_joined!r} is given, but no foreign_key",
            fix="add foreign_key=…, or use name=… to name a join of equal keys",
            at=caller_site(),
        )
