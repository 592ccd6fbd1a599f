"""Write the reference page of Kafka's errors: ``-m tests.architecture.kafka_errors_page``."""

from penstock.kafka.error_table import ROWS, ErrorRow
from tests.architecture.source import ROOT

PAGE = ROOT / "docs" / "reference" / "kafka-errors.md"
INTRODUCTION = """\
# Errors of Kafka

What a running application does when Kafka or its client reports an error. The names are Kafka's;
those that start with an underscore are errors of the client (librdkafka) itself. `make docs` writes
this page from `penstock.kafka.error_table`.

- An application that **waits** pauses from `retry.backoff.ms` up to `retry.backoff.max.ms` between
  two tries. Nothing is lost: the batch that failed is aborted and runs again from the same offsets.
- A **new client** is made when the old one cannot be used any more, such as a producer whose
  transaction the broker has ended. The batch then runs again.
- **Rights** that are missing when an application starts are an error at once. An application that
  loses its rights later waits for them, and its log names the user.
- The **production exception handler** (`production.exception.handler`) decides about a record that
  the broker refuses.

| Error | What Penstock does | Why |
|---|---|---|
"""


def render() -> str:
    return INTRODUCTION + "".join(_row(row) for row in ROWS)


def _row(row: ErrorRow) -> str:
    return f"| `{row.name}` ({row.code}) | {row.verdict.value} | {row.reason} |\n"


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
