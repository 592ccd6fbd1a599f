"""The SQL example passes ``penstock sql test``, as its comments say."""

from pathlib import Path

from typer.testing import CliRunner

from penstock.cli.main import app

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_dashboard_gives_the_expected_records() -> None:
    """Joined orders, sales per minute and exact numbers of customers."""
    folder = EXAMPLES / "order_dashboard"
    arguments = [
        "sql", "test", folder / "app.sql",
        "--input", folder / "data.json", "--output", folder / "expected.json",
    ]  # fmt: skip
    done = CliRunner().invoke(app, [str(each) for each in arguments])
    assert done.exit_code == 0, done.output
    assert "1 of 1 tests pass" in done.output
