// The entries of a store: all, one key, a range, a prefix, or windows of a span of time.
import { useEffect, useState } from "preact/hooks";
import { ApiError, get } from "../../lib/api";
import { inline, stamp } from "../../lib/format";
import { base, goneSince } from "../../lib/live";
import { go, link } from "../../lib/router";
import {
  isVersioned,
  isWindowed,
  keyText,
  rowId,
  type Page,
  type Row,
  type StoreInfo,
} from "../../lib/stores";
import { Empty, Loading, Problem, Scroll, Value } from "../../ui/parts";
import { chosenCommit } from "../stores";

const LIMIT = 50;
const AGAIN_MS = 2000;

interface Question {
  mode: "all" | "range" | "prefix";
  from: string;
  to: string;
  prefix: string;
  reverse: boolean;
}

const ALL: Question = { mode: "all", from: "", to: "", prefix: "", reverse: false };

export function EntriesView({ store }: { store: StoreInfo }) {
  const [question, setQuestion] = useState(ALL);
  return (
    <>
      <Ask store={store} question={question} set={setQuestion} />
      {isVersioned(store) ? (
        <Empty>
          A versioned store is asked for single keys: type one above, and see all its versions.
        </Empty>
      ) : (
        <Rows store={store} question={question} />
      )}
    </>
  );
}

function Ask(props: {
  store: StoreInfo;
  question: Question;
  set: (question: Question) => void;
}) {
  const { store, question, set } = props;
  const [key, setKey] = useState("");
  const look = (event: Event) => {
    event.preventDefault();
    if (key !== "") go(link("stores", [store.name], { key }));
  };
  const hint = store.key_form === "json" ? '"ann" or {"id": 7}' : store.key_form;
  return (
    <div class="ask">
      <form onSubmit={look} role="search">
        <input
          type="search"
          placeholder={`Key (${hint})`}
          aria-label={`Key, as ${hint}`}
          value={key}
          onInput={(event) => setKey(event.currentTarget.value)}
        />
        <button>Look up</button>
      </form>
      {!isVersioned(store) && (
        <form class="filters" onSubmit={(event) => event.preventDefault()}>
          <select
            aria-label="Which entries"
            value={question.mode}
            onChange={(event) =>
              set({ ...question, mode: event.currentTarget.value as Question["mode"] })
            }
          >
            <option value="all">all</option>
            <option value="range">from – to</option>
            {!isWindowed(store) && <option value="prefix">prefix</option>}
          </select>
          {question.mode === "range" && (
            <>
              <input
                aria-label="First key"
                placeholder="from"
                value={question.from}
                onChange={(event) => set({ ...question, from: event.currentTarget.value })}
              />
              <input
                aria-label="Last key"
                placeholder="to"
                value={question.to}
                onChange={(event) => set({ ...question, to: event.currentTarget.value })}
              />
            </>
          )}
          {question.mode === "prefix" && (
            <input
              aria-label="Beginning of the keys"
              placeholder="beginning"
              value={question.prefix}
              onInput={(event) => set({ ...question, prefix: event.currentTarget.value })}
            />
          )}
          <label>
            <input
              type="checkbox"
              checked={question.reverse}
              onChange={(event) => set({ ...question, reverse: event.currentTarget.checked })}
            />{" "}
            {isWindowed(store) ? "newest first" : "last first"}
          </label>
        </form>
      )}
    </div>
  );
}

function address(path: string, store: StoreInfo, question: Question, commit: number | null) {
  const query = new URLSearchParams({ limit: String(LIMIT) });
  if (question.mode === "range" && question.from) query.set("from", question.from);
  if (question.mode === "range" && question.to) query.set("to", question.to);
  if (question.mode === "prefix" && question.prefix) query.set("prefix", question.prefix);
  if (question.reverse) query.set("reverse", "true");
  if (commit !== null) query.set("commit", String(commit));
  return `${path}stores/${encodeURIComponent(store.name)}?${query}`;
}

function Rows({ store, question }: { store: StoreInfo; question: Question }) {
  const [pages, setPages] = useState<string[]>([]);
  const [shown, setShown] = useState<{ page: Page; commit: number | null } | null>(null);
  const [error, setError] = useState<unknown>(null);
  const path = base.value;
  const commit = chosenCommit.value;
  const first = address(path, store, question, commit);
  const current = pages.at(-1) ?? first;

  useEffect(() => setPages([]), [first]);
  useEffect(() => {
    const controller = new AbortController();
    let timer = 0;
    const ask = async () => {
      try {
        const page = await get<Page>(current, controller.signal);
        setShown({ page, commit });
        setError(null);
      } catch (failure) {
        if (controller.signal.aborted) return;
        setError(failure);
        if (failure instanceof ApiError && failure.status < 500) return;
      }
      // The past does not change. The present is read again, as long as somebody sees it.
      if (commit === null) timer = window.setTimeout(again, AGAIN_MS);
    };
    const again = () => (document.hidden ? (timer = window.setTimeout(again, AGAIN_MS)) : ask());
    // A slider that is dragged passes many commits.
    timer = window.setTimeout(ask, commit === null ? 0 : 80);
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, [current, goneSince.value === null]);

  if (!shown) return error ? <Problem error={error} /> : <Loading />;
  const { page } = shown;
  const stale = shown.commit !== commit;
  return (
    <>
      {error !== null && <Problem error={error} />}
      {page.past && page.past.unknown.length > 0 && (
        <p class="unknown note">
          Of {page.past.unknown.length} keys it is not known what they held then: they have changed
          since, and their older value was compacted away.
        </p>
      )}
      {page.rows.length === 0 && !page.truncated ? (
        <Empty>{commit === null ? "There are no entries." : "There were no entries."}</Empty>
      ) : (
        <Scroll label="Entries" class={stale ? "waiting" : ""}>
          <RowTable store={store} rows={page.rows} />
        </Scroll>
      )}
      <div class="pager">
        {pages.length > 0 && <button onClick={() => setPages(pages.slice(0, -1))}>Before</button>}
        {page.next && <button onClick={() => setPages([...pages, path + page.next!.replace(/^\//, "")])}>More</button>}
      </div>
    </>
  );
}

export function RowTable({ store, rows }: { store: StoreInfo; rows: Row[] }) {
  const windowed = isWindowed(store);
  const timed = rows.some((row) => row.timestamp !== undefined && row.timestamp !== null);
  return (
    <table class="entries">
      <thead>
        <tr>
          <th scope="col">Key</th>
          {windowed && <th scope="col">Window</th>}
          <th scope="col">Value</th>
          {timed && <th scope="col">Time</th>}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={rowId(row)}>
            <th scope="row">
              <a href={link("stores", [store.name], { key: keyText(store, row.key) })}>
                <code>{inline(row.key)}</code>
              </a>
            </th>
            {windowed && (
              <td class="time">
                {stamp(row.window_start ?? 0)}
                {row.window_end !== undefined && row.window_end !== null && (
                  <span class="note"> +{span((row.window_end ?? 0) - (row.window_start ?? 0))}</span>
                )}
              </td>
            )}
            <td>
              <Value value={row.value} />
            </td>
            {timed && <td class="time">{row.timestamp ? stamp(row.timestamp) : ""}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function span(ms: number): string {
  if (ms % 3_600_000 === 0) return `${ms / 3_600_000} h`;
  if (ms % 60_000 === 0) return `${ms / 60_000} min`;
  return ms % 1000 === 0 ? `${ms / 1000} s` : `${ms} ms`;
}
