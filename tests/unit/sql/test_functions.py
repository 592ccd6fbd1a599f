"""Every built-in scalar and table function, by family: SQL text and the value it has.

Exercises ``expressions.calls``, ``expressions.constructors``, ``functions.collections``,
``dates.patterns``, ``dates.reading``, ``dates.simple``, ``dates.writing``, ``functions.declare``,
``functions.encodings``, ``java_regex``, ``json_text``, ``functions.numbers``,
``functions.patterns``, ``functions.strings``, ``functions.trigonometry`` and ``functions.urls``.
"""

import math
import re
from decimal import Decimal
from typing import Any

import pytest

from tests.unit.sql.kit import FUNCTIONS, evaluate, sql_type, type_of, value_of

NUMBERS: list[tuple[str, Any]] = [
    ("ABS(-3)", 3),
    ("ABS(-1.50)", Decimal("1.50")),
    ("CEIL(1.2E0)", 2.0),
    ("CEIL(-1.25)", Decimal("-1.00")),
    ("FLOOR(-1.2E0)", -2.0),
    ("FLOOR(1.25)", Decimal("1.00")),
    ("ROUND(1.5E0)", 2),
    ("ROUND(-1.5E0)", -1),
    ("ROUND(1.25E0, 1)", 1.3),
    ("ROUND(2.5)", Decimal("3")),
    ("ROUND(-2.5)", Decimal("-2")),
    ("ROUND(12.345, -1)", Decimal("10.000")),
    ("ROUND(12345678987654321.2345678987654321)", Decimal("12345678987654321")),
    ("TRUNC(1.9E0)", 1),
    ("TRUNC(-1.99, 1)", Decimal("-1.90")),
    ("TRUNC(1.99E0, 1)", 1.9),
    ("SIGN(-2.5)", -1),
    ("POWER(0, -1)", math.inf),
    ("POWER(-10, 309)", -math.inf),
    ("SQRT(4)", 2.0),
    ("CBRT(27)", 3.0),
    ("POWER(2, 10)", 1024.0),
    ("EXP(0)", 1.0),
    ("LN(1)", 0.0),
    ("LN(0)", -math.inf),
    ("LOG(2, 8)", 3.0),
    ("LOG(1)", 0.0),
    ("PI()", math.pi),
    ("GREATEST(1, NULL, 3)", 3),
    ("LEAST('b', 'a')", "a"),
    ("GREATEST(1.5, NULL, 0.25)", Decimal("1.50")),
    ("GREATEST(DATE '1970-01-02', '1970-01-05')", 4),
    ("GENERATE_SERIES(3, 1)", [3, 2, 1]),
    ("GENERATE_SERIES(1, 6, 2)", [1, 3, 5]),
    ("GENERATE_SERIES(1, 6, 0)", None),
    ("ROUND(GEO_DISTANCE(52.52, 13.405, 48.8566, 2.3522))", 877),
    ("ROUND(GEO_DISTANCE(52.52, 13.405, 48.8566, 2.3522, 'MI'))", 545),
    ("GEO_DISTANCE(100, 0, 0, 0)", None),
    ("SIN(0)", 0.0),
    ("COS(0)", 1.0),
    ("TAN(0)", 0.0),
    ("COT(0)", math.inf),
    ("ASIN(0)", 0.0),
    ("ACOS(1)", 0.0),
    ("ATAN(0)", 0.0),
    ("ATAN2(0, 1)", 0.0),
    ("SINH(0)", 0.0),
    ("COSH(0)", 1.0),
    ("TANH(0)", 0.0),
    ("DEGREES(PI())", 180.0),
    ("RADIANS(180)", math.pi),
]

