"""``penstock.java``: every spelling there does what its Python name does."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

import penstock
from penstock import StreamsBuilder, TopologyTestDriver, config, errors, java, query
from penstock.serde.serdes import JAVA_FACTORIES
from penstock.state import stores

EXCEPTIONS = {
    "DeserializationException": "DeserializationError",
    "SerdeException": "SerializationError",
    "TaskMigratedException": "TaskMigratedError",
}
PAGE = Path(__file__).parents[2] / "docs" / "coming-from" / "java-spellings.md"
ARGUMENTS = {
    "persistent_versioned_key_value_store": ("s", "1h"),
    "lru_map": ("s", 5),
    "persistent_session_store": ("s", "1h"),
    "persistent_session_store_with_headers": ("s", "1h"),
    "in_memory_session_store": ("s", "1h"),
}


def camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.title() for word in rest)


def factories() -> list[str]:
    return sorted(name for name in vars(stores.Stores) if not name.startswith("_"))


def arguments(name: str) -> tuple[object, ...]:
    """Arguments for a factory; a builder gets what the supplier of its name makes."""
    if not name.endswith("_builder"):
        return ARGUMENTS.get(name, ("s", "1h", "5m") if "window" in name else ("s",))
    kind = name.removesuffix("_builder").replace("timestamped_", "").replace("_with_headers", "")
    supplier = f"persistent_{kind}"
    return (getattr(stores.Stores, supplier)(*arguments(supplier)),)


@pytest.mark.parametrize("name", factories())
def test_every_factory_of_stores_has_javas_name(name: str) -> None:
    """And makes the same, whatever was added in Python."""
    ours, javas = (
        getattr(owner, spelling)(*arguments(name))
        for owner, spelling in ((stores.Stores, name), (java.Stores, camel(name)))
    )
    assert ours == javas


def test_stores_has_no_other_names_of_its_own() -> None:
    own = {name for name in vars(java.Stores) if not name.startswith("_")}
    assert own == {camel(name) for name in factories()}


@pytest.mark.parametrize("name", sorted(config.SETTINGS))
def test_every_setting_has_javas_constant(name: str) -> None:
    """Its value is the setting's name, which a configuration takes."""
    constant = f"{name.strip('_').upper().replace('.', '_')}_CONFIG"
    assert getattr(java.StreamsConfig, constant) == name


def test_wrong_constant_is_told_the_nearest() -> None:
    with pytest.raises(AttributeError, match="did you mean APPLICATION_ID_CONFIG"):
        _ = java.StreamsConfig.APPLICATON_ID_CONFIG


def test_configuration_is_checked_and_typed_as_ever() -> None:
    given = java.StreamsConfig({java.StreamsConfig.NUM_STREAM_THREADS_CONFIG: "2"})
    assert given[config.NUM_STREAM_THREADS] == 2
    assert config.StreamsConfig.of(given) is given


@pytest.mark.parametrize(("name", "ours"), JAVA_FACTORIES.items())
def test_every_serde_has_javas_name(name: str, ours: str) -> None:
    """``Serdes.String()`` makes what ``Serdes.string()`` makes."""
    inner = ("string",) if ours == "list_" else ()
    assert getattr(java.Serdes, name)(*inner) == getattr(penstock.Serdes, ours)(*inner)


def test_javas_constants_are_only_here() -> None:
    """Elsewhere a setting has its name, and a warning says so."""
    constants: Any = config.StreamsConfig
    with pytest.warns(DeprecationWarning, match=r"write 'application\.id', or .* penstock\.java"):
        assert constants.APPLICATION_ID_CONFIG == "application.id"
    with pytest.raises(AttributeError):
        _ = constants.NOT_A_SETTING_CONFIG
    with pytest.raises(AttributeError):
        _ = penstock.AutoOffsetReset.earliest  # type: ignore[attr-defined]


def test_javas_methods_of_strategies_and_resets() -> None:
    assert java.EmitStrategy.on_window_close() is penstock.EmitStrategy.ON_WINDOW_CLOSE
    assert java.EmitStrategy.on_window_update() is penstock.EmitStrategy.ON_WINDOW_UPDATE
    assert java.AutoOffsetReset.latest() == penstock.AutoOffsetReset.LATEST
    assert java.AutoOffsetReset.none() == "none"


def test_other_names_are_those_of_penstock_itself() -> None:
    """So a ported program and a new one can share objects."""
    own = {name for name in java.__all__ if inspect.getmodule(getattr(java, name)) is java}
    assert own == {
        "AutoOffsetReset", "EmitStrategy", "JoinWindows", "Serdes", "SessionWindows", "Stores",
        "StreamsConfig", "TimeWindows",
    }  # fmt: skip
    for name in {*java.__all__} - own - {"branch", "through"}:
        spelling = EXCEPTIONS.get(name, name)
        home = next(each for each in (penstock, query, errors) if hasattr(each, spelling))
        assert getattr(java, name) is getattr(home, spelling)


def test_page_names_every_name() -> None:
    """Who ports a program looks a name up there."""
    text = PAGE.read_text(encoding="utf-8")
    assert [name for name in java.__all__ if name not in text] == []


def test_ported_program_runs() -> None:
    """Java's lines with Python's dots."""
    builder = StreamsBuilder()
    source = java.Consumed.with_(
        java.Serdes.String(), java.Serdes.String(), offset_reset=java.AutoOffsetReset.earliest()
    )
    table = (
        builder.stream("in", source)
        .group_by_key(java.Grouped.with_(java.Serdes.String(), java.Serdes.String()))
        .count(
            java.Materialized.as_(java.Stores.inMemoryKeyValueStore("counts")),
            java.Named.as_("count"),
        )
    )
    table.to_stream().to("out", java.Produced.with_(java.Serdes.String(), java.Serdes.Long()))
    settings = {java.StreamsConfig.APPLICATION_ID_CONFIG: "ported"}
    with TopologyTestDriver(builder.build(), settings) as driver:
        driver.pipe("in", ("a", "x"), ("a", "y"))
        asked = java.StoreQueryParameters.from_name_and_type(
            "counts", java.QueryableStoreTypes.key_value_store()
        )
        assert driver.store(asked)["a"] == 2
        assert driver.read_map("out") == {"a": 2}
