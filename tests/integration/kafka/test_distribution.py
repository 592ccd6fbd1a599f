"""Fetching Kafka: where settings come from, and what happens without a network."""

import re
import subprocess
from pathlib import Path
from queue import Queue

import pytest

from penstock.kafka import installation
from penstock.kafka.distribution import (
    KAFKA_VERSION,
    ensure_distribution,
    first_metadata,
    installed,
    only_one_process,
)
from penstock.kafka.download import ivy
from penstock.kafka.errors import BrokerError
from penstock.kafka.java import find_java
from penstock.kafka.machine import cache_folder, proxy_options

MAVEN = """<settings xmlns="http://maven.apache.org/SETTINGS/1.0.0">
  <servers><server><id>corp</id><username>me</username><password>p&amp;w</password></server></servers>
  <mirrors>
    <mirror><id>other</id><mirrorOf>snapshots</mirrorOf><url>https://no.example/x</url></mirror>
    <mirror><id>corp</id><mirrorOf>*,!internal</mirrorOf><url>https://repo.example/m2</url></mirror>
  </mirrors>
</settings>"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user with an empty home folder."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def test_cache_follows_the_xdg_rules(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path in the variable counts as none."""
    assert cache_folder() == home / "cache" / "penstock"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() == home / ".cache" / "penstock"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == home / ".cache" / "penstock"


def test_without_network_the_message_says_what_to_do(needs_java: None, home: Path) -> None:
    """Nothing half-fetched is left: the next try starts anew."""
    (home / ".ivy2").mkdir()
    (home / ".ivy2" / "ivysettings.xml").write_text(
        '<ivysettings><settings defaultResolver="none"/><resolvers>'
        f'<filesystem name="none"><artifact pattern="{home}/none/[module].[ext]"/></filesystem>'
        "</resolvers></ivysettings>"
    )
    with pytest.raises(BrokerError) as raised:
        ensure_distribution(find_java(), lambda _: None)
    assert raised.value.code == "kafka-download-failed"
    assert f"kafka_2.13;{KAFKA_VERSION}: not found" in raised.value.message
    assert "\n" not in raised.value.message
    assert "bootstrap.servers" in (raised.value.fix or "")
    assert installed() is None
    assert [path.name for path in (home / "cache" / "penstock").iterdir()] == ["kafka.lock"]


def test_a_cache_that_cannot_be_written_to_is_named(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A home folder may be read-only, for example in a container."""
    (home / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "file"))
    with (
        pytest.raises(BrokerError, match="cannot be written to: Not a directory") as raised,
        only_one_process("kafka", lambda _: None),
    ):
        pass
    assert "XDG_CACHE_HOME" in (raised.value.fix or "")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            ["\t\t:: org.slf4j#slf4j-simple;1.7.36: not found",
             ("\tServer access error at url https://repo1.maven.org/maven2/a.pom"
             " (java.net.ConnectException: Connection refused)")],
            "https://repo1.maven.org cannot be reached: Connection refused",
        ),
        (["\t\t:: a#b;1: not found", "\t\t:: c#d;2: not found"],
         "a#b;1: not found, c#d;2: not found"),
        (["Exception in thread main", " it broke "], "it broke"),
        ([], "Ivy gave no reason"),
    ],
)  # fmt: skip
def test_why_ivy_failed_is_one_line(lines: list[str], said: str) -> None:
    """It writes forty lines, and the one that says why is in the middle."""
    assert ivy.reason(lines) == said


def test_maven_mirror_and_its_login_are_used(home: Path) -> None:
    """Where a company has a mirror, Maven's settings know it."""
    (home / ".m2").mkdir()
    (home / ".m2" / "settings.xml").write_text(MAVEN)
    option, file = ivy._settings(home)
    text = Path(file).read_text()
    assert option == "-settings"
    assert 'root="https://repo.example/m2"' in text
    assert '<credentials host="repo.example" username="me" passwd="p&amp;w"/>' in text
    assert Path(file).stat().st_mode & 0o077 == 0


def test_own_ivy_settings_win_and_none_mean_ivys_defaults(home: Path) -> None:
    """What the user wrote for Ivy is meant for Ivy."""
    assert ivy._settings(home) == []
    (home / ".ivy2").mkdir()
    own = home / ".ivy2" / "ivysettings.xml"
    own.write_text("<ivysettings/>")
    assert ivy._settings(home) == ["-settings", str(own)]


def test_proxy_of_the_machine_is_handed_to_java(monkeypatch: pytest.MonkeyPatch) -> None:
    """Java does not read the variables that all other programs read."""
    for name in ("http_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("no_proxy", "localhost,.corp.example")
    assert proxy_options() == [
        "-Dhttps.proxyHost=proxy.example",
        "-Dhttps.proxyPort=3128",
        "-Dhttp.nonProxyHosts=localhost|*.corp.example",
    ]


def test_download_says_how_much_has_arrived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever waits for a minute wants to see that something happens."""
    monkeypatch.setattr(ivy, "_REPORT_S", 0.01)
    told: Queue[str] = Queue()
    with ivy._measured(tmp_path, 45, told.put) as seen:
        seen["found"] = 7
        while told.get(timeout=20) != "finding parts: 7":
            pass
        with open(tmp_path / "kafka.jar.part", "wb") as file:
            file.truncate(12_500_000)
        while told.get(timeout=20) != "downloading: 12 of 45 MB":
            pass


def test_what_is_downloaded_is_said_once_where_there_is_no_terminal(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Size and folder: a log should say why nothing happens for a while."""
    monkeypatch.setattr(installation, "find_java", lambda: None)
    monkeypatch.setattr(installation, "ensure_distribution", lambda java, report: report("half"))
    installation.ensure_installed()
    said = capsys.readouterr().err
    assert said == f"Kafka {KAFKA_VERSION}, 45 MB, is downloaded once into {cache_folder()}\n"


@pytest.mark.slow
def test_first_metadata_is_what_the_storage_tool_writes(needs_java: None, tmp_path: Path) -> None:
    """Only the times in it differ. A new version of Kafka has new features, or other levels."""
    java, distribution = installation.ensure_installed()
    properties, data = tmp_path / "format.properties", tmp_path / "data"
    properties.write_text(
        "process.roles=broker,controller\nnode.id=1\n"
        "controller.quorum.voters=1@127.0.0.1:9093\ncontroller.listener.names=CONTROLLER\n"
        "listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093\n"
        f"log.dirs={data}\n"
    )
    command = [
        str(java.executable), "-XX:TieredStopAtLevel=1", "-cp", distribution.class_path,
        "kafka.tools.StorageTool", "format", "-t", "AAAAAAAAAAAAAAAAAAAAAQ", "-c", str(properties),
    ]  # fmt: skip
    subprocess.run(command, capture_output=True, check=True)
    written = (data / "bootstrap.checkpoint").read_bytes()
    assert features(written) == features(first_metadata())
    assert len(features(written)) > 3


def features(metadata: bytes) -> list[bytes]:
    """Return the names of features with their levels, which are two bytes."""
    return re.findall(rb"[a-z.]{5,}\.version..", metadata, re.DOTALL)
