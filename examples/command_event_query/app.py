"""Command, event, query: three ways for one program to have to do with another.

| | who hears it | side effect | answer |
|---|---|---|---|
| command: "transfer 20 to bob" | one service | yes, or it is refused | a reply, yes or no |
| event: "20 were transferred" | whoever is interested | none at the sender | none |
| query: "how much has ann?" | one service | none | always |

Here the command is a record with a reply, the event a record that two others read without the
account service knowing, and the query a look at a store.
"""

from dataclasses import dataclass

from penstock import KafkaStreams, Processor, ProcessorContext, Record, Stores, StoreSpec, Topology

config = {"application.id": "command-event-query"}


@dataclass(frozen=True)
class Transfer:
    """A command. All accounts of one branch have the branch as key, so one task has them."""

    transfer_id: str
    source: str
    target: str
    amount: int


@dataclass(frozen=True)
class Reply:
    transfer_id: str
    is_done: bool
    why: str = ""


@dataclass(frozen=True)
class Transferred:
    """An event: it has happened, and nobody can refuse it any more."""

    source: str
    target: str
    amount: int


class Accounts(Processor[str, Transfer, str, Reply | Transferred]):
    @staticmethod
    def stores() -> list[StoreSpec]:
        balances = Stores.persistent_key_value_store("balances")
        return [Stores.key_value_store_builder(balances, str, int)]

    def init(self, context: ProcessorContext[str, Reply | Transferred]) -> None:
        self.balances = context.get_state_store("balances")

    def process(self, record: Record[str, Transfer]) -> None:
        command = record.value
        has = self.balance(record.key, command.source)
        # Money enters the branch through an account that may be overdrawn.
        if command.source != "vault" and has < command.amount:
            reply = Reply(command.transfer_id, is_done=False, why=f"{command.source} has {has}")
            self.context.forward(record.with_value(reply), child="replies")
            return
        self.add(record.key, command.source, -command.amount)
        self.add(record.key, command.target, command.amount)
        reply = Reply(command.transfer_id, is_done=True)
        event = Transferred(command.source, command.target, command.amount)
        self.context.forward(record.with_value(reply), child="replies")
        self.context.forward(record.with_value(event), child="events")

    def balance(self, branch: str, account: str) -> int:
        return self.balances.get(f"{branch}/{account}") or 0

    def add(self, branch: str, account: str, amount: int) -> None:
        self.balances.put(f"{branch}/{account}", self.balance(branch, account) + amount)


def large(record: Record[str, Transferred]) -> Record[str, Transferred] | None:
    """A subscriber: the compliance department. The account service does not know it."""
    return record if record.value.amount >= 500 else None


def letter(record: Record[str, Transferred]) -> Record[str, str]:
    """Another one: letters to those who got money."""
    event = record.value
    return record.with_value(f"Dear {event.target}, you got {event.amount} from {event.source}.")


def build() -> Topology:
    return (
        Topology()
        .add_source("commands", "transfer-commands", value=Transfer)
        .add_processor("accounts", Accounts, "commands")
        .add_sink("replies", "transfer-replies", "accounts", value=Reply)
        .add_sink("events", "transfers", "accounts", value=Transferred)
        .add_source("compliance-in", "transfers", value=Transferred)
        .add_processor("compliance", large, "compliance-in")
        .add_sink("compliance-out", "large-transfers", "compliance", value=Transferred)
        .add_processor("letters", letter, "compliance-in")
        .add_sink("letters-out", "letters", "letters")
    )


def show(streams: KafkaStreams) -> None:
    for account, balance in sorted(streams.store("balances").all()):
        print(f"query: {account} has {balance}")
