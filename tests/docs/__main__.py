"""Write every page that is generated: ``python -m tests.docs``."""

from tests.architecture import kafka_errors_page, settings_page
from tests.docs import (
    api_pages,
    cli_page,
    errors_page,
    functions_page,
    metrics_page,
    parity_page,
    sql_settings_page,
    statements_page,
    terminal_picture,
)

SINGLE = (
    settings_page,
    kafka_errors_page,
    cli_page,
    errors_page,
    functions_page,
    metrics_page,
    parity_page,
    sql_settings_page,
    statements_page,
    terminal_picture,
)

if __name__ == "__main__":
    for page in SINGLE:
        page.PAGE.write_text(page.render(), encoding="utf-8")
    api_pages.FOLDER.mkdir(exist_ok=True)
    for name, text in api_pages.render().items():
        (api_pages.FOLDER / name).write_text(text, encoding="utf-8")
