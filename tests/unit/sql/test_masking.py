"""Statements without their secrets."""

from penstock.sql.syntax.masking import blotted, masked_sql

CREATE = "CREATE SOURCE CONNECTOR a WITH ('connector.class'='X', \"db.password\"='it''s', 'b'='c');"


def test_connectors_keep_nothing_but_their_class() -> None:
    """As in ksqlDB: a connector may call its secrets what it likes."""
    assert masked_sql(f"SHOW STREAMS; {CREATE}") == (
        "SHOW STREAMS;\nCREATE SOURCE CONNECTOR A WITH ('connector.class' = 'X',"
        " 'db.password' = '[string]', 'b' = '[string]');"
    )


def test_other_statements_stay_as_they_are() -> None:
    """Comments and layout included."""
    script = "-- x\nSELECT  a FROM s WHERE password='p' EMIT CHANGES;"
    assert masked_sql(script) == script
    assert blotted(script) == script


def test_what_does_not_parse_has_its_secrets_masked_too() -> None:
    """A mistake elsewhere must not put them into a log."""
    masked = masked_sql(CREATE.replace("WITH", "WITHIN"))
    assert "it''s" not in masked
    assert "'connector.class'='X'" in masked


def test_stars_keep_every_place() -> None:
    """Only what is secret is hidden from whoever wrote the script."""
    hidden = blotted(CREATE)
    assert len(hidden) == len(CREATE)
    assert "\"db.password\"='*****'" in hidden
    assert "'b'='c'" in hidden
