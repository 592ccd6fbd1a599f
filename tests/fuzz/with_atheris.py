"""What ``python -m tests.fuzz`` starts where atheris is installed."""

import sys

import atheris

with atheris.instrument_imports(include=["penstock.sql", "lark"]):
    from tests.fuzz.target import Target

if __name__ == "__main__":
    atheris.Setup(sys.argv, Target())
    atheris.Fuzz()
