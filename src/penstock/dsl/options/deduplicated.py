"""Options of ``deduplicate_by_key`` and ``deduplicate_by_key_value``. None means: not given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Generic, Self

from penstock.dsl.generics import K, KOther, SerdeLike, V
from penstock.dsl.options.stream_options import SerdeOptions
from penstock.model.former_names import one_spelling


@one_spelling
@dataclass(frozen=True, slots=True, kw_only=True)
class Deduplicated(SerdeOptions[K, V], Generic[K, KOther, V]):
    """Name, store name and serdes of a deduplication.

    ``id`` writes the ids of ``deduplicate_by_key_value`` into the store.
    """

    id: SerdeLike[KOther] | None = None
    store_name: str | None = None

    @staticmethod
    def as_(name: str) -> Deduplicated[Any, Any, Any]:
        """Return options with a name for the processor and its store."""
        return Deduplicated(name=name)

    @staticmethod
    def with_(
        key: SerdeLike[K] | None = None,
        id: SerdeLike[KOther] | None = None,  # noqa: A002
        value: SerdeLike[V] | None = None,
    ) -> Deduplicated[K, KOther, V]:
        """Return options with serdes of keys, ids and values."""
        return Deduplicated(key=key, id=id, value=value)

    def with_id(self, id: SerdeLike[KOther]) -> Self:  # noqa: A002
        """Return options with the serde of the ids."""
        return replace(self, id=id)

    def with_store_name(self, store_name: str) -> Self:
        """Return options with a name for the store."""
        return replace(self, store_name=store_name)