STRINGS: list[tuple[str, Any]] = [
    ("LCASE('AbC')", "abc"),
    ("UCASE('AbC')", "ABC"),
    ("TRIM('  a b ')", "a b"),
    ("LEN('abc')", 3),
    ("INITCAP(' the qUICK  fox ')", "The Quick  Fox "),
    ("REPLACE('a.b.c', '.', '-')", "a-b-c"),
    ("SUBSTRING('abcdef', 2, 3)", "bcd"),
    ("SUBSTRING('abcdef', -2)", "ef"),
    ("SUBSTRING('abc', 9)", ""),
    ("INSTR('corporate floor', 'or')", 2),
    ("INSTR('corporate floor', 'or', 3, 2)", 14),
    ("INSTR('corporate floor', 'or', -3, 2)", 2),
    ("INSTR('abc', 'x')", 0),
    (r"CHR('\u004bxy')", "Kxy"),
    (r"CHR('\ud83d\udccf')", "\U0001f4cf"),
    ("INSTR(CAST(NULL AS STRING), 'b')", 0),
    ("INSTR('abcabc', 'bc', -1)", 5),
    ("INSTR('abcabc', 'bc', -2)", 2),
    ("INSTR('abcabc', 'bc', -1, 2)", 2),
    ("INSTR('abc', 'c', 4)", 0),
    ("INSTR('abc', 'z', 2)", 0),
    ("LPAD('7', 3, '0')", "007"),
    ("RPAD('abc', 2, 'x')", "ab"),
    ("RPAD('abc', -1, 'x')", None),
    ("CONCAT('a', NULL, 'b')", "ab"),
    ("CONCAT(CAST(NULL AS STRING), NULL)", ""),
    ("CONCAT(TO_BYTES(NULL, 'utf8'), TO_BYTES(NULL, 'utf8'))", b""),
    ("CONCAT(TO_BYTES(NULL, 'utf8'), TO_BYTES('a', 'utf8'))", b"a"),
    ("CONCAT_WS('-', 'a', NULL, 'b')", "a-b"),
    ("SPLIT('a,b,', ',')", ["a", "b", ""]),
    ("SPLIT('ab', '')", ["a", "b"]),
    ("SPLIT_TO_MAP('a=1;b=2;c', ';', '=')", {"a": "1", "b": "2"}),
    ("CHR(75)", "K"),
    ("CHR('\\u004b')", "K"),
    ("FIELD('b', 'a', 'b')", 2),
    ("ELT(2, 'a', 'b')", "b"),
    ("ELT(3, 'a', 'b')", None),
    ("MASK('Ab1-')", "Xxn-"),
    ("MASK('Éé٣ªⅧ²')", "Xxn---"),
    ("MASK('Ab1-', 'A', NULL, '9', '*')", "Ab9*"),
    ("MASK_LEFT('Abc123', 2)", "Xxc123"),
    ("MASK_RIGHT('Abc123', 2)", "Abc1nn"),
    ("MASK_KEEP_LEFT('Abc123', 2)", "Abxnnn"),
    ("MASK_KEEP_RIGHT('Abc123', 2)", "Xxxn23"),
    ("REGEXP_EXTRACT('(.*) (.*)', 'hello there', 2)", "there"),
    ("REGEXP_EXTRACT('x', 'abc')", None),
    ("REGEXP_EXTRACT_ALL('[a-z]at', 'cat and bat')", ["cat", "bat"]),
    (r"REGEXP_EXTRACT('\p{Upper}\p{Lower}+', 'x Ab')", "Ab"),
    (r"REGEXP_EXTRACT('[\p{L}0-9]+', '-äb1-')", "äb1"),
    (r"REGEXP_EXTRACT('[^\p{Alpha}]+', 'ab12')", "12"),
    (r"REGEXP_EXTRACT('\p{IsAlphabetic}+', '1ä')", "ä"),
    (r"REGEXP_EXTRACT('\p{Nothing}', 'x')", None),
    (r"REGEXP_EXTRACT('\w+', 'äb')", "b"),
    (r"REGEXP_EXTRACT('\Qa.b\E', 'aab a.b')", "a.b"),
    ("REGEXP_EXTRACT('[a-z&&[^bc]]+', 'bcade')", "ade"),
    ("REGEXP_EXTRACT('[a-c[x-z]&]+', 'mx&ayz')", "x&ayz"),
    ("REGEXP_EXTRACT('x(?i)abc', 'xABC')", "xABC"),
    ("REGEXP_EXTRACT('(x(?i)a)b', 'xAB')", None),
    (r"REGEXP_EXTRACT('(?<y>.)z', 'abzc', 1)", "b"),
    ("REGEXP_EXTRACT('a(?i)b|c', 'C')", "C"),
    ("REGEXP_EXTRACT('(?i)k', CHR(8490))", None),
    ("REGEXP_EXTRACT('x=(.*?)(,|$)', CONCAT('x=3', CHR(10)), 1)", "3"),
    ("REGEXP_REPLACE(CONCAT('ab', CHR(10)), 'b$', 'c')", "ac\n"),
    ("REGEXP_EXTRACT('(?x) a b # c', 'xab')", "ab"),
    ("REGEXP_EXTRACT('(a)|b', 'b', 1)", None),
    (r"REGEXP_SPLIT_TO_ARRAY('ab', '\b')", ["ab"]),
    (r"REGEXP_REPLACE('a  b', '\h+', '-')", "a-b"),
    ("REGEXP_REPLACE(CONCAT('a', CHR(13), 'b'), '.', '-')", "-\r-"),
    ("REGEXP_REPLACE('2026-01', '(\\d+)-(\\d+)', '$2/$1')", "01/2026"),
    ("REGEXP_SPLIT_TO_ARRAY('a1b22c', '\\d+')", ["a", "b", "c"]),
    ("ENCODE('ab', 'ascii', 'hex')", "6162"),
    ("ENCODE('0x6162', 'hex', 'utf8')", "ab"),
    ("FROM_BYTES(TO_BYTES('aGk=', 'base64'), 'utf8')", "hi"),
    ("ENCODE('616', 'hex', 'utf8')", None),
    ("ENCODE('0x616', 'hex', 'hex')", None),
    ("ENCODE('0x9', 'hex', 'base64')", "CQ=="),
    ("ENCODE('x''6162''', 'hex', 'ascii')", "ab"),
    ("ENCODE('aG k', 'base64', 'utf8')", "hi"),
    ("FROM_BYTES(TO_BYTES('aB', 'hex'), 'hex')", "AB"),
    ("TO_BYTES('f', 'hex')", None),
    ("FROM_BYTES(TO_BYTES('FF', 'hex'), 'hex')", "FF"),
    ("FROM_BYTES(TO_BYTES(LPAD('', 58, 'a'), 'ascii'), 'base64')", "YWFh" * 19 + "\r\nYQ=="),
    ("TO_BYTES('x', 'rot13')", None),
    ("MD5('a')", "0cc175b9c0f1b6a831c399e269772661"),
    ("INT_FROM_BYTES(TO_BYTES('00000102', 'hex'))", 258),
    ("BIGINT_FROM_BYTES(TO_BYTES('0100000000000000', 'hex'), 'LITTLE_ENDIAN')", 1),
    ("DOUBLE_FROM_BYTES(TO_BYTES('3FF0000000000000', 'hex'))", 1.0),
    ("INT_FROM_BYTES(TO_BYTES('00', 'hex'))", None),
    (
        "UUID(TO_BYTES('00112233445566778899AABBCCDDEEFF', 'hex'))",
        "00112233-4455-6677-8899-aabbccddeeff",
    ),
]

