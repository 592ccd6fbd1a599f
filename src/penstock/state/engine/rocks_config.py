"""Options of RocksDB: Kafka Streams' defaults, the names users know, and the config setter."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Protocol

from rocksdict import BlockBasedOptions, Cache, DBCompactionStyle, DBCompressionType, Options

from penstock.errors import ConfigError

#: The setting that holds a config setter or a dict of options.
CONFIG_SETTER = "rocksdb.config.setter"


class RocksDBConfigSetter(Protocol):
    """A user's class that sets options. It is called once when a store is opened."""

    def set_config(
        self, store_name: str, options: RocksOptions, configs: Mapping[str, Any]
    ) -> None: ...

    def close(self, store_name: str, options: RocksOptions) -> None:
        """Release what ``set_config`` has created. This is called when the store is closed."""


_COMPRESSIONS: dict[str, Callable[[], DBCompressionType]] = {
    "none": DBCompressionType.none,
    "snappy": DBCompressionType.snappy,
    "lz4": DBCompressionType.lz4,
    "lz4hc": DBCompressionType.lz4hc,
    "zstd": DBCompressionType.zstd,
    "zlib": DBCompressionType.zlib,
    "bz2": DBCompressionType.bz2,
}
_STYLES: dict[str, Callable[[], DBCompactionStyle]] = {
    "level": DBCompactionStyle.level,
    "universal": DBCompactionStyle.universal,
    "fifo": DBCompactionStyle.fifo,
}


def _compression(value: Any) -> DBCompressionType:
    # The names of Java's enum are NO_COMPRESSION, LZ4_COMPRESSION and so on.
    name = str(value).lower().removesuffix("_compression").replace("disable_option", "none")
    return _COMPRESSIONS["none" if name == "no" else name]()


def _style(value: Any) -> DBCompactionStyle:
    return _STYLES[str(value).lower()]()


def _cache(value: Any) -> Cache:
    """Return a cache: a number is the size of a new one; a ``Cache`` may be shared by stores."""
    return value if isinstance(value, Cache) else Cache(int(value))


#: RocksDB's name of an option, and how it is set. Java's names are these in camelCase.
_DATABASE: dict[str, Callable[[Options, Any], None]] = {
    "write_buffer_size": Options.set_write_buffer_size,
    "max_write_buffer_number": Options.set_max_write_buffer_number,
    "min_write_buffer_number_to_merge": Options.set_min_write_buffer_number_to_merge,
    "memtable_prefix_bloom_size_ratio": Options.set_memtable_prefix_bloom_ratio,
    "memtable_whole_key_filtering": Options.set_memtable_whole_key_filtering,
    "db_write_buffer_size": Options.set_db_write_buffer_size,
    "write_buffer_manager": Options.set_write_buffer_manager,
    "compression_type": lambda to, value: to.set_compression_type(_compression(value)),
    "compression_per_level": lambda to, value: to.set_compression_per_level(
        [_compression(each) for each in value]
    ),
    "bottommost_compression_type": lambda to, value: to.set_bottommost_compression_type(
        _compression(value)
    ),
    "compaction_style": lambda to, value: to.set_compaction_style(_style(value)),
    "level0_file_num_compaction_trigger": Options.set_level_zero_file_num_compaction_trigger,
    "level0_slowdown_writes_trigger": Options.set_level_zero_slowdown_writes_trigger,
    "level0_stop_writes_trigger": Options.set_level_zero_stop_writes_trigger,
    "level_compaction_dynamic_level_bytes": Options.set_level_compaction_dynamic_level_bytes,
    "max_bytes_for_level_base": Options.set_max_bytes_for_level_base,
    "max_bytes_for_level_multiplier": Options.set_max_bytes_for_level_multiplier,
    "num_levels": Options.set_num_levels,
    "target_file_size_base": Options.set_target_file_size_base,
    "target_file_size_multiplier": Options.set_target_file_size_multiplier,
    "max_compaction_bytes": Options.set_max_compaction_bytes,
    "max_background_jobs": Options.set_max_background_jobs,
    "max_subcompactions": Options.set_max_subcompactions,
    "increase_parallelism": Options.increase_parallelism,
    "disable_auto_compactions": Options.set_disable_auto_compactions,
    "optimize_filters_for_hits": Options.set_optimize_filters_for_hits,
    "max_open_files": Options.set_max_open_files,
    "bytes_per_sync": Options.set_bytes_per_sync,
    "use_fsync": Options.set_use_fsync,
    "use_direct_reads": Options.set_use_direct_reads,
    "allow_mmap_reads": Options.set_allow_mmap_reads,
    "paranoid_checks": Options.set_paranoid_checks,
    "keep_log_file_num": Options.set_keep_log_file_num,
    "max_log_file_size": Options.set_max_log_file_size,
    "stats_dump_period_sec": Options.set_stats_dump_period_sec,
}
_TABLE: dict[str, Callable[[BlockBasedOptions, Any], None]] = {
    "block_cache": lambda to, value: to.set_block_cache(_cache(value)),
    "block_size": BlockBasedOptions.set_block_size,
    "block_restart_interval": BlockBasedOptions.set_block_restart_interval,
    "bloom_filter_bits_per_key": lambda to, value: to.set_bloom_filter(value, False),
    "cache_index_and_filter_blocks": BlockBasedOptions.set_cache_index_and_filter_blocks,
    "pin_l0_filter_and_index_blocks_in_cache": (
        BlockBasedOptions.set_pin_l0_filter_and_index_blocks_in_cache
    ),
    "pin_top_level_index_and_filter": BlockBasedOptions.set_pin_top_level_index_and_filter,
    "format_version": BlockBasedOptions.set_format_version,
}
_ALIASES = {
    "block_cache_size": "block_cache",
    "filter_policy": "bloom_filter_bits_per_key",
    "compression": "compression_type",
    "compaction_type": "compaction_style",
}

