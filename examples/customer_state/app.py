"""Customer state: what is known of a customer, asked for by key wherever it is.

``streams.query_metadata_for_key`` names the instance that has a customer; over HTTP nobody needs to
know: an instance that is asked forwards the question (``/metadata/customers/customer-456`` says
where to). Values are JSON in the answer, as they are in the store.
"""

import json
import os
import urllib.request
from dataclasses import dataclass, replace
from typing import Any

from penstock import KafkaStreams, StreamsBuilder, Topology

SERVER = f"localhost:{os.environ.get('PORT', '8080')}"

config = {"application.id": "customer-state", "application.server": SERVER}


@dataclass(frozen=True)
class Event:
    kind: str
    amount: float = 0.0


@dataclass(frozen=True)
class CustomerState:
    orders: int = 0
    spent: float = 0.0
    open_complaints: int = 0

    def after(self, event: Event) -> "CustomerState":
        match event.kind:
            case "ordered":
                return replace(self, orders=self.orders + 1, spent=self.spent + event.amount)
            case "complained":
                return replace(self, open_complaints=self.open_complaints + 1)
            case "was helped":
                return replace(self, open_complaints=self.open_complaints - 1)
            case _:
                return self


def build() -> Topology:
    builder = StreamsBuilder()
    builder.stream("customer-events", value=Event).group_by_key().aggregate(
        CustomerState,
        lambda _, event, state: state.after(event),
        "customers",
        value=CustomerState,
    )
    return builder.build()


def ask(path: str, server: str = SERVER) -> Any:
    with urllib.request.urlopen(f"http://{server}{path}", timeout=30) as answer:
        return json.load(answer)


def show(streams: KafkaStreams) -> None:
    customer = "customer-456"
    place = streams.query_metadata_for_key("customers", customer)
    print(f"{customer} is in partition {place.partition}, at {place.active_host}")
    print(ask(f"/stores/customers/{customer}")["value"])
