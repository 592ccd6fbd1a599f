"""Opens a time-ordered buffer: the one of ``suppress`` or the one of joins."""

from __future__ import annotations

from penstock.state.buffer.buffered import Buffered, Eviction, TimeOrderedBuffer
from penstock.state.buffer.change_buffer import ChangeBuffer
from penstock.state.buffer.join_buffer import JoinBuffer
from penstock.state.codec import key_codec, value_codec
from penstock.state.environment import StoreEnvironment
from penstock.state.spec import StoreSpec

__all__ = ["Buffered", "Eviction", "TimeOrderedBuffer", "open_time_ordered_buffer"]


def open_time_ordered_buffer(spec: StoreSpec, env: StoreEnvironment) -> TimeOrderedBuffer:
    """Open the buffer that the spec asks for.

    A buffer in memory is for ``suppress``. A persistent one is for a stream-table join, whose grace
    period is ``retention_ms``.
    """
    keys, values = key_codec(spec, env), value_codec(spec, env)
    changelog = env.changelog(spec.name) if spec.logging else None
    if not spec.persistent:
        return ChangeBuffer(
            spec, keys=keys, values=values, changelog=changelog, context=env.context
        )
    return JoinBuffer(
        spec,
        env.engine(spec.name),
        keys=keys,
        values=values,
        changelog=changelog,
        context=env.context,
    )