JSON: list[tuple[str, Any]] = [
    ("EXTRACTJSONFIELD('{\"a\":{\"b\":[1,2.50]}}', '$.a.b[1]')", "2.50"),
    ("EXTRACTJSONFIELD('{\"a\":\"x\"}', '$.a')", "x"),
    ("EXTRACTJSONFIELD('{\"a\":1}', '$.b')", None),
    ("EXTRACTJSONFIELD('oops', '$.b')", None),
    ("IS_JSON_STRING('[1]')", True),
    ("IS_JSON_STRING('[1')", False),
    ("JSON_ARRAY_CONTAINS('[1, 2]', 2)", True),
    ("JSON_ARRAY_CONTAINS('[1, 2]', '2')", False),
    ("JSON_ARRAY_LENGTH('[1, 2]')", 2),
    ("JSON_ARRAY_LENGTH('{}')", None),
    ("JSON_ITEMS('[{\"a\":1}, 2]')", ['{"a":1}', "2"]),
    ('JSON_KEYS(\'{"a":1,"b":2}\')', ["a", "b"]),
    ('JSON_RECORDS(\'{"a":"x","b":[1]}\')', {"a": "x", "b": "[1]"}),
    ("JSON_CONCAT('{\"a\":1}', '{\"b\":2}')", '{"a":1,"b":2}'),
    ("JSON_CONCAT('[1]', '2')", "[1,2]"),
    ("TO_JSON_STRING(STRUCT(A := 1, B := ARRAY['x', NULL]))", '{"A":1,"B":["x",null]}'),
    ("TO_JSON_STRING(STRUCT(B := 1, A := MAP('y' := 2, 'x' := 3)))", '{"A":{"x":3,"y":2},"B":1}'),
    ("TO_JSON_STRING(DATE '1970-01-02')", '"1970-01-02"'),
    ("EXTRACTJSONFIELD('{\"a\":null}', '$.a')", "null"),
    ("EXTRACTJSONFIELD('{\"a\":[5]}', '$.a.0')", "5"),
    ("EXTRACTJSONFIELD('{\"0\":5}', '$[0]')", "5"),
    ("IS_JSON_STRING('{} and more')", True),
    ("IS_JSON_STRING('1more')", False),
    ("JSON_ARRAY_CONTAINS('[null]', NULL)", True),
    ("JSON_ARRAY_CONTAINS('[1.5]', 1.5)", False),
    ("JSON_ARRAY_CONTAINS('no json', 1)", False),
]

