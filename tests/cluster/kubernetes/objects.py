"""The objects of a Kubernetes API server in memory, with versions, selectors and watchers."""

from __future__ import annotations

import copy
import queue
import threading
import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

#: One object as Kubernetes writes it.
Object = dict[str, Any]
#: The plural of a kind, its namespace and its name.
Key = tuple[str, str, str]


class Objects:
    """All objects of the server. Every change has a new version and reaches all watchers."""

    def __init__(self) -> None:
        self._objects: dict[Key, Object] = {}
        self._lock = threading.RLock()
        self._version = 1
        self._watchers: list[tuple[Callable[[Key, Object], bool], queue.SimpleQueue[Object]]] = []

    def create(self, kind: str, namespace: str, given: Object) -> Object | None:
        """Store a new object; None if there is one of this name."""
        made = copy.deepcopy(given)
        metadata = made.setdefault("metadata", {})
        key = kind, namespace, metadata["name"]
        with self._lock:
            if key in self._objects:
                return None
            metadata |= {"namespace": namespace, "uid": str(uuid4()), "creationTimestamp": now()}
            if kind == "pods":
                made["status"] = {"phase": "Pending"}
            return self._put(key, made, "ADDED")

    def get(self, key: Key) -> Object | None:
        with self._lock:
            return copy.deepcopy(self._objects.get(key))

    def list(self, kind: str, namespace: str, selector: str = "") -> tuple[list[Object], str]:
        """Return the objects with the labels of a selector, and the version of the list."""
        with self._lock:
            found = [
                copy.deepcopy(each)
                for key, each in self._objects.items()
                if key[:2] == (kind, namespace) and matches(each, selector)
            ]
            return found, str(self._version)

    def change(self, key: Key, edit: Callable[[Object], None]) -> Object | None:
        """Edit an object in place; None if it does not exist."""
        with self._lock:
            found = self._objects.get(key)
            if found is None:
                return None
            edit(found)
            return self._put(key, found, "MODIFIED")

    def delete(self, key: Key) -> Object | None:
        with self._lock:
            found = self._objects.pop(key, None)
            if found is not None:
                self._version += 1
                self._tell(key, found, "DELETED")
            return found

    def watch(self, kind: str, namespace: str, selector: str) -> queue.SimpleQueue[Object]:
        """Return a queue that receives every change from now on."""
        events: queue.SimpleQueue[Object] = queue.SimpleQueue()
        with self._lock:
            self._watchers.append(
                (
                    lambda key, each: key[:2] == (kind, namespace) and matches(each, selector),
                    events,
                )
            )
        return events

    def _put(self, key: Key, value: Object, event: str) -> Object:
        self._version += 1
        value["metadata"]["resourceVersion"] = str(self._version)
        self._objects[key] = value
        self._tell(key, value, event)
        return copy.deepcopy(value)

    def _tell(self, key: Key, value: Object, event: str) -> None:
        for is_wanted, events in self._watchers:
            if is_wanted(key, value):
                events.put({"type": event, "object": copy.deepcopy(value)})


def matches(value: Object, selector: str) -> bool:
    """Whether an object has the labels that a selector asks for, such as ``a=b,c!=d``."""
    labels = value["metadata"].get("labels", {})
    return all(_has(labels, term.strip()) for term in selector.split(",") if term.strip())


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def apply_patch(value: Object, operations: list[Object]) -> None:
    """Apply a JSON patch to an object."""
    for each in operations:
        *path, last = [
            part.replace("~1", "/").replace("~0", "~") for part in each["path"].split("/")[1:]
        ]
        place: Any = value
        for part in path:
            place = place[int(part)] if isinstance(place, list) else place.setdefault(part, {})
        if each["op"] == "remove":
            place.pop(last, None)
        else:
            place[last] = each["value"]


def merge(value: Object, given: Object) -> None:
    """Merge a partial object into an object; null removes."""
    for name, part in given.items():
        if part is None:
            value.pop(name, None)
        elif isinstance(part, dict):
            merge(value.setdefault(name, {}), part)
        else:
            value[name] = part


def _has(labels: dict[str, str], term: str) -> bool:
    if "!=" in term:
        name, _, wanted = term.partition("!=")
        return labels.get(name.strip()) != wanted.strip()
    name, _, wanted = term.replace("==", "=").partition("=")
    return labels.get(name.strip()) == wanted.strip() if wanted else name in labels
