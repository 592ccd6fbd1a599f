"""Cases in which Penstock differs from ksqlDB on purpose, each with the reason.

An exception excuses nothing else: a case of this list that fails in another way disagrees.
"""

from __future__ import annotations

from collections.abc import Mapping

_FOREIGN_KEY = "accepted here: a join on a foreign key may stand at any place of several joins"

#: What a verdict says of a case that should have been refused.
ACCEPTED = "the statements are accepted, but must be refused"
EXCEPTED: Mapping[tuple[str, str], str] = {
    ("fk-n-way-join.json", "Should fail as second step in n-way join"): _FOREIGN_KEY,
    (
        "fk-n-way-join.json",
        "Should fail as second step in n-way join with fk join as first step",
    ): _FOREIGN_KEY,
    ("group-by.json", "windowed join with window bounds"): (
        "accepted here: a SELECT may use the window bounds of an aggregation over a join"
    ),
    ("joins.json", "self join"): "accepted here: a source may be joined with itself",
    ("windowed-source.json", "Should fail querying windowed table"): (
        "accepted here: a persistent query may read a windowed table"
    ),
    ("multi-col-keys.json", "join on multi-column key"): (
        "accepted here: a join may compare all columns of a key"
    ),
}


_ROWS_ON_TABLES = "accepted here: a table whose topic others write can be asked, too"
_PLACES = "accepted here: ROWPARTITION and ROWOFFSET of a pull query tell where a row stands"
_ONE_RANGE = (
    "accepted here without a scan: the conditions together are one range of keys, or one list"
)
_ONCE = "accepted here: a pull query over streams may have joins and ORDER BY"
_AGGREGATES = "pull-queries-against-materialized-aggregates.json"
_TABLES = "pull-queries-against-ctas-materialized.json"
_STREAMS = "pull-queries-against-streams.json"
#: Cases that run through a server.
EXCEPTED_OVER_REST: Mapping[tuple[str, str], str] = {
    (
        "insert-values.json",
        "should fail on mismatch between key and key field values when stream has key",
    ): "accepted here, and by ksqlDB's server: no setting ties the column ID to the key any more",
    (_TABLES, "pull query on `CREATE TABLE` table should fail "): _ROWS_ON_TABLES,
    (_TABLES, "should not allow pull query with disallowed pseudocolumn in WHERE clause"): _PLACES,
    (
        _STREAMS,
        "should not allow pull query with disallowed pseudocolumn in SELECT clause",
    ): _PLACES,
    (_AGGREGATES, "fail on unsupported query feature: where key range string"): _ONE_RANGE,
    (_AGGREGATES, "fail on unsupported query feature: where key multiple times"): _ONE_RANGE,
    (
        "pull-queries-with-range-scan.json",
        "range scan query must fail for multiple range expressions and table scan disabled",
    ): _ONE_RANGE,
    (_STREAMS, "error on ORDER BY"): _ONCE,
    (_STREAMS, "error on JOIN"): _ONCE,
}
_WHY_DIGITS = (
    "the stored input is a double, 12345678987654322; the output was recorded from a DECIMAL that"
    " is smaller by 0.77, and the case over DELIMITED, which has all digits, agrees"
)
_LOST_DIGITS = ('OUTPUT[0]: value {"R0":12345678987654322,', _WHY_DIGITS)
#: Cases whose answer differs, with the beginning of what a verdict says of them.
DIFFERING: dict[tuple[str, str], tuple[str, str]] = {
    ("math.json", "round with large DECIMAL values - AVRO"): _LOST_DIGITS,
    ("math.json", "round with large DECIMAL values - JSON"): _LOST_DIGITS,
}
#: The same for cases that run through a server.
DIFFERING_OVER_REST: dict[tuple[str, str], tuple[str, str]] = {
    ("pull-queries-with-limit-clause.json", "windowed - single column from multi-column key"): (
        "3.query: missing ['{columns: [50, 1, 12000, 13000, 1]}'",
        "LIMIT without ORDER BY: any rows of the table are right, here those with the first keys",
    ),
    ("push-queries.json", "windowed join - with rowtime"): (
        "3.query: missing ['{columns: [0, 1, 0, 2000, 0, 2000, 1, 1, 0, 2000, 4]}']",
        "Kafka's C client writes no time 0: it becomes 1 ms",
    ),
    ("scalable-push-queries.json", "non-windowed stream with nulls"): (
        "2.query: missing ['{columns: [11, 111]}'], unexpected ['{columns: [null, 110]}']",
        "a row of a stream needs no key in any push query; the case calls ksqlDB inconsistent here",
    ),
}


def reason_for(file: str, name: str, problems: list[str]) -> str | None:
    """Return why a case may disagree; None if it agrees or must not."""
    case = (file, name)
    if problems == [ACCEPTED]:
        return EXCEPTED.get(case) or EXCEPTED_OVER_REST.get(case)
    beginning, reason = (DIFFERING_OVER_REST | DIFFERING).get(case, ("", ""))
    if reason and len(problems) == 1 and problems[0].startswith(beginning):
        return reason
    return None