COLLECTIONS: list[tuple[str, Any]] = [
    ("ARRAY_LENGTH(ARRAY[1, 2])", 2),
    ("AS_MAP(ARRAY['a', 'b'], ARRAY[1])", {"a": 1, "b": None}),
    ("ARRAY_JOIN(ARRAY[DATE '1970-01-01'])", None),
    ("ARRAY_CONTAINS(ARRAY[1, 2], 2)", True),
    ("ARRAY_DISTINCT(ARRAY[2, 1, 2])", [2, 1]),
    ("ARRAY_EXCEPT(ARRAY[1, 2, 3], ARRAY[2])", [1, 3]),
    ("ARRAY_INTERSECT(ARRAY[1, 2, 2], ARRAY[2])", [2]),
    ("ARRAY_UNION(ARRAY[1, 2], ARRAY[2, 3])", [1, 2, 3]),
    ("ARRAY_CONCAT(ARRAY[1], ARRAY[1])", [1, 1]),
    ("ARRAY_REMOVE(ARRAY[1, 2, 1], 1)", [2]),
    ("ARRAY_MAX(ARRAY[1, NULL, 3])", 3),
    ("ARRAY_MIN(ARRAY[1, NULL, 3])", 1),
    ("ARRAY_SORT(ARRAY[3, NULL, 1])", [1, 3, None]),
    ("ARRAY_SORT(ARRAY[3, NULL, 4], 'desc')", [4, 3, None]),
    ("ARRAY_JOIN(ARRAY['a', NULL], '-')", "a-null"),
    ("ARRAY_JOIN(ARRAY[1E0, 2E0])", "1.0,2.0"),
    ("SLICE(ARRAY[1, 2, 3], 2, 3)", [2, 3]),
    ("AS_MAP(ARRAY['a', 'b'], ARRAY[1, 2])", {"a": 1, "b": 2}),
    ("MAP_KEYS(MAP('a' := 1))", ["a"]),
    ("MAP_VALUES(MAP('a' := 1))", [1]),
    ("MAP_UNION(MAP('a' := 1), MAP('a' := 2))", {"a": 2}),
    ("ENTRIES(MAP('b' := 1, 'a' := 2), TRUE)", [{"K": "a", "V": 2}, {"K": "b", "V": 1}]),
    ("TRANSFORM(ARRAY[1, 2], X => X * 2)", [2, 4]),
    ("TRANSFORM(MAP('a' := 1), (K, V) => UCASE(K), (K, V) => V + 1)", {"A": 2}),
    ("FILTER(ARRAY[1, 2], X => X > 1)", [2]),
    ("FILTER(MAP('a' := 1, 'b' := 2), (K, V) => V > 1)", {"b": 2}),
    ("REDUCE(ARRAY[1, 2], 10, (S, X) => S + X)", 13),
    ("REDUCE(MAP('a' := 1), 10, (S, K, V) => S + V)", 11),
    ("COALESCE(NULL, 2, 3)", 2),
    ("IFNULL(CAST(NULL AS INT), 5)", 5),
    ("NULLIF(1, 1)", None),
    ("AS_VALUE('x')", "x"),
]

