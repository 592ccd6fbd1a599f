"""The type variables of the DSL. A type that a program leaves open is Any."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from penstock.serde.base import Serde

if TYPE_CHECKING:
    from typing_extensions import TypeVar as TypeVarWithDefault

    K = TypeVarWithDefault("K", default=Any)
    V = TypeVarWithDefault("V", default=Any)
    KOther = TypeVarWithDefault("KOther", default=Any)
    VOther = TypeVarWithDefault("VOther", default=Any)
    #: The result of a join or an aggregation.
    VOut = TypeVarWithDefault("VOut", default=Any)
else:
    # Before Python 3.13, type variables have no defaults at run time.
    K = TypeVar("K")
    V = TypeVar("V")
    KOther = TypeVar("KOther")
    VOther = TypeVar("VOther")
    VOut = TypeVar("VOut")

K2 = TypeVar("K2")
V2 = TypeVar("V2")

#: What users may give for a serde: the serde, a Python type, or its name.
SerdeLike = Serde[K] | type[K] | str
