"""Orchestration: one process manager tells services what to do, and takes back what failed.

The manager keeps a row for each order and sends commands; a service answers each command. If the
goods are not there after the payment, the manager has the payment refunded: the saga ends
compensated, and nobody has paid for nothing.

    order ─▶ pay ─paid─▶ reserve ─reserved─▶ completed
              │                 └no stock─▶ refund ─refunded─▶ compensated
              └declined─▶ cancelled
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from penstock import KafkaStreams, Processor, ProcessorContext, Record, Stores, StoreSpec, Topology

config = {"application.id": "order-saga"}


@dataclass(frozen=True)
class Order:
    order_id: str
    item: str
    amount: float


@dataclass(frozen=True)
class Command:
    order_id: str
    action: str
    item: str
    amount: float


@dataclass(frozen=True)
class Reply:
    order_id: str
    result: str


@dataclass(frozen=True)
class Saga:
    """One order under way: what was ordered, and how far it is."""

    order: Order
    state: str


#: What a reply means for a saga in a state: its next state, and the command to send, if any.
STEPS = {
    ("paying", "paid"): ("reserving", "reserve"),
    ("paying", "declined"): ("cancelled", None),
    ("reserving", "reserved"): ("completed", None),
    ("reserving", "no stock"): ("refunding", "refund"),
    ("refunding", "refunded"): ("compensated", None),
}


Received = Record[str, Order | Reply]


class ProcessManager(Processor[str, Order | Reply, str, Command | Saga]):
    """Orders and replies have the order's id as key, so one task has all of an order."""

    @staticmethod
    def stores() -> list[StoreSpec]:
        sagas = Stores.persistent_key_value_store("sagas")
        return [Stores.key_value_store_builder(sagas, str, Saga)]

    def init(self, context: ProcessorContext[str, Command | Saga]) -> None:
        self.sagas = context.get_state_store("sagas")

    def process(self, record: Record[str, Order | Reply]) -> None:
        if isinstance(record.value, Order):
            self.begin(record, record.value)
        else:
            self.go_on(record, record.value)

    def begin(self, record: Received, order: Order) -> None:
        # An order that is sent twice does not pay twice.
        if self.sagas.get(record.key) is None:
            self.move(record, Saga(order, "paying"), "pay")

    def go_on(self, record: Received, reply: Reply) -> None:
        saga = self.sagas.get(record.key)
        step = None if saga is None else STEPS.get((saga.state, reply.result))
        # A reply that does not fit the state came twice or too late; the state decides.
        if step is not None:
            self.move(record, replace(saga, state=step[0]), step[1])

    def move(self, record: Received, saga: Saga, action: str | None) -> None:
        self.sagas.put(record.key, saga)
        self.context.forward(record.with_value(saga), child="states")
        if action is not None:
            order = saga.order
            command = Command(order.order_id, action, order.item, order.amount)
            topic = "to-stock" if action == "reserve" else "to-payments"
            self.context.forward(record.with_value(command), child=topic)


def payments(command: Command) -> Reply:
    """A service on its own: it knows commands and replies, and no saga."""
    if command.action == "refund":
        return Reply(command.order_id, "refunded")
    return Reply(command.order_id, "paid" if command.amount <= 1_000 else "declined")


def stock(command: Command) -> Reply:
    return Reply(command.order_id, "no stock" if command.item == "unicorn" else "reserved")


def build() -> Topology:
    topology = Topology()
    topology.add_source("orders", "orders", value=Order)
    topology.add_source("replies", "replies", value=Reply)
    topology.add_processor("manager", ProcessManager, "orders", "replies")
    topology.add_sink("states", "saga-states", "manager", value=Saga)
    topology.add_sink("to-payments", "payment-commands", "manager", value=Command)
    topology.add_sink("to-stock", "stock-commands", "manager", value=Command)
    for name, service in (("payment", payments), ("stock", stock)):
        add_service(topology, name, service)
    return topology


def add_service(topology: Topology, name: str, service: Callable[[Command], Reply]) -> None:
    """The services could run elsewhere; they share topics with the manager, and nothing else."""
    topology.add_source(f"{name}-in", f"{name}-commands", value=Command)
    topology.add_processor(
        f"{name}-service", lambda record: record.with_value(service(record.value)), f"{name}-in"
    )
    topology.add_sink(f"{name}-out", "replies", f"{name}-service", value=Reply)


def show(streams: KafkaStreams) -> None:
    for order_id, saga in sorted(streams.store("sagas").all()):
        print(f"{order_id}: {saga.state}")