DATES: list[tuple[str, Any]] = [
    ("FORMAT_TIMESTAMP(FROM_UNIXTIME(1), 'yyyy-MM-dd HH:mm:ss.SSS')", "1970-01-01 00:00:00.001"),
    ("FORMAT_TIMESTAMP(FROM_UNIXTIME(0), 'HH:mm X', 'Europe/Paris')", "01:00 +01"),
    ("FORMAT_TIMESTAMP(FROM_UNIXTIME(0), '''T''EEE d MMM yy, hh a')", "TThu 1 Jan 70, 12 AM"),
    ("FORMAT_TIMESTAMP(FROM_UNIXTIME(0), 'bb')", None),
    ("FORMAT_DATE(DATE '2025-12-30', 'YYYY yyyy')", "2026 2025"),
    (
        "FORMAT_TIMESTAMP(FROM_UNIXTIME(0), 'EEEEE MMMMM GGGG QQQ e w W')",
        "T J Anno Domini Q1 5 1 1",
    ),
    ("FORMAT_TIMESTAMP(FROM_UNIXTIME(5), 'A n [O]', '+05:30')", "19800005 5000000 GMT+5:30"),
    ("FORMAT_TIMESTAMP(FROM_UNIXTIME(0), 'VV z', '+05:30')", "+05:30 +05:30"),
    ("FORMAT_TIMESTAMP(FROM_UNIXTIME(0), 'VV z', 'UTC')", "UTC UTC"),
    ("FORMAT_TIMESTAMP(FROM_UNIXTIME(0), 'HHH')", None),
    ("FORMAT_TIMESTAMP(FROM_UNIXTIME(0), 'HH', 'PST')", None),
    ("FORMAT_DATE(FROM_DAYS(0), 'yyyy HH')", None),
    ("FORMAT_TIME(TIME '13:05', 'yyyy HH')", None),
    ("PARSE_TIMESTAMP('1970-02-30', 'yyyy-MM-dd')", 58 * 86_400_000),
    ("PARSE_TIMESTAMP('1970-01-02', 'yyyy-MM-dd[ HH:mm]')", 86_400_000),
    ("PARSE_TIMESTAMP('1970-01-02 00:01', 'yyyy-MM-dd[ HH:mm]')", 86_460_000),
    ("PARSE_TIMESTAMP('1970-01-01 PST', 'yyyy-MM-dd z')", 8 * 3_600_000),
    ("PARSE_TIMESTAMP('1970-1-2', 'yyyy-MM-dd')", None),
    ("PARSE_DATE('1970-1-2', 'yyyy-MM-dd')", 1),
    ("PARSE_DATE('1970-13-32 and more', 'yyyy-MM-dd')", 396),
    ("PARSE_DATE('19700102', 'yyyyMMdd')", 1),
    ("PARSE_DATE('1971', 'YYYY')", 365),
    ("PARSE_DATE('1970-01-01 01', 'yyyy-MM-dd HH')", None),
    ("PARSE_DATE('1970-01-01 00', 'yyyy-MM-dd HH')", 0),
    ("PARSE_TIME('05:06', 'mm:ss')", None),
    ("PARSE_TIME('1970 05', 'yyyy HH')", None),
    ("STRINGTODATE('1970-02', 'yyyy-MM')", None),
    ("FORMAT_DATE(FROM_DAYS(31), 'dd.MM.yyyy')", "01.02.1970"),
    ("FORMAT_TIME(TIME '13:05', 'h:mm a')", "1:05 PM"),
    ("PARSE_TIMESTAMP('1970-01-01 01:00', 'yyyy-MM-dd HH:mm', 'Europe/Paris')", 0),
    ("PARSE_TIMESTAMP('1970-01-01T00:00:00.123Z', 'yyyy-MM-dd''T''HH:mm:ss.SSSX')", 123),
    ("PARSE_TIMESTAMP('x', 'yyyy')", None),
    ("PARSE_DATE('1 Feb 1970', 'd MMM yyyy')", 31),
    ("PARSE_TIME('01:00 PM', 'hh:mm a')", 46_800_000),
    ("UNIX_TIMESTAMP(FROM_UNIXTIME(5))", 5),
    ("UNIX_DATE(FROM_DAYS(5))", 5),
    ("CONVERT_TZ(TIMESTAMP '1970-06-01T00:00:00', '+01:00', 'UTC')", 151 * 86_400_000 - 3_600_000),
    ("CONVERT_TZ(FROM_UNIXTIME(0), 'UTC', 'Asia/Tokyo')", 32_400_000),
    ("DATEADD(MONTHS, 1, DATE '1970-01-31')", 58),
    ("DATESUB(DAY, 1, DATE '1970-01-01')", -1),
    ("TIMESTAMPADD(HOURS, 1, FROM_UNIXTIME(0))", 3_600_000),
    ("TIMESTAMPSUB(MILLISECONDS, 1, FROM_UNIXTIME(0))", -1),
    ("TIMEADD(HOURS, 2, TIME '23:00')", 3_600_000),
    ("TIMESUB(SECONDS, 1, TIME '00:00')", 86_399_000),
    ("DATETOSTRING(0, 'yyyy/MM/dd')", "1970/01/01"),
    ("STRINGTODATE('1970/01/02', 'yyyy/MM/dd')", 1),
    ("TIMESTAMPTOSTRING(0, 'yyyy', 'UTC')", "1970"),
    ("STRINGTOTIMESTAMP('1970-01-02', 'yyyy-MM-dd')", 86_400_000),
    ("CURRENT_TIMESTAMP() > FROM_UNIXTIME(0)", True),
    ("CURRENT_DATE() > FROM_DAYS(0)", True),
    ("CURRENT_TIME() IS NULL", False),
]

