// The queries of a server: what each does, its failures, and the way to its own pages.
import { useEffect, useRef, useState } from "preact/hooks";
import { get } from "../lib/api";
import { clock, compact } from "../lib/format";
import { about } from "../lib/live";
import { link } from "../lib/router";
import { execute } from "../lib/sql";
import { Badge, Empty, Loading, Panel, Problem } from "../ui/parts";

interface Query {
  id: string;
  statement: string;
  sources: string[];
  sinks: string[];
  status: "RUNNING" | "PAUSED" | "ERROR";
  runs_here: boolean;
  state: string | null;
  waiting: string | null;
  records: number;
  lag: number | null;
  failures: { at_ms: number; message: string; kind: string }[];
}

interface Push {
  id: string;
  queryString: string;
}

const AGAIN_MS = 2000;
const TONES = { RUNNING: "good", PAUSED: "warn", ERROR: "bad" } as const;

export function QueriesPage() {
  const [queries, setQueries] = useState<Query[] | null>(null);
  const [pushes, setPushes] = useState<Push[]>([]);
  const [error, setError] = useState<unknown>(null);
  const [turn, setTurn] = useState(0);
  const rates = useRates(queries);
  const mayWrite = about.value?.access !== "read";

  useEffect(() => {
    const controller = new AbortController();
    const ask = async () => {
      try {
        const found = await get<{ applications: Query[] }>("applications", controller.signal);
        setQueries(found.applications);
        const [shown] = await execute("SHOW QUERIES;", {}, controller.signal);
        const all = (shown?.["queries"] ?? []) as (Push & { queryType: string })[];
        setPushes(all.filter((each) => each.queryType === "PUSH"));
        setError(null);
      } catch (failure) {
        if (!controller.signal.aborted) setError(failure);
      }
    };
    void ask();
    const timer = setInterval(() => document.hidden || ask(), AGAIN_MS);
    return () => {
      controller.abort();
      clearInterval(timer);
    };
  }, [turn]);

  const act = async (statement: string) => {
    try {
      await execute(statement, {});
      setTurn((before) => before + 1);
    } catch (failure) {
      setError(failure);
    }
  };

  if (!queries) return error ? <div class="page"><Problem error={error} /></div> : <Loading />;
  return (
    <div class="page">
      <Problem error={error} />
      {queries.length === 0 && (
        <Panel>
          <Empty>
            No query runs. A statement such as CREATE TABLE … AS SELECT on the page SQL starts one.
          </Empty>
        </Panel>
      )}
      {queries.map((query) => (
        <OneQuery
          key={query.id}
          query={query}
          rate={rates.get(query.id) ?? 0}
          act={mayWrite ? act : null}
        />
      ))}
      {pushes.length > 0 && (
        <Panel title="Push queries" note="of clients that read as it happens">
          <ul class="rows instances">
            {pushes.map((push) => (
              <li key={push.id}>
                <code>{push.queryString}</code>
                <span class="note">{push.id}</span>
                {mayWrite && <button onClick={() => act(`TERMINATE ${push.id};`)}>End</button>}
              </li>
            ))}
          </ul>
        </Panel>
      )}
    </div>
  );
}

/** Records a second of each query, from the last two answers. */
function useRates(queries: Query[] | null): Map<string, number> {
  const before = useRef<{ at: number; records: Map<string, number> } | null>(null);
  const rates = useRef(new Map<string, number>());
  const seen = useRef<Query[] | null>(null);
  if (queries && queries !== seen.current) {
    const at = Date.now();
    const records = new Map(queries.map((each) => [each.id, each.records]));
    const last = before.current;
    if (last && at > last.at)
      for (const [id, count] of records) {
        const rate = ((count - (last.records.get(id) ?? count)) * 1000) / (at - last.at);
        rates.current.set(id, Math.max(rate, 0));
      }
    before.current = { at, records };
    seen.current = queries;
  }
  return rates.current;
}

function OneQuery(props: {
  query: Query;
  rate: number;
  act: ((statement: string) => Promise<void>) | null;
}) {
  const { query, rate, act } = props;
  const [asks, setAsks] = useState(false);
  const last = query.failures.at(-1);
  const tone = query.waiting ? "warn" : TONES[query.status];
  return (
    <section class="panel query" aria-label={query.id}>
      <header>
        <h2>
          {query.runs_here ? (
            <a href={link("now", [], {}, query.id)}>{query.id}</a>
          ) : (
            query.id
          )}
        </h2>
        <Badge tone={tone}>{query.waiting ? "waiting" : query.status.toLowerCase()}</Badge>
        <span class="note">
          {query.sources.join(", ")} → {query.sinks.join(", ") || "nothing"}
        </span>
        <dl class="facts">
          <div>
            <dt>records/s</dt>
            <dd>{compact(rate)}</dd>
          </div>
          <div>
            <dt>waiting</dt>
            <dd>{compact(query.lag)}</dd>
          </div>
          <div>
            <dt>so far</dt>
            <dd>{compact(query.records)}</dd>
          </div>
        </dl>
      </header>
      <pre class="text">{query.statement}</pre>
      {query.waiting && <p>It waits: {query.waiting}</p>}
      {last && (
        <details open={query.status === "ERROR"}>
          <summary>
            {query.failures.length} failures, the last one {clock(last.at_ms)}{" "}
            <Badge tone="bad">{last.kind.toLowerCase()}</Badge>
          </summary>
          <pre class="text">{last.message}</pre>
        </details>
      )}
      <p class="links">
        {query.runs_here && (
          <>
            <a href={link("topology", [], {}, query.id)}>Topology</a>
            <a href={link("stores", [], {}, query.id)}>Stores</a>
            <a href={link("tasks", [], {}, query.id)}>Tasks</a>
          </>
        )}
        {!query.runs_here && <span class="note">Another server runs it.</span>}
        {act && query.status === "PAUSED" && (
          <button onClick={() => act(`RESUME ${query.id};`)}>Resume</button>
        )}
        {act && query.status === "ERROR" && (
          <button onClick={() => act(`RESUME ${query.id};`)}>Start again now</button>
        )}
        {act && query.status === "RUNNING" && (
          <button onClick={() => act(`PAUSE ${query.id};`)}>Pause</button>
        )}
        {act &&
          (asks ? (
            <>
              <span>Terminate it, and delete its state?</span>
              <button class="danger" onClick={() => act(`TERMINATE ${query.id};`)}>
                Terminate
              </button>
              <button onClick={() => setAsks(false)}>Keep it</button>
            </>
          ) : (
            <button class="danger" onClick={() => setAsks(true)}>
              Terminate…
            </button>
          ))}
      </p>
    </section>
  );
}
