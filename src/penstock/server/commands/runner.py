"""Read the command topic and run each command, in the order of the topic."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from enum import Enum

from penstock.errors import PenstockError, SerializationError, StreamsError
from penstock.server.commands.backup import CommandBackup
from penstock.server.commands.command import Command
from penstock.server.commands.log import CommandLog, Entry, OvertakenError
from penstock.server.commands.status import CommandStatus, CommandStatuses
from penstock.server.errors import NotCaughtUpError, NotReadyError

_log = logging.getLogger("penstock.server")
_ATTEMPTS = 20
_STOP_S = 10.0
_TIMEOUT_S = 60.0

#: Runs one command and returns its status.
Apply = Callable[[Command], CommandStatus]


class RunnerState(Enum):
    """The state of the runner. DEGRADED: a record or the topic is damaged, so it runs no more."""

    STARTING = "STARTING"
    RUNNING = "RUNNING"
    DEGRADED = "DEGRADED"
    CLOSED = "CLOSED"


#: States in which no further command is run.
_STOPPED = (RunnerState.DEGRADED, RunnerState.CLOSED)


class CommandRunner:
    """Run every command of the topic, also those that this node wrote, in one thread.

    Args:
        log: The command topic.
        apply: Runs one command. It is called in the order of the topic, by one thread.
        backup: The copy of the topic; None keeps no copy.
    """

    def __init__(self, log: CommandLog, apply: Apply, backup: CommandBackup | None = None) -> None:
        self._commands, self._apply, self._backup = log, apply, backup
        self.statuses = CommandStatuses()
        self.state = RunnerState.STARTING
        #: What is wrong, if the state is DEGRADED.
        self.problem: PenstockError | None = None
        self._changed = threading.Condition()
        self._writing = threading.Lock()
        self._done_offset = -1
        self._position = 0
        self._next_number = 0
        self._last_written = -1
        #: Commands that this node is writing, by token, with their offsets. The offset is -1 until
        #: the command has been read from the topic.
        self._tried: dict[str, tuple[int, Command]] = {}
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="penstock-commands", daemon=True)

    # Life

    def start(self) -> None:
        """Start reading; ``wait_ready`` waits until the present commands have been run."""
        self._thread.start()

    def wait_ready(self, timeout_s: float) -> bool:
        """Wait until all commands from before the start are done; return False after a timeout."""
        with self._changed:
            return self._changed.wait_for(lambda: self.state is not RunnerState.STARTING, timeout_s)

    def close(self) -> None:
        self._closing.set()
        if self._thread.ident is not None:
            self._thread.join(_STOP_S)
        self._commands.close()
        if self._backup is not None:
            self._backup.close()
        self._to(RunnerState.CLOSED)

    # Waiting

    @property
    def sequence(self) -> int:
        """The sequence number of the last command that is done; -1 before the first one."""
        return self._done_offset

    def wait_for(self, sequence: int, timeout_s: float) -> None:
        """Wait until the command with this sequence number is done.

        Raises:
            NotCaughtUpError: ``not-caught-up``, also at once if no more commands are run.
        """
        with self._changed:
            self._changed.wait_for(
                lambda: self._done_offset >= sequence or self.state in _STOPPED, timeout_s
            )
            is_done = self._done_offset >= sequence
        if not is_done:
            raise NotCaughtUpError(
                "not-caught-up",
                f"this server has not run the command with sequence number {sequence} yet",
                fix="ask again later",
            )

    # Writing

    def submit(self, prepare: Callable[[int], Command | None]) -> tuple[int, Command] | None:
        """Write one command and wait until this node has run it.

        Args:
            prepare: Checks the statement against the catalog as it is now, and returns the
                command with the given number. It is called again if another node was faster.
                None means that there is nothing to do.

        Returns:
            The sequence number of the command, and the command.

        Raises:
            NotReadyError: the command topic is damaged, or cannot be written.
        """
        with self._writing:
            with self._changed:
                self._tried.clear()
            for attempt in range(_ATTEMPTS):
                if attempt:
                    time.sleep(min(0.02 * 2**attempt, 0.5))
                try:
                    is_new = self._commands.become_writer()
                    self._catch_up(is_new=is_new)
                    arrived = self._arrived()
                    if arrived is not None:
                        return arrived
                    command = prepare(self.next_number)
                    return None if command is None else (self._write(command), command)
                except OvertakenError as error:
                    _log.info("writing a command again: %s", error.message)
            raise NotReadyError(
                "command-not-written",
                f"the statement could not be written to the command topic in {_ATTEMPTS} attempts",
                fix="see whether Kafka answers, and whether other servers write all the time",
            )

    @property
    def next_number(self) -> int:
        """The number of the next command, unless another one comes before it."""
        return max(self._next_number, self._position)

    def _arrived(self) -> tuple[int, Command] | None:
        """Return the command if it is on the topic although its write seemed to fail."""
        with self._changed:
            arrived = (found for found in self._tried.values() if found[0] >= 0)
            return next(arrived, None)

    def _write(self, command: Command) -> int:
        with self._changed:
            self._tried[command.token] = (-1, command)
        offset = self._commands.write(command.id.encode(), command.to_bytes())
        self._last_written = offset
        try:
            self.wait_for(offset, _TIMEOUT_S)
        except NotCaughtUpError:
            self.refuse_if_degraded()
            raise
        return offset

    def refuse_if_degraded(self) -> None:
        """Refuse to write while the topic is damaged.

        Raises:
            NotReadyError: ``degraded``, or ``starting``.
        """
        if self.state is RunnerState.DEGRADED:
            why = "" if self.problem is None else f": {self.problem.message}"
            fix = None if self.problem is None else self.problem.fix
            raise NotReadyError(
                "degraded", f"the server takes no statements that change something{why}", fix
            )
        if self.state is not RunnerState.RUNNING:
            raise NotReadyError("starting", "the server is starting or ending", fix="try again")

    def catch_up(self) -> None:
        """Wait until this node has run everything that is on the topic now."""
        self._catch_up(is_new=True)

    def _catch_up(self, *, is_new: bool) -> None:
        """Wait for everything on the topic.

        If this node was the writer before, the last command is its own, and Kafka is not asked.
        """
        self.refuse_if_degraded()
        end = self._commands.end() if is_new else self._last_written + 1
        with self._changed:
            caught_up = self._changed.wait_for(
                lambda: self._position >= end or self.state in _STOPPED,
                _TIMEOUT_S,
            )
        self.refuse_if_degraded()
        if not caught_up:
            raise NotCaughtUpError(
                "not-caught-up", "this server has not run all commands yet", fix="ask again later"
            )

    # Reading

    def _run(self) -> None:
        try:
            self._replay()
            while not self._closing.is_set():
                self._step()
        except PenstockError as error:
            self._degrade(error)
        except Exception as error:  # noqa: BLE001 - told through the state
            self._degrade(StreamsError("commands-failed", f"the command reader ended: {error!r}"))

    def _replay(self) -> None:
        first = self._commands.begin()
        if first > 0:
            raise StreamsError(
                "commands-lost",
                f"the command topic begins at offset {first}: its first records were deleted",
                fix="run: penstock server restore-commands",
            )
        end = self._commands.end()
        while self._commands.position < end:
            if self._closing.is_set():
                return
            self._step()
        if self._backup is not None:
            self._backup.check_end()
        self._to(RunnerState.RUNNING)

    def _step(self) -> None:
        for entry in self._commands.read():
            self._take(entry)
        if self._position != self._commands.position:
            with self._changed:
                self._position = self._commands.position
                self._changed.notify_all()

    def _take(self, entry: Entry) -> None:
        try:
            command = Command.of(entry.value)
        except SerializationError as error:
            raise error.located(f"offset {entry.offset} of the command topic") from None
        if self._backup is not None:
            self._backup.check(entry)
        self.statuses.set(command.id, CommandStatus("EXECUTING", "Executing statement"))
        status = self._applied(command)
        with self._changed:
            self.statuses.set(command.id, status)
            self._next_number = max(self._next_number, (command.number or 0) + 1)
            if command.token in self._tried:
                self._tried[command.token] = (entry.offset, command)
            self._done_offset = entry.offset
            self._position = entry.offset + 1
            self._changed.notify_all()

    def _applied(self, command: Command) -> CommandStatus:
        try:
            return self._apply(command)
        except PenstockError as error:
            _log.error("command %s failed: %s", command.id, error.message)
            return CommandStatus("ERROR", str(error))
        except Exception as error:  # noqa: BLE001 - the commands behind it must be run
            _log.exception("command %s failed", command.id)
            return CommandStatus("ERROR", repr(error))

    def _degrade(self, error: PenstockError) -> None:
        _log.error("the server is degraded and runs no more commands: %s", error)
        self.problem = error
        self._to(RunnerState.DEGRADED)

    def _to(self, state: RunnerState) -> None:
        with self._changed:
            self.state = state
            self._changed.notify_all()
