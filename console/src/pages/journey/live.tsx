// The next records of a topic as threads process them: of one key, or one of so many.
import { useEffect, useState } from "preact/hooks";
import { ApiError, events } from "../../lib/api";
import { clock, inline, whole } from "../../lib/format";
import type { LiveTrace, LiveTraces } from "../../lib/journey";
import { base } from "../../lib/live";
import { Badge, Empty, Panel, Problem, Value } from "../../ui/parts";
import { Steps } from "./steps";

const KEPT = 40;
const SHARES = [1, 10, 100, 1000, 10_000];

/** What became of one record, in all tasks that it went through. */
interface Watched {
  id: string;
  at: number;
  parts: LiveTrace[];
}

interface Seen {
  records: Watched[];
  missed: number;
  failure: unknown;
}

const NOTHING: Seen = { records: [], missed: 0, failure: null };

/** The newest first; a part that comes later joins the record with which it began. */
function joined(before: Watched[], traces: LiveTrace[]): Watched[] {
  const found = [...before];
  for (const trace of traces) {
    const { topic, partition, offset } = trace.origin;
    const id = `${topic} ${partition}:${offset}`;
    const at = found.findIndex((each) => each.id === id);
    if (at < 0) found.unshift({ id, at: Date.now(), parts: [trace] });
    else found[at] = { ...found[at]!, parts: [...found[at]!.parts, trace].sort(bySubtopology) };
  }
  return found.slice(0, KEPT);
}

function bySubtopology(one: LiveTrace, other: LiveTrace): number {
  return parseInt(one.task) - parseInt(other.task);
}

/** Watches while there is a query; null ends it, and what was seen stays. */
function useTraces(topic: string, query: string | null): Seen {
  const [seen, setSeen] = useState<Seen>(NOTHING);
  const path = base.value;
  useEffect(() => {
    if (query === null) return;
    const controller = new AbortController();
    setSeen(NOTHING);
    void follow();
    return () => controller.abort();

    async function follow() {
      while (!controller.signal.aborted) {
        try {
          const address = `${path}journeys/${encodeURIComponent(topic)}/live?${query}`;
          for await (const event of events(address, controller.signal)) {
            if (event.kind === "traces") {
              const { traces, missed } = JSON.parse(event.data) as LiveTraces;
              setSeen((before) => ({
                records: joined(before.records, traces),
                missed: before.missed + missed,
                failure: null,
              }));
            } else if (event.kind === "failure") {
              const failure = new Error((JSON.parse(event.data) as { message: string }).message);
              setSeen((before) => ({ ...before, failure }));
            }
          }
        } catch (failure) {
          if (controller.signal.aborted) return;
          setSeen((before) => ({ ...before, failure }));
          if (failure instanceof ApiError && failure.status < 500) return;
        }
        await new Promise((done) => setTimeout(done, 1500));
      }
    }
  }, [path, topic, query]);
  return seen;
}

export function LivePanel({ topic }: { topic: string }) {
  const [key, setKey] = useState("");
  const [every, setEvery] = useState(1);
  const [query, setQuery] = useState<string | null>(null);
  const { records, missed, failure } = useTraces(topic, query);
  const watch = (event: Event) => {
    event.preventDefault();
    const given = new URLSearchParams(key ? { key } : {});
    if (every > 1) given.set("every", String(every));
    setQuery(given.toString());
  };
  return (
    <Panel
      title={`Watch the next records of ${topic}`}
      note="as threads process them; a task that meets one takes its records one by one meanwhile"
    >
      <form class="pick" onSubmit={watch}>
        <input
          placeholder="Key; empty for any"
          aria-label="Key of the records to watch"
          value={key}
          disabled={query !== null}
          onInput={(event) => setKey(event.currentTarget.value)}
        />
        <select
          aria-label="Share of the records"
          value={every}
          disabled={query !== null}
          onChange={(event) => setEvery(Number(event.currentTarget.value))}
        >
          {SHARES.map((share) => (
            <option key={share} value={share}>
              {share === 1 ? "each of them" : `one of ${whole(share)}`}
            </option>
          ))}
        </select>
        {/* Two elements: one that became the other during a click would submit the form. */}
        {query === null ? (
          <button key="watch" class="primary">
            Watch
          </button>
        ) : (
          <button key="stop" type="button" onClick={() => setQuery(null)}>
            Stop watching
          </button>
        )}
        {missed > 0 && <span class="note">{whole(missed)} more came and are not shown</span>}
      </form>
      <Problem error={failure} />
      {query !== null && records.length === 0 && !failure && (
        <Empty>Waiting for the next record…</Empty>
      )}
      <div class="watched" aria-live="polite">
        {records.map((record) => (
          <OneRecord key={record.id} record={record} />
        ))}
      </div>
    </Panel>
  );
}

function OneRecord({ record }: { record: Watched }) {
  const first = record.parts.find((part) => part.record !== null)?.record;
  const notes = [...new Set(record.parts.flatMap((part) => part.notes))];
  return (
    <details open>
      <summary>
        <code>{record.id}</code>
        {first && (
          <>
            {" "}
            <code>{inline(first.key)}</code> <Value value={first.value} />
          </>
        )}
        <span class="note">{clock(record.at)}</span>
      </summary>
      {record.parts.map((part, place) => (
        <section key={place} aria-label={`Task ${part.task}`}>
          <p class="note">
            <Badge>task {part.task}</Badge>
          </p>
          <Steps steps={part.steps} dropped={part.dropped} is_cut={part.is_cut} />
        </section>
      ))}
      {notes.map((note) => (
        <p class="note" key={note}>
          {note}
        </p>
      ))}
    </details>
  );
}
