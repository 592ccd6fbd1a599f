// One key: what it holds now or held at a commit, its windows on a time axis, how it came to that.
import { get } from "../../lib/api";
import { clock, inline, stamp } from "../../lib/format";
import { base, status } from "../../lib/live";
import { go, link } from "../../lib/router";
import {
  isVersioned,
  isWindowed,
  rowId,
  type KeyChange,
  type Page,
  type Row,
  type StoreInfo,
} from "../../lib/stores";
import { Icon } from "../../ui/icons";
import { Badge, Empty, Loading, Problem, Scroll, useAnswer, Value } from "../../ui/parts";
import { chosenCommit, commits } from "../stores";

interface Entry extends Row {
  source?: { partition: number; role: string; instance: string };
}

export function KeyPanel({ store, text }: { store: StoreInfo; text: string }) {
  const close = () => go(link("stores", [store.name]));
  const commit = chosenCommit.value;
  return (
    <aside class="node-panel key-panel" aria-label={`Key ${text}`}>
      <header>
        <div>
          <h2>
            <code>{text}</code>
          </h2>
          <span class="note">
            in {store.name}, {commit === null ? "now" : `as of commit ${commit}`}
          </span>
        </div>
        <button class="plain" onClick={close} aria-label="Close">
          <Icon name="close" size={18} />
        </button>
      </header>
      <Present store={store} text={text} />
      <History store={store} text={text} />
    </aside>
  );
}

function Present({ store, text }: { store: StoreInfo; text: string }) {
  const path = base.value;
  const commit = chosenCommit.value;
  const query = new URLSearchParams();
  if (commit !== null) query.set("commit", String(commit));
  if (isVersioned(store)) query.set("time_from", "0");
  const asked = `${path}stores/${encodeURIComponent(store.name)}/${encodeURIComponent(text)}?${query}`;
  // Asked again as often as the application commits, at most once a second.
  const turn = commit === null ? status.value?.totals.commits : 0;
  const { value, error } = useAnswer((signal) => get<Entry | Page>(asked, signal), [asked, turn]);
  if (error) return <Problem error={error} />;
  if (!value) return <Loading />;
  if ("rows" in value)
    return isVersioned(store) ? (
      <Versions rows={value.rows} />
    ) : (
      <Windows rows={value.rows} more={value.truncated} />
    );
  return (
    <section>
      <pre class="text">
        {typeof value.value === "string" ? value.value : JSON.stringify(value.value, null, 2)}
      </pre>
      <p class="note">
        {value.timestamp ? `Updated by a record of ${stamp(value.timestamp)}. ` : ""}
        {value.source && `Partition ${value.source.partition}, ${value.source.role}.`}
      </p>
    </section>
  );
}

function Versions({ rows }: { rows: Row[] }) {
  if (rows.length === 0) return <Empty>There is no version of it.</Empty>;
  return (
    <table class="entries">
      <thead>
        <tr>
          <th scope="col">Valid from</th>
          <th scope="col">to</th>
          <th scope="col">Value</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.timestamp}>
            <td class="time">{stamp(row.timestamp ?? 0)}</td>
            <td class="time">{row.valid_to ? stamp(row.valid_to) : "now"}</td>
            <td>
              <Value value={row.value} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Windows({ rows, more }: { rows: Row[]; more: boolean }) {
  if (rows.length === 0) return <Empty>There is no window of it.</Empty>;
  return (
    <section>
      <Axis rows={rows} />
      <Scroll label="Windows" class="tall">
        <table class="entries">
          <thead>
            <tr>
              <th scope="col">Window</th>
              <th scope="col">Value</th>
            </tr>
          </thead>
          <tbody>
            {[...rows].reverse().map((row) => (
              <tr key={rowId(row)}>
                <td class="time">{stamp(row.window_start ?? 0)}</td>
                <td>
                  <Value value={row.value} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {more && <p class="note">There are more windows than these.</p>}
    </section>
  );
}

const WIDTH = 360;
const HEIGHT = 76;

/** Windows or sessions where they lie in time; as high as their value, if that is a number. */
function Axis({ rows }: { rows: Row[] }) {
  const first = Math.min(...rows.map((row) => row.window_start ?? 0));
  const last = Math.max(...rows.map((row) => row.window_end ?? row.window_start ?? 0));
  const most = Math.max(...rows.map((row) => (typeof row.value === "number" ? row.value : 0)), 0);
  const scale = (at: number) => ((at - first) / Math.max(last - first, 1)) * WIDTH;
  return (
    <figure class="axis">
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={`${rows.length} windows from ${stamp(first)} to ${stamp(last)}`}
      >
        {rows.map((row) => {
          const from = scale(row.window_start ?? 0);
          const width = Math.max(scale(row.window_end ?? row.window_start ?? 0) - from - 1, 1.5);
          const share = typeof row.value === "number" && most > 0 ? row.value / most : 1;
          const height = Math.max(share * (HEIGHT - 4), 3);
          return (
            <rect key={rowId(row)} x={from} y={HEIGHT - height} width={width} height={height} rx="1.5">
              <title>{`${stamp(row.window_start ?? 0)}: ${inline(row.value)}`}</title>
            </rect>
          );
        })}
      </svg>
      <figcaption>
        <span>{clock(first)}</span>
        <span>{clock(last)}</span>
      </figcaption>
    </figure>
  );
}

function History({ store, text }: { store: StoreInfo; text: string }) {
  const path = base.value;
  const newest = commits.value.at(-1)?.number;
  const { value, error } = useAnswer(
    (signal) =>
      get<{ changes: KeyChange[]; is_whole: boolean }>(
        `${path}history/${encodeURIComponent(store.name)}/${encodeURIComponent(text)}?limit=30`,
        signal,
      ),
    [path, store.name, text, chosenCommit.value === null ? newest : 0],
  );
  if (store.is_global) return null;
  return (
    <section>
      <h3>How it came to that</h3>
      {error !== null && <Problem error={error} />}
      {!value && !error && <Loading />}
      {value && value.changes.length === 0 && (
        <Empty>{value.is_whole ? "It has never changed." : "Its changes are too far back."}</Empty>
      )}
      {value && value.changes.length > 0 && (
        <ol class="history">
          {value.changes.map((change) => (
            <li key={`${change.partition}-${change.offset}`}>
              <p>
                {change.commit !== undefined ? (
                  <button
                    class="link"
                    onClick={() => (chosenCommit.value = change.commit!)}
                    title="Show the whole store as of this commit"
                  >
                    commit {change.commit}
                  </button>
                ) : (
                  <span class="note">earlier</span>
                )}
                {isWindowed(store) && <span class="note">{stamp(change.window_start ?? 0)}</span>}
                {change.timestamp && <time class="note">{stamp(change.timestamp)}</time>}
              </p>
              {change.value === null ? <Badge tone="bad">deleted</Badge> : <Value value={change.value} />}
            </li>
          ))}
        </ol>
      )}
      {value && !value.is_whole && value.changes.length > 0 && (
        <p class="note">Older changes were compacted away, or are not looked for.</p>
      )}
    </section>
  );
}

