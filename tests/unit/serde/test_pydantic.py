"""JSON of pydantic models, alone and inside other types."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

pydantic = pytest.importorskip("pydantic")

from penstock.serde.json import PydanticJsonSerde, TypedJsonSerde, json_serde  # noqa: E402


class User(pydantic.BaseModel):  # type: ignore[name-defined, misc]
    name: str = pydantic.Field(alias="userName")
    born: datetime | None = None
    score: float = 0.0


@dataclass
class Team:
    lead: User


ANN = User(userName="Ann", born=datetime(1990, 1, 2, tzinfo=UTC))


def test_model_is_chosen_by_its_class_and_comes_back() -> None:
    """pydantic writes and checks; aliases are the names on the topic."""
    serde = json_serde(User)
    assert serde == PydanticJsonSerde(User)
    assert serde.encode(ANN) == b'{"userName":"Ann","born":"1990-01-02T00:00:00Z","score":0.0}'
    assert serde.decode(serde.encode(ANN)) == ANN


def test_model_inside_a_dataclass_comes_back() -> None:
    """Models and dataclasses mix."""
    serde = TypedJsonSerde(Team)
    assert serde.decode(serde.encode(Team(ANN))) == Team(ANN)
    with pytest.raises(ValueError, match=r"at \$\.lead: 1 validation error for User"):
        serde.decode(b'{"lead":{}}')


def test_malformed_model_is_refused() -> None:
    """Both directions check, and no NaN is written as null."""
    with pytest.raises(ValueError, match="userName"):
        json_serde(User).decode(b"{}")
    with pytest.raises(ValueError, match="Invalid JSON"):
        json_serde(User).decode(b"{")
    with pytest.raises(TypeError, match="JSON serde of User got dict"):
        json_serde(User).encode({"userName": "Ann"})
    with pytest.raises(ValueError, match=r"at \$\.score: JSON has no nan"):
        json_serde(User).encode(User(userName="Ann", score=math.nan))
