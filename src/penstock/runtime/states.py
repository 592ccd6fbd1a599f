"""The states of an application, and which state may follow which."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from penstock.errors import InvalidStateError


class State(Enum):
    """Kafka Streams' states. REBALANCING covers starting up and restoring."""

    CREATED = "CREATED"
    REBALANCING = "REBALANCING"
    RUNNING = "RUNNING"
    PENDING_SHUTDOWN = "PENDING_SHUTDOWN"
    NOT_RUNNING = "NOT_RUNNING"
    PENDING_ERROR = "PENDING_ERROR"
    ERROR = "ERROR"

    def __call__(self) -> State:
        """Return the state itself, so that Java's spelling ``streams.state()`` works too."""
        return self

    @property
    def is_running_or_rebalancing(self) -> bool:
        return self in (State.RUNNING, State.REBALANCING)

    @property
    def has_ended(self) -> bool:
        return self in (State.NOT_RUNNING, State.ERROR)


#: Called with the new and the old state, in order, by one thread at a time.
StateListener = Callable[[State, State], None]

NEXT: dict[State, frozenset[State]] = {
    State.CREATED: frozenset({State.REBALANCING, State.PENDING_SHUTDOWN}),
    State.REBALANCING: frozenset({State.RUNNING, State.PENDING_SHUTDOWN, State.PENDING_ERROR}),
    State.RUNNING: frozenset({State.REBALANCING, State.PENDING_SHUTDOWN, State.PENDING_ERROR}),
    State.PENDING_SHUTDOWN: frozenset({State.NOT_RUNNING}),
    State.NOT_RUNNING: frozenset(),
    State.PENDING_ERROR: frozenset({State.ERROR}),
    State.ERROR: frozenset({State.PENDING_SHUTDOWN}),
}


class ExceptionResponse(Enum):
    """What the uncaught exception handler decides to do about an error."""

    REPLACE_THREAD = "REPLACE_THREAD"
    SHUTDOWN_CLIENT = "SHUTDOWN_CLIENT"
    SHUTDOWN_APPLICATION = "SHUTDOWN_APPLICATION"


def not_running(state: State) -> InvalidStateError:
    return InvalidStateError(
        "not-running",
        f"the application is {state.value}",
        fix="call start() first, and ask before close()",
    )