#: The defaults of Kafka Streams. The three about log files replace its log level. With filters,
#: also for new data, a key that the store does not have is found missing in a third of the time.
DEFAULTS: Mapping[str, Any] = {
    "write_buffer_size": 16 * 1024 * 1024,
    "max_write_buffer_number": 3,
    "memtable_prefix_bloom_size_ratio": 0.02,
    "memtable_whole_key_filtering": True,
    "block_cache": 50 * 1024 * 1024,
    "block_size": 4096,
    "bloom_filter_bits_per_key": 10,
    "compression_type": "none",
    "compaction_style": "universal",
    "increase_parallelism": max(os.cpu_count() or 1, 2),
    "keep_log_file_num": 2,
    "max_log_file_size": 1024 * 1024,
    "stats_dump_period_sec": 0,
}


class RocksOptions(MutableMapping[str, Any]):
    """The options of one store, by name. Unknown names are refused.

    ``options["write_buffer_size"] = n``, ``options.set_write_buffer_size(n)`` and Java's
    ``writeBufferSize`` as a key all mean the same option. The options of the table format are
    part of the same map, so ``options.table_format_config()`` is the map itself.
    """

    def __init__(self, store: str) -> None:
        self._store = store
        self._values: dict[str, Any] = dict(DEFAULTS)

    def __getitem__(self, name: str) -> Any:
        return self._values[self._known(name)]

    def __setitem__(self, name: str, value: Any) -> None:
        self._values[self._known(name)] = value

    def __delitem__(self, name: str) -> None:
        del self._values[self._known(name)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __getattr__(self, name: str) -> Callable[[Any], RocksOptions]:
        if not name.startswith("set_"):
            raise AttributeError(name)

        def set_option(value: Any) -> RocksOptions:
            self[name] = value
            return self

        return set_option

    def table_format_config(self) -> RocksOptions:
        return self

    def set_table_format_config(self, config: RocksOptions) -> RocksOptions:
        return self

    def build(self) -> Options:
        """Return the options of rocksdict for a database of plain bytes."""
        options, table = Options(raw_mode=True), BlockBasedOptions()
        for name, value in self._values.items():
            try:
                if name in _TABLE:
                    _TABLE[name](table, value)
                else:
                    _DATABASE[name](options, value)
            except (TypeError, ValueError, OverflowError, KeyError) as error:
                raise ConfigError(
                    "bad-rocksdb-option",
                    f"store {self._store!r}: RocksDB option {name!r} cannot be {value!r}"
                    f" ({type(error).__name__}: {error})",
                    fix=f"correct {name!r} in {CONFIG_SETTER!r}",
                ) from error
        options.set_block_based_table_factory(table)
        options.create_if_missing(True)
        return options

    def _known(self, name: str) -> str:
        plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().removeprefix("set_")
        plain = _ALIASES.get(plain, plain)
        if plain in _DATABASE or plain in _TABLE:
            return plain
        near = get_close_matches(plain, [*_DATABASE, *_TABLE, *_ALIASES], n=1)
        raise ConfigError(
            "unknown-rocksdb-option",
            f"store {self._store!r}: RocksDB option {name!r} is unknown",
            fix=f"did you mean {near[0]!r}?" if near else "see RocksOptions for the names",
        )


class _FromDict:
    """Sets the same options for every store."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def set_config(
        self, store_name: str, options: RocksOptions, configs: Mapping[str, Any]
    ) -> None:
        options.update(self._values)

    def close(self, store_name: str, options: RocksOptions) -> None:
        return None


def config_setter(configs: Mapping[str, Any]) -> RocksDBConfigSetter | None:
    """Return the setter that the configuration names: a dict, a class or an object."""
    setting = configs.get(CONFIG_SETTER)
    if setting is None:
        return None
    if isinstance(setting, Mapping):
        return _FromDict(setting)
    setter = setting() if isinstance(setting, type) else setting
    if not callable(getattr(setter, "set_config", None)):
        raise ConfigError(
            "bad-rocksdb-config-setter",
            f"{CONFIG_SETTER!r} is {setting!r}, which has no set_config method",
            fix="give a dict of options, or a class with set_config(store_name, options, configs)",
        )
    return setter  # type: ignore[no-any-return]


def options_in_use(directory: Path) -> dict[str, str]:
    """Read the options that RocksDB has written to the folder of a database, as text."""
    newest = max(directory.glob("OPTIONS-*"), key=lambda file: int(file.name.split("-")[1]))
    lines = (line.strip().split("=", 1) for line in newest.read_text("utf-8").splitlines())
    return {pair[0]: pair[1] for pair in lines if len(pair) > 1}
