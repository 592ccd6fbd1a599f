// Changes as they happen: of a whole store, or of one key.
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, events } from "../../lib/api";
import { inline, stamp } from "../../lib/format";
import { base } from "../../lib/live";
import { link } from "../../lib/router";
import { isWindowed, keyText, type Change, type StoreInfo } from "../../lib/stores";
import { Empty, Problem, Scroll, Value } from "../../ui/parts";

const KEPT = 200;

interface Feed {
  changes: Change[];
  seen: number;
  failure: unknown;
}

/** The newest changes of a store, newest first; `keeps` chooses among them. */
export function useFeed(store: StoreInfo, keeps: (change: Change) => boolean, runs = true): Feed {
  const [feed, setFeed] = useState<Feed>({ changes: [], seen: 0, failure: null });
  const path = base.value;
  const choose = useRef(keeps);
  choose.current = keeps;
  useEffect(() => {
    if (!runs) return;
    const controller = new AbortController();
    let waiting: Change[] = [];
    let seen = 0;
    // A store may change thousands of times a second; the page is drawn a few times.
    const timer = setInterval(() => {
      if (waiting.length === 0) return;
      const [taken, count] = [waiting.reverse(), seen];
      waiting = [];
      seen = 0;
      setFeed((before) => ({
        changes: [...taken, ...before.changes].slice(0, KEPT),
        seen: before.seen + count,
        failure: null,
      }));
    }, 250);
    void follow();
    return () => {
      clearInterval(timer);
      controller.abort();
    };

    async function follow() {
      let since = "";
      while (!controller.signal.aborted) {
        try {
          const query = since ? `?since=${encodeURIComponent(since)}` : "";
          const address = `${path}feeds/${encodeURIComponent(store.name)}${query}`;
          for await (const event of events(address, controller.signal)) {
            if (event.id) since = event.id;
            if (event.kind !== "change") continue;
            const change = JSON.parse(event.data) as Change;
            seen += 1;
            if (choose.current(change)) waiting = [...waiting, change].slice(-KEPT);
          }
        } catch (failure) {
          if (controller.signal.aborted) return;
          setFeed((before) => ({ ...before, failure }));
          if (failure instanceof ApiError && failure.status < 500) return;
        }
        await new Promise((done) => setTimeout(done, 1500));
      }
    }
  }, [path, store.name, runs]);
  return feed;
}

export function LiveView({ store }: { store: StoreInfo }) {
  const [search, setSearch] = useState("");
  const [paused, setPaused] = useState(false);
  const feed = useFeed(store, (change) => !search || inline(change.key).includes(search), !paused);
  return (
    <>
      <div class="ask">
        <input
          type="search"
          placeholder="Only keys that contain"
          aria-label="Only keys that contain"
          value={search}
          onInput={(event) => setSearch(event.currentTarget.value)}
        />
        <button onClick={() => setPaused(!paused)} aria-pressed={paused}>
          {paused ? "Go on" : "Pause"}
        </button>
        <span class="note">{feed.seen.toLocaleString("en")} changes since you opened this</span>
      </div>
      <Problem error={feed.failure} />
      {feed.changes.length === 0 && !feed.failure ? (
        <Empty>Waiting for the next change…</Empty>
      ) : (
        <Scroll label="Changes">
          <table class="entries">
            <thead>
              <tr>
                <th scope="col">Key</th>
                {isWindowed(store) && <th scope="col">Window</th>}
                <th scope="col">New value</th>
                <th scope="col">Time</th>
                <th scope="col" class="number">
                  Partition
                </th>
              </tr>
            </thead>
            <tbody>
              {feed.changes.map((change) => (
                <tr key={`${change.partition}-${change.offset}`}>
                  <th scope="row">
                    <a href={link("stores", [store.name], { key: keyText(store, change.key) })}>
                      <code>{inline(change.key)}</code>
                    </a>
                  </th>
                  {isWindowed(store) && <td class="time">{stamp(change.window_start ?? 0)}</td>}
                  <td>
                    {change.value === null ? (
                      <span class="null">deleted</span>
                    ) : (
                      <Value value={change.value} />
                    )}
                  </td>
                  <td class="time">{change.timestamp ? stamp(change.timestamp) : ""}</td>
                  <td class="number">{change.partition}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </>
  );
}