URL = "'http://me@host.io:81/a%20b/c?x=1&y=%26#top'"
URLS: list[tuple[str, Any]] = [
    (f"URL_EXTRACT_PROTOCOL({URL})", "http"),
    (f"URL_EXTRACT_HOST({URL})", "host.io"),
    (f"URL_EXTRACT_PORT({URL})", 81),
    (f"URL_EXTRACT_PATH({URL})", "/a b/c"),
    (f"URL_EXTRACT_QUERY({URL})", "x=1&y=&"),
    (f"URL_EXTRACT_FRAGMENT({URL})", "top"),
    (f"URL_EXTRACT_PARAMETER({URL}, 'y')", ""),
    (f"URL_EXTRACT_PARAMETER({URL}, 'x')", "1"),
    ("URL_EXTRACT_PARAMETER('http://a.b?c&d=e=f', 'c')", ""),
    ("URL_EXTRACT_PARAMETER('http://a.b?c&d=e=f', 'd')", "e=f"),
    (f"URL_EXTRACT_PARAMETER({URL}, 'z')", None),
    ("URL_EXTRACT_HOST('no url')", None),
    ("URL_EXTRACT_HOST('http://my_host:80/x')", None),
    ("URL_EXTRACT_PORT('http://my_host:80/x')", None),
    ("URL_EXTRACT_HOST('http://u:p@10.1.2.3:80')", "10.1.2.3"),
    ("URL_EXTRACT_HOST('http://[::1]:80/')", "[::1]"),
    ("URL_EXTRACT_PORT('http://a-b.c1.example.:80')", 80),
    ("URL_ENCODE_PARAM('a b&c~')", "a+b%26c%7E"),
    ("URL_DECODE_PARAM('a+b%26c')", "a b&c"),
]


