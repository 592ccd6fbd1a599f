"""The files in ``deploy`` are well-formed, fit together, and name what exists."""

import configparser
import re
import shlex
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pyspark
import pytest
import yaml
from typer.testing import CliRunner

import penstock
from penstock import StreamsConfig
from penstock.cli.main import app
from penstock.cli.program import load_program
from penstock.kafka.distribution import KAFKA_VERSION
from tests.architecture.source import ROOT
from tests.docs.test_shell_blocks import wrong_in

DOCKER = ROOT / "deploy" / "docker"
DOCKERFILE = DOCKER / "Dockerfile"
COMPOSE: dict[str, Any] = yaml.safe_load((DOCKER / "compose.yaml").read_text(encoding="utf-8"))
MANIFESTS: list[dict[str, Any]] = list(
    yaml.safe_load_all((ROOT / "deploy/kubernetes/application.yaml").read_text(encoding="utf-8"))
)
INSTRUCTIONS = {
    "FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "ENTRYPOINT", "CMD", "ARG", "EXPOSE",
}  # fmt: skip


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile with their arguments; continued lines are joined."""
    text = re.sub(r"^#.*\n", "", DOCKERFILE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines if line)]


def test_dockerfile_has_known_instructions_and_copies_what_exists() -> None:
    found = instructions()
    assert {word for word, _ in found} <= INSTRUCTIONS
    stages = [re.search(r" AS (\w+)$", rest) for word, rest in found if word == "FROM"]
    names = {stage[1] for stage in stages if stage}
    for word, rest in found:
        if word != "COPY":
            continue
        *sources, _ = shlex.split(rest)
        if sources[0].startswith("--from="):
            assert sources[0].removeprefix("--from=") in names
            continue
        for source in sources:
            assert (ROOT / source).exists(), source


def test_image_does_not_run_as_root_and_has_every_package_of_the_wheel() -> None:
    found = instructions()
    assert [rest for word, rest in found if word == "USER"] == ["185"]
    assert any("[spark" in rest for word, rest in found if word == "RUN")
    version = re.search(r"python:(\d+\.\d+)", found[0][1])
    assert version is not None
    assert version[1] in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_entrypoint_is_a_shell_script_that_can_be_read() -> None:
    script = DOCKER / "entrypoint.sh"
    assert script.stat().st_mode & 0o111
    subprocess.run(["bash", "-n", str(script)], check=True)


def test_program_of_the_image_loads() -> None:
    loaded = load_program(str(DOCKER / "app.py"))
    assert StreamsConfig(loaded.config)["state.dir"] == "/state"


def test_services_of_compose_fit_together() -> None:
    services, volumes = COMPOSE["services"], COMPOSE["volumes"]
    assert services["kafka"]["image"] == f"apache/kafka:{KAFKA_VERSION}"
    for service in services.values():
        assert set(service.get("depends_on", {})) <= set(services)
        if "build" in service:
            assert (DOCKER / service["build"]["context"] / service["build"]["dockerfile"]).exists()
        for mount in service.get("volumes", ()):
            source = re.sub(r"^\$\{\w+:-(.*?)\}", r"\1", mount).split(":")[0]
            assert source in volumes or (DOCKER / source).exists(), mount


def by_kind(kind: str) -> dict[str, Any]:
    (found,) = [each for each in MANIFESTS if each["kind"] == kind]
    return found


def container() -> dict[str, Any]:
    (found,) = by_kind("Deployment")["spec"]["template"]["spec"]["containers"]
    assert isinstance(found, dict)
    return found


def commands() -> list[list[str]]:
    compose = [each["command"] for each in COMPOSE["services"].values() if "command" in each]
    return [*compose, container()["args"]]


@pytest.mark.parametrize("command", commands(), ids=lambda command: command[0])
def test_commands_have_options_that_penstock_knows(command: list[str]) -> None:
    """An option that was renamed would be found when the container does not start."""
    words = [word for word in command if not word.startswith("-")]
    named = words[:2] if words[0] == "topics" else words[:1]
    shown = CliRunner(env={"COLUMNS": "200"}).invoke(app, [*named, "--help"])
    assert shown.exit_code == 0
    for word in command:
        if word.startswith("--"):
            assert word.partition("=")[0] in shown.stdout, word


def test_manifests_have_what_kubernetes_asks_for() -> None:
    for each in MANIFESTS:
        assert {"apiVersion", "kind", "metadata"} <= set(each)
        assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", each["metadata"]["name"])
    kinds = [each["kind"] for each in MANIFESTS]
    assert kinds == ["ServiceAccount", "Role", "RoleBinding", "Service", "Deployment"]


def test_manifests_refer_to_each_other_by_the_right_names() -> None:
    account = by_kind("ServiceAccount")["metadata"]["name"]
    binding, deployment = by_kind("RoleBinding"), by_kind("Deployment")
    assert binding["subjects"][0]["name"] == account
    assert binding["roleRef"]["name"] == by_kind("Role")["metadata"]["name"]
    template = deployment["spec"]["template"]
    assert template["spec"]["serviceAccountName"] == account
    labels = template["metadata"]["labels"]
    assert deployment["spec"]["selector"]["matchLabels"] == labels
    assert by_kind("Service")["spec"]["selector"] == labels
    ports = {port["name"]: port["containerPort"] for port in container()["ports"]}
    for port in by_kind("Service")["spec"]["ports"]:
        assert ports[port["targetPort"]] == port["port"]
    volumes = {volume["name"] for volume in template["spec"]["volumes"]}
    assert {mount["name"] for mount in container()["volumeMounts"]} == volumes


def test_settings_of_the_manifest_are_known_and_agree() -> None:
    """A misspelt setting of Penstock is refused at the start, so it is refused here."""
    pairs = [
        arg.removeprefix("--config=").split("=", 1) for arg in container()["args"] if "=" in arg
    ]
    given = {name: value for name, value in pairs if not name.startswith("--")}
    StreamsConfig({"application.id": "word-count", **given})
    image = container()["image"]
    assert image.endswith(f":{penstock.__version__}")
    images = {value for name, value in given.items() if name.endswith("container.image")}
    assert images == {image}
    service = by_kind("Service")
    assert given["spark.driver.host"].startswith(f"{service['metadata']['name']}.")
    ports = {port["name"]: str(port["port"]) for port in service["spec"]["ports"]}
    assert given["spark.driver.port"] == ports["driver"]
    assert given["spark.driver.blockManager.port"] == ports["blocks"]
    probes = [container()[name]["httpGet"]["path"] for name in ("readinessProbe", "livenessProbe")]
    page = Path(ROOT / "docs/reference/http.md").read_text(encoding="utf-8")
    assert all(f"`{path}`" in page for path in probes)


def known_to_spark() -> set[str]:
    """The names of settings in Spark's own classes."""
    jars = Path(pyspark.__file__).parent / "jars"
    found: set[str] = set()
    for jar in (*jars.glob("spark-core_*.jar"), *jars.glob("spark-kubernetes_*.jar")):
        with zipfile.ZipFile(jar) as archive:
            names = [name for name in archive.namelist() if re.search(r"/[Cc]onfig[/$.]", name)]
            for name in names:
                texts = re.findall(rb"spark\.[A-Za-z0-9.]+", archive.read(name))
                found |= {text.decode() for text in texts}
    return found


