"""What an application tells about itself has the defaults of one that is up to date."""

from penstock.errors import StreamsError
from penstock.serving.application import Answer, Health, Location, NotAvailableError, Role, Source


def test_an_answer_is_complete_and_current_unless_it_says_otherwise() -> None:
    answer = Answer((), Source(Role.OWNER, "one"))
    assert (answer.lag, answer.has_more, answer.position) == (0, False, {})


def test_a_partition_that_moves_has_no_owner_and_no_copies() -> None:
    assert Location(None).copies == ()


def test_roles_are_the_words_that_clients_read() -> None:
    assert [role.value for role in Role] == ["owner", "standby", "replica"]


def test_what_passes_is_an_error_of_processing() -> None:
    error = NotAvailableError("partition-moving", "partition 1 of store 's' moves")
    assert isinstance(error, StreamsError)
    assert error.code == "partition-moving"


def test_health_needs_no_more_than_the_state() -> None:
    health = Health(state="RUNNING", is_alive=True, is_ready=True)
    assert (health.restoring, health.error, health.waiting_for) == ((), None, None)
