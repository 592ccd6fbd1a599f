"""Event sourcing with separate reads: commands are checked, events are kept, views are read.

    library-commands ─▶ write side ─▶ library-events ─▶ read side: who has a book, how popular it is

The write side decides and keeps only what it needs for that. What happened is in the log
``library-events``. The read side makes views from it that are shaped for their readers: it can be
changed, and made again from the log, without the write side noticing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from penstock import (
    KafkaStreams,
    Processor,
    ProcessorContext,
    Record,
    Stores,
    StoreSpec,
    StreamsBuilder,
    Topology,
)

config = {"application.id": "cqrs"}


@dataclass(frozen=True)
class Command:
    """Lend or take back a book; the key is the book."""

    action: str
    reader: str


@dataclass(frozen=True)
class Event:
    kind: str
    reader: str

    @property
    def sign(self) -> str:
        return "+" if self.kind == "lent" else "-"


class Decide(Processor[str, Command, str, Event]):
    """Turns a command into an event, or into nothing if it is not possible."""

    @staticmethod
    def stores() -> list[StoreSpec]:
        lent = Stores.persistent_key_value_store("lent-to")
        return [Stores.key_value_store_builder(lent, str, str)]

    def init(self, context: ProcessorContext[str, Event]) -> None:
        self.lent_to = context.get_state_store("lent-to")

    def process(self, record: Record[str, Command]) -> None:
        command, holder = record.value, self.lent_to.get(record.key)
        if command.action == "lend" and holder is None:
            self.lent_to.put(record.key, command.reader)
            self.context.forward(record.with_value(Event("lent", command.reader)))
        elif command.action == "return" and holder == command.reader:
            self.lent_to.delete(record.key)
            self.context.forward(record.with_value(Event("returned", command.reader)))


def write_side(builder: StreamsBuilder) -> None:
    (
        builder.stream("library-commands", value=Command, name="commands")
        .process(Decide, name="decide")
        .to("library-events", value=Event, name="events")
    )


def read_side(builder: StreamsBuilder) -> None:
    events = builder.stream("library-events", value=Event, name="events-in")
    # Who reads what: the key is the reader, because that is what the desk asks for.
    (
        events.map(lambda book, event: (event.reader, event.sign + book))
        .group_by_key(name="by-reader", key=str, value=str)
        .aggregate(
            frozenset,
            lambda _, change, books: (
                books | {change[1:]} if change[0] == "+" else books - {change[1:]}
            ),
            "books-of-reader",
            value=frozenset[str],
        )
    )
    # How often a book was lent, for the shelf at the entrance.
    events.filter(lambda _, event: event.kind == "lent").group_by_key().count("times-lent")


def build(*sides: Callable[[StreamsBuilder], None]) -> Topology:
    builder = StreamsBuilder()
    for side in sides or (write_side, read_side):
        side(builder)
    return builder.build()


read_side_alone = partial(build, read_side)
write_side_alone = partial(build, write_side)


def show(streams: KafkaStreams) -> None:
    for reader, books in sorted(streams.store("books-of-reader").all()):
        print(f"{reader} has {', '.join(sorted(books)) or 'no book'}")
    for book, times in sorted(streams.store("times-lent").all()):
        print(f"{book} was lent {times} times")