@pytest.mark.parametrize(
    ("text", "result"),
    NUMBERS + STRINGS + JSON + COLLECTIONS + DATES + URLS,
    ids=lambda v: str(v)[:40],
)
def test_values(text: str, result: Any) -> None:
    """Each function gives this value for these arguments."""
    assert value_of(text) == result


def test_every_scalar_function_is_tested_here() -> None:
    """A function without a line in these tables is a function nobody has looked at."""
    texts = " ".join(text for text, _ in NUMBERS + STRINGS + JSON + COLLECTIONS + DATES + URLS)
    tested = set(re.findall(r"[A-Z_0-9]+(?=\()", texts))
    assert set(FUNCTIONS.scalars) - tested - FUNCTIONS.yielding == {"RANDOM"}


def test_names_of_ksqldb_are_all_there() -> None:
    """129 scalar, 2 table and 18 aggregate functions have the names that ksqlDB gives them."""
    own = {name for name in FUNCTIONS.scalars if name.startswith("CURRENT_")}
    own |= FUNCTIONS.yielding
    assert len(set(FUNCTIONS.scalars) - own) == 129
    assert len(FUNCTIONS.tables) == 2
    assert len(set(FUNCTIONS.aggregates) - own) == 18
    assert all(function.description for function in FUNCTIONS.scalars.values())


@pytest.mark.parametrize(
    "text",
    ["LCASE(S)", "ROUND(D, 1)", "SPLIT(S, ',')", "FORMAT_DATE(T, 'yyyy')", "ARRAY_MAX(A)"],
)
def test_null_gives_null(text: str) -> None:
    """Unless a function says otherwise, a NULL argument makes the result NULL."""
    columns = {"S": "STRING", "D": "DOUBLE", "T": "DATE", "A": "ARRAY<INT>"}
    assert evaluate(text, columns, None, None, None, None) is None


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("ROUND(12.345)", "DECIMAL(2, 0)"),
        ("GREATEST(1.5, 22.25)", "DECIMAL(4, 2)"),
        ("ROUND(12.345, 1)", "DECIMAL(5, 3)"),
        ("ROUND(1E0)", "BIGINT"),
        ("ROUND(1)", "BIGINT"),
        ("TRUNC(1)", "BIGINT"),
        ("TRUNC(12.345)", "DECIMAL(2, 0)"),
        ("ABS(1)", "INTEGER"),
        ("SQRT(1)", "DOUBLE"),
        ("COALESCE(1, 2147483648)", "BIGINT"),
        ("ENTRIES(MAP('a' := 1), TRUE)", "ARRAY<STRUCT<`K` STRING, `V` INTEGER>>"),
        ("TRANSFORM(ARRAY[1], X => CAST(X AS STRING))", "ARRAY<STRING>"),
        ("FROM_DAYS(1)", "DATE"),
    ],
)
def test_result_types(text: str, type_: str) -> None:
    """Generic functions give the type of their arguments, decimals keep their digits."""
    assert type_of(text) == type_


def test_random_things_are_in_range() -> None:
    """RANDOM, UUID and the clock have no fixed value."""
    assert 0 <= value_of("RANDOM()") < 1
    assert re.fullmatch(r"[0-9a-f-]{36}", value_of("UUID()"))
    assert value_of("UNIX_TIMESTAMP()") // 86_400_000 in (
        value_of("UNIX_DATE()"),
        value_of("UNIX_DATE()") - 1,
    )


def test_table_functions_give_rows() -> None:
    """EXPLODE gives a row for each element, CUBE_EXPLODE one for each way to leave some out."""
    type_, explode = FUNCTIONS.bind_table("EXPLODE", [sql_type("ARRAY<INT>")])
    assert (str(type_), explode([1, 2]), explode(None)) == ("INTEGER", [1, 2], [])
    type_, cube = FUNCTIONS.bind_table("CUBE_EXPLODE", [sql_type("ARRAY<INT>")])
    assert str(type_) == "ARRAY<INTEGER>"
    assert cube([1, 2]) == [[None, None], [None, 2], [1, None], [1, 2]]
    assert cube([1, None]) == [[None, None], [1, None]]
