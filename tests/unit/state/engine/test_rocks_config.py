"""RocksDB options by name: what is known, what is not, and who sets them."""

from __future__ import annotations

import pytest
from rocksdict import Options

from penstock.errors import ConfigError
from penstock.state.engine.rocks_config import CONFIG_SETTER, DEFAULTS, RocksOptions, config_setter


def test_options_start_with_the_defaults_and_read_back() -> None:
    """A setter can look before it changes; every spelling is the same option."""
    options = RocksOptions("s")
    assert dict(options) == dict(DEFAULTS)
    options["writeBufferSize"] = 1
    assert options["write_buffer_size"] == options["set_write_buffer_size"] == 1
    options.set_max_write_buffer_number(7).set_block_size(8)
    assert (options["maxWriteBufferNumber"], options["block_size"]) == (7, 8)
    options.set_table_format_config(options.table_format_config())
    del options["block_cache_size"]
    assert "block_cache" not in options
    assert len(options) == len(DEFAULTS) - 1


def test_options_build_for_raw_bytes() -> None:
    """Keys are ordered by their own bytes, without rocksdict's type prefix."""
    assert isinstance(RocksOptions("s").build(), Options)


def test_unknown_option_suggests_the_nearest() -> None:
    """A misspelt option must not be ignored."""
    with pytest.raises(ConfigError, match=r"store 's'.*'write_bufer_size' is unknown") as caught:
        RocksOptions("s")["write_bufer_size"] = 1
    assert caught.value.fix == "did you mean 'write_buffer_size'?"
    with pytest.raises(AttributeError):
        RocksOptions("s").write_buffer_size  # noqa: B018


@pytest.mark.parametrize(
    ("name", "value"),
    [("write_buffer_size", "many"), ("block_size", -1), ("compression_type", "brotli")],
)
def test_value_that_does_not_fit_names_store_and_option(name: str, value: object) -> None:
    """The error shows the value."""
    options = RocksOptions("s")
    options[name] = value
    with pytest.raises(ConfigError, match=f"store 's': RocksDB option '{name}' cannot be"):
        options.build()


def test_setting_that_is_no_setter_is_refused() -> None:
    """Before a store is opened."""
    assert config_setter({}) is None
    with pytest.raises(ConfigError, match="bad-rocksdb-config-setter"):
        config_setter({CONFIG_SETTER: 7})
