"""Options of ``suppress``: how long changes are delayed, and the size of the buffer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

from penstock.dsl.options.stream_options import check_options
from penstock.errors import InvalidArgumentError
from penstock.model.site import caller_site
from penstock.model.time.duration import Duration, to_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class BufferConfig:
    """The size of a suppression buffer (None: no limit), and what happens when it is full.

    With ``emits_early`` the oldest change is emitted. Otherwise the application fails.
    """

    limit_records: int | None = None
    limit_bytes: int | None = None
    emits_early: bool = False
    logging: bool = True
    changelog_config: Mapping[str, str] | None = None

    @staticmethod
    def unbounded() -> BufferConfig:
        """Return a buffer without a limit."""
        return BufferConfig()

    @staticmethod
    def max_records(records: int) -> BufferConfig:
        """Limit the buffer. When it is full, it emits early, unless ``shut_down_when_full``."""
        return BufferConfig(limit_records=records, emits_early=True)

    @staticmethod
    def max_bytes(size: int) -> BufferConfig:
        """Limit the buffer. When it is full, it emits early, unless ``shut_down_when_full``."""
        return BufferConfig(limit_bytes=size, emits_early=True)

    def with_max_records(self, records: int) -> Self:
        """Return this buffer with a limit of records."""
        return replace(self, limit_records=records)

    def with_max_bytes(self, size: int) -> Self:
        """Return this buffer with a limit of bytes."""
        return replace(self, limit_bytes=size)

    def with_no_bound(self) -> Self:
        """Return this buffer without its limit."""
        return replace(self, limit_records=None, limit_bytes=None, emits_early=False)

    def shut_down_when_full(self) -> Self:
        """Return this buffer; if it is full, the application stops."""
        return replace(self, emits_early=False)

    def emit_early_when_full(self) -> Self:
        """Return this buffer; if it is full, it emits its oldest entry early."""
        return replace(self, emits_early=True)

    def with_logging_enabled(self, config: Mapping[str, str] | None = None) -> Self:
        """Return this buffer with a changelog, whose topic has these settings."""
        return replace(self, logging=True, changelog_config=config)

    def with_logging_disabled(self) -> Self:
        """Return this buffer without a changelog: a crash loses what it holds."""
        return replace(self, logging=False, changelog_config=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suppressed:
    """Delays changes until their window closes or, with ``time_limit``, for that time."""

    time_limit: Duration | None = None
    buffer: BufferConfig = BufferConfig()
    name: str | None = None

    def __post_init__(self) -> None:
        check_options(self)
        if self.until_window_closes_only and self.buffer.emits_early:
            raise InvalidArgumentError(
                "bad-suppression",
                "until_window_closes with a buffer that emits early would emit results that are"
                " not final",
                fix="add .shut_down_when_full(), or use BufferConfig.unbounded()",
                at=caller_site(),
            )

    @staticmethod
    def until_window_closes(buffer: BufferConfig | None = None) -> Suppressed:
        """Emit each window once, with its final result. The buffer must not emit early."""
        return Suppressed(buffer=buffer or BufferConfig.unbounded())

    @staticmethod
    def until_time_limit(time_limit: Duration, buffer: BufferConfig | None = None) -> Suppressed:
        """Emit the latest change of a key at most once per ``time_limit``."""
        return Suppressed(time_limit=time_limit, buffer=buffer or BufferConfig.unbounded())

    def with_name(self, name: str) -> Self:
        """Return this suppression with a name for its node and its buffer."""
        return replace(self, name=name)

    @property
    def until_window_closes_only(self) -> bool:
        return self.time_limit is None

    @property
    def time_limit_ms(self) -> int | None:
        return None if self.time_limit is None else to_ms(self.time_limit, "time limit")
