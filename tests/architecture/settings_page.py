"""Write the reference page of the settings: ``python -m tests.architecture.settings_page``."""

from penstock.config import SETTINGS
from penstock.setting import Setting
from tests.architecture.source import ROOT

PAGE = ROOT / "docs" / "reference" / "settings.md"
INTRODUCTION = """\
# Settings

Names are Kafka's. A configuration is a dictionary from these names to values; an unknown name or a
wrong value is refused when the application is made. `make docs` writes this page from
`penstock.config`.

| Setting | Default | Meaning |
|---|---|---|
"""


def render() -> str:
    # Names that start with an underscore are for tests, as in Java.
    public = sorted(name for name in SETTINGS if not name.startswith("_"))
    return INTRODUCTION + "".join(_row(SETTINGS[name]) for name in public)


def _row(setting: Setting[object]) -> str:
    default = "" if setting.default in (None, "") else f"`{setting.default}`"
    unused = f" **No effect on Spark.** {setting.unused}" if setting.unused else ""
    return f"| `{setting.name}` | {default} | {setting.doc}{unused} |\n"


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
