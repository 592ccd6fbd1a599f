"""What has to be done so that the queries that run are those of the catalog."""

from penstock.sql.queries.following import Todo, todo
from tests.unit.sql.queries import ORDERS, engine_of

A = "CREATE STREAM a AS SELECT * FROM orders;"


def test_catalog_and_runtime_agree_after_everything_is_done() -> None:
    """A query is started once."""
    engine = engine_of(ORDERS, A)
    assert todo({}, engine.catalog) == Todo((), (), ("CSAS_A_0",))
    running = {"CSAS_A_0": engine.queries["CSAS_A_0"].plan}
    assert todo(running, engine.catalog) == Todo((), (), ())


def test_paused_query_is_not_started_again() -> None:
    """Its plan is the same."""
    engine = engine_of(ORDERS, A)
    running = {"CSAS_A_0": engine.queries["CSAS_A_0"].plan}
    engine.execute("PAUSE CSAS_A_0;")
    assert todo(running, engine.catalog) == Todo((), (), ())


def test_replaced_query_is_stopped_and_started_with_its_state() -> None:
    """CREATE OR REPLACE reaches a running query."""
    engine = engine_of(ORDERS, A)
    running = {"CSAS_A_0": engine.queries["CSAS_A_0"].plan}
    engine.execute("CREATE OR REPLACE STREAM a AS SELECT * FROM orders WHERE price > 1;")
    assert todo(running, engine.catalog) == Todo(("CSAS_A_0",), (), ("CSAS_A_0",))


def test_state_of_a_dropped_query_goes_before_one_of_the_same_name_starts() -> None:
    """The new one has the same id."""
    engine = engine_of(ORDERS, A)
    running = {"CSAS_A_0": engine.queries["CSAS_A_0"].plan}
    engine.execute(f"DROP STREAM a; {A}")
    ids = ("CSAS_A_0",)
    assert todo(running, engine.catalog) == Todo(ids, ids, ids)
