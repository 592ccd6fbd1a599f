"""Starts a broker's Java process in its folder and waits until it answers."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import weakref
from contextlib import suppress
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from penstock.kafka.broker_folder import BrokerFolder
from penstock.kafka.broker_listener import HOST
from penstock.kafka.class_archive import JAVA_OPTIONS, class_options
from penstock.kafka.distribution import Distribution
from penstock.kafka.errors import BrokerError
from penstock.kafka.java import Java
from penstock.kafka.machine import environment
from penstock.kafka.processes import watchdog
from penstock.kafka.processes.process_folder import ProcessFolder

#: A start takes seconds, and minutes on a machine whose processors are taken.
_START_TIMEOUT_S = 180.0


def java_command(java: Java, distribution: Distribution, folder: BrokerFolder) -> list[str]:
    """Return the command line of the broker that ``folder`` was prepared for."""
    return [
        str(java.executable), *JAVA_OPTIONS, *class_options(java, distribution, folder),
        "-Djava.awt.headless=true",
        f"-Djava.io.tmpdir={folder.root / 'tmp'}",
        "-Dorg.slf4j.simpleLogger.showDateTime=true",
        "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss.SSS",
        "-cp", distribution.class_path, "kafka.Kafka", str(folder.properties),
    ]  # fmt: skip


def launch_owned(
    command: list[str], folder: ProcessFolder, lock: int, *, is_scratch: bool
) -> subprocess.Popen[bytes]:
    """Start a process under a watchdog, and return the watchdog.

    The process ends when the standard input of the watchdog is closed.
    """
    parent = [
        sys.executable, "-I", "-S", str(Path(watchdog.__file__)), str(os.getpid()), str(lock),
        str(folder.pid_file), str(folder.root) if is_scratch else "",
    ]  # fmt: skip
    started = _launch([*parent, *command], folder, lock, stdin=subprocess.PIPE)
    _owned.add(started)
    return started


def end_owned(process: subprocess.Popen[bytes], patience_s: float) -> bool:
    """Close the input of a watchdog, so that it stops what it watches and ends.

    Return false if it did not end in time and was killed: what it watched may still run then.
    """
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(patience_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return False
    return True


def launch_detached(
    command: list[str], folder: ProcessFolder, lock: int
) -> subprocess.Popen[bytes]:
    """Start a process without a watchdog: it runs until it is stopped."""
    process = _launch(command, folder, lock, stdin=subprocess.DEVNULL)
    folder.pid_file.write_text(str(process.pid), encoding="utf-8")
    return process


def _launch(
    command: list[str], folder: ProcessFolder, lock: int, *, stdin: int
) -> subprocess.Popen[bytes]:
    with open(folder.log, "ab") as log:
        return subprocess.Popen(
            command,
            env=environment(),
            stdin=stdin,
            stdout=log,
            stderr=log,
            cwd=folder.root,
            pass_fds=(lock,),
            # A session of its own: Ctrl-C in the terminal must reach only the owner.
            start_new_session=True,
        )


def wait_until_ready(process: subprocess.Popen[bytes], folder: BrokerFolder) -> None:
    """Return when the broker has answered a client.

    Raises:
        BrokerError: ``broker-failed`` or ``broker-slow``, with the end of the broker's log.
    """
    deadline = time.monotonic() + _START_TIMEOUT_S
    port, internal = folder.port, folder.internal_port
    assert port is not None
    assert internal is not None
    while not (_is_listening(internal) and _is_listening(port)):
        _check_alive(process, folder)
        _check_time(deadline, folder)
        time.sleep(0.03)
    while not answers(f"{HOST}:{internal}"):
        _check_alive(process, folder)
        _check_time(deadline, folder)


def answers(bootstrap: str, timeout_s: float = 5.0) -> bool:
    """Return whether the broker at this address is ready."""
    # Otherwise librdkafka writes every refused connection to standard error.
    client = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    try:
        return bool(client.list_topics(timeout=timeout_s).brokers)
    except KafkaException:
        return False


def _is_listening(port: int) -> bool:
    try:
        socket.create_connection((HOST, port), timeout=1).close()
    except OSError:
        return False
    return True


def _check_alive(process: subprocess.Popen[bytes], folder: BrokerFolder) -> None:
    if process.poll() is None:
        return
    raise BrokerError(
        "broker-failed",
        f"the broker ended with status {process.returncode} while starting;"
        f" the end of {str(folder.log)!r}:\n{folder.log_tail()}",
        fix="correct what the log complains about, or start with a new folder",
    )


def _check_time(deadline: float, folder: BrokerFolder) -> None:
    if time.monotonic() < deadline:
        return
    raise BrokerError(
        "broker-slow",
        f"the broker did not answer within {_START_TIMEOUT_S:.0f} s;"
        f" the end of {str(folder.log)!r}:\n{folder.log_tail()}",
        fix="this machine may be out of memory or processor time: stop other programs, then start"
        " again",
    )


#: The watchdogs that this process has started.
_owned: weakref.WeakSet[subprocess.Popen[bytes]] = weakref.WeakSet()


def _let_go_in_child() -> None:
    """Close the copies of the pipes in a forked child, so that the parent's end is noticed."""
    for each in list(_owned):
        if each.stdin is not None:
            with suppress(OSError):
                each.stdin.close()


os.register_at_fork(after_in_child=_let_go_in_child)
