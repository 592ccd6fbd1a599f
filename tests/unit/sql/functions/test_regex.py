"""``regex.java_regex``, ``regex.linear_regex`` and ``regex.character_sets``."""

import re
import time

import pytest

from penstock.model.sql.errors import FunctionError
from penstock.sql.functions.regex import character_sets as sets
from penstock.sql.functions.regex import linear_regex
from penstock.sql.functions.regex.java_regex import java_pattern
from tests.unit.sql.queries import ORDERS, refusal

PATTERNS = [
    ("a*", "baac"), (r"\b", "  ab c"), ("x=(.*?)(,|$)", "x=12,x=3\n"), ("a$", "a\n"),
    ("b$|a", "ba\r\n"), ("(?i)k", "K\u212ak"), ("a(?i)b|c", "aB C c"), ("(?m)^b$", "a\nb\nc"),
    ("[^a-c&&[a-z]]", "abcd"), ("[^a]", "a\nb"), ("(?s).", "\n"), ("(?x) a b # c\n c", "abc"),
    ("a{2,3}?", "aaaa"), ("é", "éé"), ("[😀-😂]", "😁"), ("(a)|(b)", "ab"), ("a|", "ba"),
    ("", "ab"), (r"\R", "\r\n\n"), (r"a\Z", "a\n"), (r"a\z", "a\n"), (r"\Qa.b\E+", "a.bb"),
    (r"[\d\-x]+", "1-x"), ("[]a]+", "]a"), (r"\p{Lu}\P{L}", "A1"), ("(?i:a)B", "AB Ab"),
    (r"\x41\u0042\0103", "ABC"), (r"[^\w]+", "a é"), ("{x}", "{x}"), ("(?-i)a", "A"),
]  # fmt: skip


def found(pattern: str, text: str) -> list[tuple[object, ...]]:
    compiled = java_pattern(pattern)
    groups = range(len(compiled.groups) + 1)
    return [(each.start, each.end, *[each[n] for n in groups]) for each in compiled.finditer(text)]


@pytest.mark.parametrize(("pattern", "text"), PATTERNS)
def test_both_engines_find_the_same(
    pattern: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without RE2 results are the same; only the time of bad patterns differs."""
    pytest.importorskip("re2", reason="needs google-re2")
    java_pattern.cache_clear()
    linear = found(pattern, text)
    java_pattern.cache_clear()
    monkeypatch.setattr(linear_regex, "PACKAGE", "no_such_package")
    assert found(pattern, text) == linear
    java_pattern.cache_clear()


@pytest.mark.parametrize(
    ("pattern", "text", "wanted"),
    [
        ("x=(.*?)(,|$)", "x=12,x=3\n", [(0, 5, "x=12,", "12", ","), (5, 8, "x=3", "3", "")]),
        ("b$|a", "ba\r\n", [(1, 2, "a")]),
        ("a(?i)b|c", "C", [(0, 1, "C")]),
        ("[a-z&&[^bc]]+", "bcade", [(2, 5, "ade")]),
        (r"\b", " ab", [(1, 1, ""), (3, 3, "")]),
    ],
)
def test_matches_are_those_of_java(pattern: str, text: str, wanted: list[object]) -> None:
    """The line end before the end belongs to no match, and flags hold until their group ends."""
    assert found(pattern, text) == wanted


@pytest.mark.parametrize(
    "pattern", ["(?=a)", "(?!a)", "(?<=a)b", "(?<!a)b", "(?>a)", "a++", r"(a)\1", r"(?<a>b)\k<a>",
                "a{1,1001}", "a" * 5_000, "((a{100}){100}){100}"],
)  # fmt: skip
def test_what_no_linear_engine_can_do_is_refused(pattern: str) -> None:
    """The error says what it is; nothing is answered in another way than Java would."""
    if pattern.startswith("((a"):
        pytest.importorskip("re2", reason="only RE2 counts nested repetitions")
    with pytest.raises(FunctionError, match="unsupported-pattern") as refused:
        java_pattern(pattern)
    assert refused.value.fix


@pytest.mark.parametrize("pattern", ["(", "a)", "[a", "*", r"\y", r"\p{Nothing}", "[b-a]", "(?y)"])
def test_patterns_that_are_not_valid_are_errors(pattern: str) -> None:
    with pytest.raises(re.error):
        java_pattern(pattern)


def test_unsupported_pattern_in_a_statement_is_refused_at_once() -> None:
    """Its place in the statement is named; else every row would be NULL."""
    error = refusal(ORDERS, "SELECT REGEXP_EXTRACT('(?=a)b', item) FROM orders EMIT CHANGES;")
    assert (error.code, error.line, error.column) == ("unsupported-pattern", 1, 8)


def test_a_catastrophic_pattern_takes_linear_time() -> None:
    """With backtracking this takes longer than the age of the universe."""
    pytest.importorskip("re2", reason="needs google-re2")
    before = time.thread_time()
    assert java_pattern("(x+x+)+y").search("x" * 1_000_000) is None
    assert time.thread_time() - before < 5


def test_large_patterns_over_large_texts_are_refused() -> None:
    """Even linear time has a factor: the size of the pattern."""
    pytest.importorskip("re2", reason="needs google-re2")
    with pytest.raises(FunctionError, match="pattern-budget"):
        java_pattern("(.{0,1000})z").search("a" * 10_000_000)


def test_sets_of_characters() -> None:
    assert sets.joined([(5, 9), (1, 3), (4, 4)]) == ((1, 9),)
    assert sets.without(((0, 5), (7, 0x10FFFF))) == ((6, 6),)
    assert sets.common(((1, 5), (8, 9)), ((4, 8),)) == ((4, 5), (8, 8))
    assert sets.any_case(sets.of("aZ1")) == sets.of("1AZaz")
