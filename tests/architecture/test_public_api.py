"""The public API changes only on purpose: a golden file has all of it."""

from tests.architecture.public_api import API_TEXT, public_api


def test_public_api_is_as_promised() -> None:
    """A difference is an API change: it needs a changelog line, then `python -m tests.golden`."""
    assert public_api() == API_TEXT.read_text(encoding="utf-8")
