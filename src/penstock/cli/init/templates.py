"""The projects that ``penstock init`` can make: which files, and what their containers run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

from penstock.kafka.distribution import KAFKA_VERSION

#: What a file of a template is called in the project, where a package cannot have that name.
_RENAMED = {"_gitignore": ".gitignore", "_dockerignore": ".dockerignore"}
_ON_KAFKA = ("--bootstrap", "kafka:9092")


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """One kind of project. Files of a later layer replace those of an earlier one."""

    about: str
    layers: tuple[str, ...]
    #: The file that has the samples.
    program: str = "app.py"
    extras: str = "spark"
    packages: tuple[str, ...] = ()
    #: What the container runs; the broker is called ``kafka`` there.
    command: tuple[str, ...] = (
        "penstock", "run", "app.py", *_ON_KAFKA, "--threads", "2", "--json", "-c",
        "state.dir=/state",
    )  # fmt: skip
    port: int | None = None
    #: What to type while the containers run.
    attempt: str = (
        "docker compose exec app penstock consume order-counts --from-beginning -b kafka:9092"
    )
    #: The next commands for the user, and what each does.
    steps: tuple[tuple[str, str], ...] = (
        ("make test", "in a moment, without Kafka or Spark"),
        ("make run", "live, on a private broker with sample records"),
        ("make dev", "runs again whenever a file is saved"),
    )
    #: Packages of the tests, by what is imported.
    tested_with: tuple[str, ...] = ("pytest",)

    def files(self, name: str) -> dict[str, str]:
        """Return the files of a project by path, with its name filled in."""
        content = {path: text for layer in self.layers for path, text in _layer(layer)}
        for place, text in self._places(name).items():
            content = {path: each.replace(place, text) for path, each in content.items()}
        return dict(sorted(content.items()))

    def _places(self, name: str) -> dict[str, str]:
        port = "" if self.port is None else f'    ports:\n      - "{self.port}:{self.port}"\n'
        return {
            "@NAME@": name,
            "@EXTRAS@": self.extras,
            " @PACKAGES@": "".join(f" {package}" for package in self.packages),
            "@PROGRAM@": self.program,
            "@COMMAND@": json.dumps(self.command),
            "@TRY@": self.attempt,
            "@KAFKA@": KAFKA_VERSION,
            "@PORTS@": port,
        }


TEMPLATES = {
    "streams": Template(
        about="a program in Python: orders counted by country", layers=("common", "streams")
    ),
    "sessions": Template(
        about="session windows: the visits to a web site, each when it is over",
        layers=("common", "streams", "sessions"),
        attempt="docker compose exec app penstock consume visits --from-beginning -b kafka:9092",
    ),
    "sql": Template(
        about="a script of SQL with its tests, and a server for it",
        layers=("common", "sql"),
        program="orders.sql",
        extras="spark,server,sql",
        command=(
            "penstock",
            "sql",
            "run",
            "orders.sql",
            *_ON_KAFKA,
            "-c",
            "state.dir=/state",
        ),
        attempt="docker compose exec app penstock consume ORDER_TOTALS -b kafka:9092",
        steps=(
            ("make test", "in a moment, without Kafka or Spark"),
            ("make run", "live, on a private broker with sample orders"),
            ("make server", "ksqlDB's REST interface; in another terminal: penstock sql"),
        ),
        tested_with=(),
    ),
    "service": Template(
        about="a web service with FastAPI that answers from the store of a program",
        layers=("common", "streams", "service"),
        packages=("fastapi", "uvicorn"),
        command=("uvicorn", "service:app", "--host", "0.0.0.0", "--port", "8000"),
        port=8000,
        attempt="curl http://127.0.0.1:8000/countries",
        steps=(
            ("make test", "in a moment, without Kafka or Spark"),
            ("make run", "http://127.0.0.1:8000/countries, with sample orders"),
        ),
        tested_with=("pytest", "httpx", "fastapi", "uvicorn"),
    ),
    "notebook": Template(
        about="a notebook: a program, its stores and SQL in one process",
        layers=("common", "streams", "notebook"),
        extras="spark,sql,frames",
        steps=(
            ("make notebook", "without Kafka or Spark"),
            ("make test", "the program in this process"),
            ("make run", "live, on a private broker with sample orders"),
        ),
        tested_with=("pytest", "jupyterlab"),
    ),
}


def _layer(name: str) -> Iterator[tuple[str, str]]:
    for file in files("penstock.cli.init").joinpath("files", name).iterdir():
        path = file.name.removesuffix(".txt").replace("__", "/")
        yield _RENAMED.get(path, path), file.read_text(encoding="utf-8")
