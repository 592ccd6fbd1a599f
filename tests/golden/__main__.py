"""Write every golden text of this folder that Python generates."""

from tests.architecture.public_api import API_TEXT, public_api
from tests.unit.errors.texts import ERROR_TEXTS, error_texts

if __name__ == "__main__":
    ERROR_TEXTS.write_text(error_texts(), encoding="utf-8")
    API_TEXT.write_text(public_api(), encoding="utf-8")
