"""Changes of texts, for machines without a fuzzer that watches coverage."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from penstock.sql.syntax.parser import keywords, split_statements
from tests.fuzz.target import SOURCES

_ROOT = Path(__file__).resolve().parents[1]
_WORD = re.compile(r"\w+|\s+|.", re.DOTALL)
_ODD = [
    b"\0", b"'", b'"', b"`", b"(", b")", b";", b"--", b"/*", b"*/", b"${", b"\xff", b"->", b"=>",
    b"9" * 40, b"1e999", b"\xf0\x9f\x98\x80", b"::", b"[", b"]",
]  # fmt: skip


def seeds() -> list[bytes]:
    """Statements of the SQL tests, and those of the fuzzer's own streams and tables."""
    files = [path.read_text(encoding="utf-8") for path in sorted(_ROOT.glob("sql/*.sql"))]
    scripts = [SOURCES, *files]
    return [piece.text.encode() for script in scripts for piece in split_statements(script)]


def mutated(corpus: list[bytes], chance: random.Random) -> Iterator[bytes]:
    """Gives texts without end, each some changes away from one of the corpus."""
    while True:
        text = chance.choice(corpus)
        for _ in range(chance.randint(1, 6)):
            text = chance.choice(_CHANGES)(text, corpus, chance)
        yield text[:4_000]


def _cut(text: bytes, corpus: list[bytes], chance: random.Random) -> bytes:
    start, end = sorted(chance.randrange(len(text) + 1) for _ in range(2))
    return text[:start] + text[end:]


def _flip(text: bytes, corpus: list[bytes], chance: random.Random) -> bytes:
    if not text:
        return text
    place = chance.randrange(len(text))
    return text[:place] + bytes([chance.randrange(256)]) + text[place + 1 :]


def _insert(text: bytes, corpus: list[bytes], chance: random.Random) -> bytes:
    place = chance.randrange(len(text) + 1)
    return text[:place] + chance.choice(_ODD) + text[place:]


def _repeat(text: bytes, corpus: list[bytes], chance: random.Random) -> bytes:
    start, end = sorted(chance.randrange(len(text) + 1) for _ in range(2))
    return text[:end] + text[start:end] * chance.choice([1, 2, 40]) + text[end:]


def _splice(text: bytes, corpus: list[bytes], chance: random.Random) -> bytes:
    other = chance.choice(corpus)
    return text[: chance.randrange(len(text) + 1)] + other[chance.randrange(len(other) + 1) :]


def _words(text: bytes, corpus: list[bytes], chance: random.Random) -> bytes:
    """Exchanges a word for a keyword, or for a word of another text."""
    words = _WORD.findall(text.decode("utf-8", "replace"))
    others = _WORD.findall(chance.choice(corpus).decode("utf-8", "replace"))
    if not words or not others:
        return text
    pool = others if chance.random() < 0.5 else sorted(keywords())
    words[chance.randrange(len(words))] = chance.choice(pool)
    return "".join(words).encode()


_CHANGES: list[Callable[[bytes, list[bytes], random.Random], bytes]] = [
    _cut, _flip, _insert, _repeat, _splice, _words, _words,
]  # fmt: skip