def test_settings_of_the_manifest_are_those_of_spark() -> None:
    """Spark says nothing about a setting that it does not know."""
    known = known_to_spark()
    given = [arg.removeprefix("--config=").partition("=")[0] for arg in container()["args"]]
    names = [name for name in given if name.startswith("spark.")]
    assert len(names) > 10
    unknown = [
        name for name in names
        if name not in known and not any(name.startswith(f"{each}.") for each in known)
    ]  # fmt: skip
    assert unknown == []


def test_variables_of_the_entrypoint_are_those_that_spark_sets() -> None:
    """An executor that misses one of them ends at once, and only its own log says why."""
    (jar,) = (Path(pyspark.__file__).parent / "jars").glob("spark-kubernetes_*.jar")
    with zipfile.ZipFile(jar) as archive:
        constants = archive.read("org/apache/spark/deploy/k8s/Constants$.class")
    script = (DOCKER / "entrypoint.sh").read_text(encoding="utf-8")
    used = set(re.findall(r"\$\{(SPARK_[A-Z_]+)", script)) | {"SPARK_JAVA_OPT_"}
    # This one is set by the image.
    assert {name for name in used - {"SPARK_HOME"} if name.encode() not in constants} == set()


def test_executors_find_the_driver_before_it_is_ready() -> None:
    """Kubernetes leaves a pod that is not ready out of its service, unless it is told otherwise."""
    assert "readinessProbe" in container()
    assert by_kind("Service")["spec"]["publishNotReadyAddresses"] is True


def test_unit_of_systemd_starts_a_command_that_exists() -> None:
    """SIGTERM must reach the program alone: it ends Spark and its threads itself."""
    unit = configparser.ConfigParser(strict=True, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read(ROOT / "deploy" / "systemd" / "penstock.service", encoding="utf-8")
    program, *words = shlex.split(unit["Service"]["ExecStart"])
    assert Path(program).name == "penstock"
    assert wrong_in(words) is None
    assert unit["Service"]["KillMode"] == "mixed"
    state = next(word for word in words if word.startswith("state.dir="))
    assert state == f"state.dir=/var/lib/{unit['Service']['StateDirectory']}"
