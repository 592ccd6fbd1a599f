"""Settings have one home, and reach code as values."""

import ast

from penstock.config import SETTINGS
from tests.architecture import settings_page
from tests.architecture.source import modules, relative, tree, within


def test_only_the_command_line_reads_the_environment() -> None:
    """A setting that hides in an environment variable is in no reference page."""
    offenders = [
        f"{relative(file)}:{node.lineno}"
        for file in modules()
        # Variables such as JAVA_HOME describe the machine; they are no settings of ours.
        if not within(file, "cli") and relative(file) != "kafka/machine.py"
        for node in ast.walk(tree(file))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "os"
        and node.attr in {"environ", "getenv"}
    ]
    assert offenders == []


def test_settings_page_says_what_the_code_says() -> None:
    """Every setting is on the reference page, with its default; `make docs` writes the page."""
    assert settings_page.PAGE.read_text(encoding="utf-8") == settings_page.render()


def test_every_setting_says_what_it_means() -> None:
    """One full sentence, as the error about a wrong value quotes it."""
    assert [name for name, setting in SETTINGS.items() if not setting.doc.endswith(".")] == []


def test_settings_that_differ_exist() -> None:
    """A remark about a setting goes when the setting goes, or loses its effect."""
    names = settings_page.DIFFERS
    assert [name for name in names if name not in SETTINGS or SETTINGS[name].unused] == []
