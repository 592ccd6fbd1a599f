"""User counts over HTTP: page views per user, and a server that answers while they are counted.

``application.server`` starts it. Any instance answers any key: one that does not own the key asks
the one that does.

    $ curl localhost:8080/stores/user-counts/user42
"""

import json
import os
import urllib.request
from typing import Any

from penstock import KafkaStreams, StreamsBuilder, Topology

SERVER = f"localhost:{os.environ.get('PORT', '8080')}"

config = {"application.id": "user-counts", "application.server": SERVER}


def build() -> Topology:
    builder = StreamsBuilder()
    (
        builder.stream("page-views")
        .group_by_key()
        .count("user-counts")
        .to_stream()
        .to("views-per-user")
    )
    return builder.build()


def ask(path: str, server: str = SERVER) -> Any:
    with urllib.request.urlopen(f"http://{server}{path}", timeout=30) as answer:
        return json.load(answer)


def show(streams: KafkaStreams) -> None:
    for user in ("user1", "user42"):
        answer = ask(f"/stores/user-counts/{user}")
        print(f"GET /stores/user-counts/{user}: {answer['value']}")
