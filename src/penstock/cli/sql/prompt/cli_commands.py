"""Commands of the prompt that are not SQL: help, output, spool, server and the like."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

import penstock
from penstock.cli.sql.prompt.entities import listing
from penstock.cli.sql.prompt.screen import JSON, TABULAR
from penstock.cli.sql.prompt.session import SqlSession
from penstock.errors import InvalidArgumentError


@dataclass(frozen=True, slots=True)
class CliCommand:
    """A command: the words that begin it, what it takes, what it does."""

    words: str
    takes: str
    help: str
    run: Callable[[CliCommands, str], None]


class CliCommands:
    """The commands of one session. A line is either a command or SQL."""

    def __init__(self, session: SqlSession) -> None:
        self.session = session
        #: What was typed before; the editor knows.
        self.history: Callable[[], Sequence[str]] = tuple
        #: Whether the user wants to leave.
        self.is_over = False
        #: Whether the server refused a statement that a command sent.
        self.has_failed = False

    def find(self, line: str) -> tuple[CliCommand, str] | None:
        """Return the command that a line begins with, and the rest of the line."""
        text = line.strip().rstrip(";").strip()
        for command in COMMANDS:
            count = len(command.words.split())
            pieces = text.split(None, count)
            if " ".join(pieces[:count]).lower() == command.words:
                rest = pieces[count].strip() if len(pieces) > count else ""
                # `help` alone, but never a statement that only begins like a command.
                if rest and not command.takes:
                    continue
                return command, rest
        return None

    def run(self, line: str) -> bool:
        """Run a line if it is a command; return whether it was one.

        Raises:
            PenstockError: the command failed.
        """
        found = self.find(line)
        if found is None:
            return False
        command, rest = found
        command.run(self, rest)
        return True


def _help(commands: CliCommands, rest: str) -> None:
    screen = commands.session.screen
    screen.print(
        listing(
            ("Command", "Meaning"),
            ([f"{each.words} {each.takes}".strip(), each.help] for each in COMMANDS),
        )
    )
    screen.print(
        Text(
            "Everything else is SQL and ends with a semicolon. Tab completes, Ctrl-R searches the"
            " history, Ctrl-C clears the line or ends a running query, Ctrl-D leaves."
        )
    )


def _exit(commands: CliCommands, rest: str) -> None:
    commands.is_over = True


def _clear(commands: CliCommands, rest: str) -> None:
    commands.session.screen.clear()


def _history(commands: CliCommands, rest: str) -> None:
    for number, text in enumerate(commands.history(), 1):
        commands.session.screen.line(f"{number:>5}  {text}")


def _output(commands: CliCommands, rest: str) -> None:
    screen = commands.session.screen
    wanted = rest.lower()
    if wanted and wanted not in (TABULAR, JSON):
        raise InvalidArgumentError("bad-output", f"{rest!r} is neither TABULAR nor JSON")
    screen.format = wanted or screen.format
    screen.note(f"output is {screen.format}")


def _server(commands: CliCommands, rest: str) -> None:
    session = commands.session
    info = session.use_server(rest) if rest else session.client.server_info()
    facts = (
        ("Server", session.url),
        ("Version", info.version),
        ("Service id", info.service_id),
        ("Kafka cluster", info.kafka_cluster_id),
        ("State", info.status),
    )
    if session.screen.is_json:
        session.screen.json(dict(facts))
        return
    for name, value in facts:
        session.screen.print(Text(f"{name:<14}", style="bold").append(value, style="not bold"))
    if rest:
        session.on_change()


def _pipelining(commands: CliCommands, rest: str) -> None:
    session = commands.session
    if rest:
        session.is_pipelining = _is_on("request-pipelining", rest)
    session.screen.note(f"request-pipelining is {'ON' if session.is_pipelining else 'OFF'}")


def _run_script(commands: CliCommands, rest: str) -> None:
    if not rest:
        raise InvalidArgumentError("no-script", "RUN SCRIPT needs a file: RUN SCRIPT 'orders.sql'")
    commands.session.run_script(Path(rest.strip("'\"")))


def _set_cli(commands: CliCommands, rest: str) -> None:
    screen = commands.session.screen
    name, _, value = rest.strip().partition(" ")
    name, value = name.strip("'\"").lower(), value.strip().strip("='\" ")
    if name == "wrap":
        screen.is_wrapped = _is_on("wrap", value)
    elif name == "expanded":
        screen.is_expanded = _is_on("expanded", value)
    else:
        raise InvalidArgumentError(
            "bad-cli-setting", f"the prompt has no setting {name!r}", fix="SET CLI WRAP ON|OFF"
        )
    screen.note(f"{name} is {value.upper()}")


def _is_on(name: str, text: str) -> bool:
    if text.upper() not in ("ON", "OFF"):
        raise InvalidArgumentError("bad-cli-setting", f"{name} is ON or OFF, not {text!r}")
    return text.upper() == "ON"


def _spool(commands: CliCommands, rest: str) -> None:
    screen = commands.session.screen
    if not rest:
        file = screen.spool_file
        screen.note("no spool" if file is None else f"the session is copied to {file}")
    elif rest.upper() == "OFF":
        file = screen.stop_spool()
        screen.note("no spool" if file is None else f"the session was copied to {file}")
    else:
        screen.start_spool(Path(rest.strip("'\"")).expanduser())
        screen.note(f"the session is copied to {screen.spool_file}; SPOOL OFF ends it")


def _version(commands: CliCommands, rest: str) -> None:
    commands.session.screen.line(f"penstock {penstock.__version__}")


def _expanded(commands: CliCommands, rest: str) -> None:
    screen = commands.session.screen
    screen.is_expanded = not screen.is_expanded
    screen.note(f"expanded is {'ON' if screen.is_expanded else 'OFF'}")


def _describe(commands: CliCommands, rest: str) -> None:
    sql = f"DESCRIBE {rest};" if rest else "SHOW STREAMS; SHOW TABLES;"
    commands.has_failed = not commands.session.run(sql)


def _statement(sql: str) -> Callable[[CliCommands, str], None]:
    def run(commands: CliCommands, rest: str) -> None:
        commands.has_failed = not commands.session.run(sql)

    return run


COMMANDS = (
    CliCommand("help", "", "this list", _help),
    CliCommand("?", "", "this list", _help),
    CliCommand("clear", "", "clear the screen", _clear),
    CliCommand("exit", "", "leave", _exit),
    CliCommand("quit", "", "leave", _exit),
    CliCommand("history", "", "what was typed before", _history),
    CliCommand("output", "TABULAR|JSON", "show or change the format of answers", _output),
    CliCommand("server", "URL", "show the server, or use another one", _server),
    CliCommand(
        "request-pipelining", "ON|OFF", "let statements not wait for each other", _pipelining
    ),
    CliCommand(
        "request_pipelining", "ON|OFF", "the same, as ksqlDB's newer versions write it", _pipelining
    ),
    CliCommand("run script", "FILE", "run the statements of a file", _run_script),
    CliCommand("set cli", "WRAP ON|OFF", "wrap or cut long cells; EXPANDED ON|OFF", _set_cli),
    CliCommand("set-cli", "WRAP ON|OFF", "the same", _set_cli),
    CliCommand("spool", "FILE|OFF", "copy the session to a file", _spool),
    CliCommand("version", "", "the version of this program", _version),
    CliCommand("\\d", "NAME", "describe a source, or list all of them", _describe),
    CliCommand("\\ds", "", "list streams", _statement("SHOW STREAMS;")),
    CliCommand("\\dt", "", "list tables", _statement("SHOW TABLES;")),
    CliCommand("\\dq", "", "list queries", _statement("SHOW QUERIES;")),
    CliCommand("\\df", "", "list functions", _statement("SHOW FUNCTIONS;")),
    CliCommand("\\x", "", "show rows one below the other, or as a table again", _expanded),
    CliCommand("\\q", "", "leave", _exit),
)

#: Words that completion offers at the beginning of a line.
COMMAND_WORDS = tuple(each.words for each in COMMANDS if each.words[0].isalpha())
