"""Extras: what each brings, and what a program hears that needs a missing one."""

import pickle

import pytest
from packaging.requirements import Requirement

from penstock.errors import ConfigError, MissingExtraError
from penstock.extras import EXTRAS, PURPOSES, install_command, missing_packages, needing, require
from tests.architecture.test_repository import PROJECT

#: Distributions whose packages have other names, and those that come along with others.
PACKAGES = {
    "protobuf": "google.protobuf",
    "proto-schema-parser": "proto_schema_parser",
    "prompt-toolkit": "prompt_toolkit",
    "opentelemetry-api": "opentelemetry",
}


def test_every_extra_of_the_distribution_is_known() -> None:
    """``penstock doctor`` and errors speak of the extras that pip knows."""
    declared = dict(PROJECT["project"]["optional-dependencies"])
    del declared["docs"]
    (everything,) = map(Requirement, declared.pop("all"))
    assert everything.extras == set(declared)
    assert set(EXTRAS) == set(PURPOSES) == set(declared)
    for extra, lines in declared.items():
        names = [Requirement(line).name for line in lines]
        # Without RE2 regular expressions still work: nothing is refused if it is missing.
        own = {"penstock-streams", "confluent-kafka", "google-re2"}
        wanted = {PACKAGES.get(name, name) for name in names if name not in own}
        assert wanted <= set(EXTRAS[extra]), extra


def test_error_names_the_package_and_the_command() -> None:
    with pytest.raises(MissingExtraError) as raised, needing("spark", "KafkaStreams"):
        raise ModuleNotFoundError("No module named 'pyspark'", name="pyspark.sql")
    assert str(raised.value) == (
        "[missing-extra] KafkaStreams needs 'pyspark.sql', which this Python does not have\n"
        "  fix: pip install 'penstock-streams[spark]'"
    )
    assert install_command("spark", "jdk") == "pip install 'penstock-streams[spark,jdk]'"


def test_error_is_a_wrong_setup_and_a_failed_import() -> None:
    """Programs that try an import and go on without it work as with any package."""
    error = MissingExtraError("missing-extra", "no", "do")
    assert isinstance(error, ConfigError)
    assert isinstance(error, ImportError)
    again = pickle.loads(pickle.dumps(error))
    assert (again.code, again.message, again.fix) == ("missing-extra", "no", "do")


def test_other_failed_imports_pass_unchanged() -> None:
    """A module of the program that is missing has nothing to do with the extra."""
    with pytest.raises(ModuleNotFoundError) as raised, needing("spark", "KafkaStreams"):
        raise ModuleNotFoundError(name="my_module")
    assert not isinstance(raised.value, MissingExtraError)


def test_missing_packages_are_found_without_importing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXTRAS, "spark", ("no_such_package", "no_such.inner", "json"))
    assert missing_packages("spark") == ["no_such_package", "no_such.inner"]


def test_a_command_ends_before_it_starts_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that is downloaded and started first would be for nothing."""
    require("penstock demo", "spark")
    monkeypatch.setitem(EXTRAS, "spark", ("json", "no_such_package"))
    with pytest.raises(MissingExtraError, match="penstock demo needs 'no_such_package'"):
        require("penstock demo", "spark")


def test_all_missing_extras_are_installed_with_one_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXTRAS, "spark", ("no_spark",))
    monkeypatch.setitem(EXTRAS, "server", ("json", "no_server"))
    monkeypatch.setitem(EXTRAS, "jdk", ("json",))
    with pytest.raises(MissingExtraError) as raised:
        require("penstock server", "spark", "jdk", "server")
    assert str(raised.value) == (
        "[missing-extra] penstock server needs 'no_spark' and 'no_server',"
        " which this Python does not have\n  fix: pip install 'penstock-streams[spark,server]'"
    )
