"""Text of clients takes time in proportion to its length, whatever it consists of."""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from penstock.model.secrets import shown
from penstock.model.sql.types import STRING
from penstock.server.security.masking import blotted, masked
from penstock.sql import SqlEngine, SqlError
from penstock.sql.expressions.like import like_pattern
from penstock.sql.functions.library import built_in_functions
from penstock.sql.pull.shape import shape_of
from penstock.sql.syntax.parser import parse_statement
from penstock.sql.syntax.parser import split_statements as split

MEGABYTE = 1 << 20
#: The classes of characters, and what stands between two of them.
PIECES = (
    *("a", "A1", "1", " ", "\n", "\r\n", "'", '"', "`", ".", ",", "(", "[", "{", "=", "='", "-"),
    *("/*", "--", "$", "$$", "${a}", "${", "%", "_", "_1", "/", ":", "://a:b", "@", "\\", "+", "<"),
    *("a ", "a.", "a=", "a='b' ", "a1+/", "ä", "😀", "sig=", "1e", "1.", ";", "\0", "NOT "),
)
#: Fewer of them, for the functions: there are more than a hundred.
FEW = ("a", "1", " ", "'", ".", "(", "\\", "a1 ")

CLICKS = (
    "CREATE STREAM clicks (user VARCHAR KEY, page VARCHAR)"
    " WITH (KAFKA_TOPIC='clicks', VALUE_FORMAT='JSON', PARTITIONS=1);"
)


def assert_linear(work: Callable[[str], Any], piece: str, *, end: str = "!") -> None:
    """Run with more and more of a piece. Quadratic work is noticed long before it takes minutes."""
    for size in (1 << 14, 1 << 17, MEGABYTE):
        text = (piece * (size // len(piece) + 1))[:size] + end
        before = time.thread_time()
        # What is wrong with the text does not matter here.
        with suppress(
            SqlError, ValueError, TypeError, ArithmeticError, LookupError, RecursionError
        ):
            work(text)
        seconds = time.thread_time() - before
        assert seconds < 0.4 + 6 * size / MEGABYTE, f"{size} x {piece!r}: {seconds:.2f} s"


def executed(before: str, after: str, text: str) -> None:
    engine = SqlEngine()
    engine.execute(CLICKS)
    engine.execute(f"{before}{text}{after}")


TEXTS: dict[str, Callable[[str], Any]] = {
    "masked": masked,
    "masked connector": lambda text: masked(f"CREATE SINK CONNECTOR x WITH ('a'='{text}"),
    "blotted": blotted,
    "blotted connector": lambda text: blotted(f"CREATE SINK CONNECTOR x WITH ({text}"),
    "shown": partial(shown, "connection.url"),
    "shape": shape_of,
    "split": split,
    "statement": parse_statement,
    "value": partial(executed, "INSERT INTO clicks VALUES ('a', '", "');"),
    "selected": partial(executed, "SELECT ", " FROM clicks EMIT CHANGES;"),
    "condition": partial(executed, "SELECT * FROM clicks WHERE ", " EMIT CHANGES;"),
    "name": partial(executed, "SELECT page AS `", "` FROM clicks EMIT CHANGES;"),
    "source": partial(executed, "SELECT * FROM `", "` EMIT CHANGES;"),
    "setting": partial(executed, "SET '", "' = '1';"),
    "variable": partial(executed, "DEFINE a = '", "'; SELECT '${a}' FROM clicks EMIT CHANGES;"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_of_any_class_takes_linear_time(name: str) -> None:
    """A megabyte of one class of characters is read, hidden and refused within seconds."""
    for piece in PIECES if name in READ else FEW:
        assert_linear(TEXTS[name], piece)


#: What reads a text without planning it; the others take a second for some pieces.
READ = ("masked", "blotted", "blotted connector", "shown", "shape")


def string_places() -> Iterator[tuple[str, int, int, Callable[..., Any]]]:
    """Yield name, number of arguments, place of a text, and implementation of every function."""
    for name, function in built_in_functions().scalars.items():
        for overload in function.overloads:
            for count in (1, 2, 3, 4):
                patterns = overload.signature.expanded(count)
                if patterns and STRING in patterns and not overload.is_typed:
                    for place in [i for i, each in enumerate(patterns) if each == STRING]:
                        yield name, count, place, overload.implementation


@pytest.mark.parametrize("name", sorted({name for name, *_ in string_places()}))
def test_functions_take_linear_time(name: str) -> None:
    """A megabyte as any argument of any function is answered or refused within seconds."""
    for each, count, place, function in string_places():
        if each == name:
            for piece in FEW:
                assert_linear(partial(called, function, count, place), piece)


def called(function: Callable[..., Any], count: int, place: int, text: str) -> Any:
    arguments: list[Any] = ["q"] * count
    arguments[place] = text
    return function(*arguments)


@pytest.mark.parametrize("pattern", ["%a%a%a%a%a%b", "a%aaaaaaab%a", "%_a_%_b", "%" * 1000 + "b"])
def test_like_tries_nothing_twice(pattern: str) -> None:
    """Many % in a pattern do not multiply the time."""
    assert_linear(like_pattern(pattern, None).fits, "a", end="c")


@pytest.mark.parametrize("text", ["[d][d][d][d][d][d][d][d][d]x", "d[d[d[d[d[d[d[d[d[d"])
def test_optional_parts_of_a_date_do_not_multiply(text: str) -> None:
    """Digits that one part has read are not given back for another one."""
    parse = built_in_functions().scalars["PARSE_TIMESTAMP"].overloads[0].implementation
    assert_linear(lambda digits: parse(digits, text), "1")


def test_many_statements_take_linear_time() -> None:
    """Each statement of a script is read where it stands, not behind a copy of all before it."""

    def run(text: str) -> None:
        SqlEngine().execute("SET 'auto.offset.reset' = 'earliest';" * (len(text) // 150))

    assert_linear(run, "a")
