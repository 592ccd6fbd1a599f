"""Programs with processors that note what they see: their record, its position, time and stores.

``NOTES`` of ``island_programs`` has what all of them have noted, in their order.
"""

from __future__ import annotations

from typing import Any

import penstock as ps
from tests.properties.island_programs import Build, note, number, numbers


class Noting(ps.Processor[Any, Any, Any, Any]):
    """Notes everything that a processor may ask for."""

    name = "p"

    def note(self, record: Any, *what: Any) -> None:
        at, context = self.context.record_metadata, self.context
        where = None if at is None else (at.topic, at.partition, at.offset)
        note(self.name, record, where, context.current_stream_time_ms(), *what)

    def process(self, record: Any) -> None:
        self.note(record)
        self.context.forward(record)


class Totals(Noting):
    """Adds numbers up in a store, and forwards several records with times and headers changed."""

    def process(self, record: Any) -> None:
        store = self.context.get_state_store("totals")
        before = store.get(record.key or "none") or 0
        self.note(record, before)
        if record.value is None:
            store.delete(record.key or "none")
            return
        store.put(record.key or "none", before + 1)
        self.context.forward(record.with_value({"total": before}))
        later = record.with_timestamp(record.timestamp + 7_000).with_headers((("new", b"2"),))
        self.context.forward(later.with_value({"total": number(record.value)}))
        self.context.forward(record.with_key("all").with_value(None))


class Seen(ps.FixedKeyProcessor[Any, Any, Any]):
    """Lets a value through if its key has not come within ten seconds."""

    def process(self, record: Any) -> None:
        store, time = self.context.get_state_store("seen"), record.timestamp
        if record.key is None:
            return
        with store.fetch(record.key, max(0, time - 10_000), time + 10_000) as found:
            known = list(found)
        note("seen", record, known, self.context.current_stream_time_ms())
        store.put(record.key, record.value, time)
        if not known:
            self.context.forward(record)


def totals(*, is_cached: bool) -> Any:
    """A store; with a cache it is logged as well."""
    store = ps.Stores.key_value_store_builder(
        ps.Stores.persistent_key_value_store("totals"), ps.Serdes.string(), ps.Serdes.json()
    )
    return store.with_caching_enabled() if is_cached else store.with_logging_disabled()


def with_a_store(builder: ps.StreamsBuilder) -> None:
    """Columns in front and behind it; its function fails for some values."""
    builder.add_state_store(totals(is_cached=True))
    kept = numbers(builder).filter(ps.value.is_null() | (ps.col("n") != 1))
    kept.process(Totals, "totals").filter(ps.value.is_not_null()).to("out", value="json")


def before_windows(builder: ps.StreamsBuilder) -> None:
    """Times that it has changed decide about windows."""
    builder.add_state_store(totals(is_cached=False))
    stream = numbers(builder).process(Totals, "totals").group_by_key(key="string", value="json")
    windows = ps.TimeWindows.of_size_and_grace("10s", "5s")
    kept = ps.Materialized(name="counts", retention="60s")
    table = stream.windowed_by(windows).count(kept)
    starts = table.to_stream(lambda windowed, _: str(windowed.start))
    starts.to("windows", key="string", value="long")


def of_values(builder: ps.StreamsBuilder) -> None:
    """A window store, and a function that may do anything next to the processor."""
    store = ps.Stores.persistent_window_store("seen", "30s", "10s")
    builder.add_state_store(
        ps.Stores.window_store_builder(store, ps.Serdes.string(), ps.Serdes.json())
    )
    stream = numbers(builder).flat_map_values(lambda value: [value, value])
    noted = stream.process_values(Seen, "seen").peek(lambda key, value: note("peek", key, value))
    noted.to("out")
    stream.peek(lambda key, value: note("other", key)).to("other")


class Through(Noting):
    """Goes on after what it calls has failed."""

    name = "through"

    def process(self, record: Any) -> None:
        self.note(record)
        if record.value is not None:
            self.context.forward(record)
            self.note(record, "went on")
        self.context.forward(record.with_key("more"))


class Failing(Noting):
    """Fails for values without a number."""

    name = "failing"

    def process(self, record: Any) -> None:
        self.note(record, number(record.value))
        self.context.forward(record.with_value(number(record.value)))


class Last(Noting):
    name = "last"


def of_two_inputs(builder: ps.StreamsBuilder) -> None:
    """They take turns by time, and see the stream time of both."""
    builder.add_state_store(totals(is_cached=True))
    right = numbers(builder, "table").filter(ps.value.is_not_null()).process(Last)
    numbers(builder).process(Totals, "totals").merge(right).to("out", value="json")


def beside_another_input(builder: ps.StreamsBuilder) -> None:
    """Records that no processor gets move its stream time."""
    rows = builder.table("table", materialized="rows", key="string", value="json")
    numbers(builder).process(Last).left_join(rows, lambda one, other: [one, other]).to("out")


def behind_a_cache(builder: ps.StreamsBuilder) -> None:
    """It sees records when the cache is flushed, with the position of each key's last one."""
    table = numbers(builder).filter(ps.value.is_not_null()).group_by_key().count("counts")
    table.to_stream().process(Last).to("out", key="string", value="long")


def behind_a_table(builder: ps.StreamsBuilder) -> None:
    """Without a cache it sees them in between."""
    kept = numbers(builder).filter(ps.value.is_not_null()).group_by_key()
    table = kept.count(ps.Materialized(name="counts", caching=False))
    table.to_stream().process(Last).to("out", key="string", value="long")


def calling_others(builder: ps.StreamsBuilder) -> None:
    """Functions fail behind others that go on afterwards.

    The handler is asked after them, so what they note comes in another order.
    """

    def twice(key: Any, value: Any) -> Any:
        note("twice", key, value)
        return [(key, value), (key, 1), (key, {"n": 2})]

    stream = numbers(builder).flat_map(twice).process(Through).process(Failing)
    stream.to("out")


class Scheduling(Noting):
    """Asks for calls by stream time at its third record."""

    count = 0

    def process(self, record: Any) -> None:
        self.count += 1
        if self.count == 3:
            kind = ps.PunctuationType.STREAM_TIME
            self.context.schedule("5s", kind, lambda time: self.tick(time))
        self.note(record)
        self.context.forward(record)

    def tick(self, time: int) -> None:
        note("tick", time, self.context.current_stream_time_ms(), self.context.record_metadata)
        self.context.forward(ps.Record("tick", {"n": time}, time))


def scheduling_late(builder: ps.StreamsBuilder) -> None:
    numbers(builder).filter(ps.value.is_not_null()).process(Scheduling).to("out")


#: All of them run over columns, with processors in between.
PROCESSOR_PROGRAMS: list[Build] = [
    with_a_store, before_windows, of_values, of_two_inputs, beside_another_input, behind_a_cache,
    behind_a_table, scheduling_late,
]  # fmt: skip
