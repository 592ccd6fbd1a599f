// Every store: look up, read ranges, go back to an earlier commit, compare two, follow changes.
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { get } from "../lib/api";
import { bytes, compact } from "../lib/format";
import { base, goneSince, status } from "../lib/live";
import { link, place } from "../lib/router";
import { kindOf, type CommitPoint, type StoreInfo } from "../lib/stores";
import { Empty, Loading, Problem, useAnswer } from "../ui/parts";
import { ChangesView } from "./stores/changes";
import { EntriesView } from "./stores/entries";
import { HotKeys } from "./stores/hot";
import { KeyPanel } from "./stores/key";
import { LiveView } from "./stores/feed";
import { CommitSlider } from "./stores/slider";

export const commits = signal<CommitPoint[]>([]);
/** The commit that is looked at; null is the present. */
export const chosenCommit = signal<number | null>(null);

const VIEWS = [
  ["entries", "Entries"],
  ["changes", "Difference"],
  ["live", "Live"],
  ["hot", "Hot keys"],
] as const;

export function StoresPage() {
  const path = base.value;
  const { value, error } = useAnswer(
    (signal) => get<{ stores: StoreInfo[] }>(`${path}stores`, signal),
    [path, goneSince.value === null, status.value?.state],
  );
  useCommits(path);
  if (!value) return error ? <div class="page"><Problem error={error} /></div> : <Loading />;
  if (value.stores.length === 0)
    return <Empty>This application has no stores: it keeps nothing between two records.</Empty>;
  const chosen = value.stores.find((store) => store.name === place.value.parts[0]);
  const shown = chosen ?? value.stores[0]!;
  return (
    <div class={`stores ${place.value.query.get("key") !== null ? "with-panel" : ""}`}>
      <StoreList stores={value.stores} chosen={shown} />
      <OneStore key={shown.name} store={shown} />
    </div>
  );
}

/** Ask for the commits every few seconds, but not while an earlier one is looked at. */
function useCommits(path: string) {
  useEffect(() => {
    const controller = new AbortController();
    const ask = async () => {
      if (chosenCommit.value !== null && commits.value.length > 0) return;
      try {
        const found = await get<{ commits: CommitPoint[] }>(`${path}commits`, controller.signal);
        commits.value = found.commits;
      } catch {
        // The strip above says that the application is gone.
      }
    };
    void ask();
    const timer = setInterval(ask, 2000);
    return () => {
      controller.abort();
      clearInterval(timer);
      chosenCommit.value = null;
    };
  }, [path]);
}

function StoreList({ stores, chosen }: { stores: StoreInfo[]; chosen: StoreInfo }) {
  const sizes = status.value?.stores ?? [];
  return (
    <nav class="store-list" aria-label="Stores">
      {stores.map((store) => {
        const own = sizes.filter((each) => each.name === store.name);
        const entries = own.reduce((sum, each) => sum + (each.entries ?? 0), 0);
        const size = own.reduce((sum, each) => sum + (each.size_bytes ?? 0), 0);
        return (
          <a
            key={store.name}
            href={link("stores", [store.name])}
            aria-current={store === chosen ? "true" : undefined}
          >
            <b>{store.name}</b>
            <span>
              {kindOf(store)}
              {store.is_global ? ", global" : ""}
              {own.length > 0 && ` · ≈${compact(entries)} · ${bytes(size)}`}
            </span>
          </a>
        );
      })}
    </nav>
  );
}

function OneStore({ store }: { store: StoreInfo }) {
  const [view, setView] = useState<string>("entries");
  const key = place.value.query.get("key");
  return (
    <>
      <div class="store">
        <header class="store-head">
          <div>
            <h2>{store.name}</h2>
            <p class="note">
              {kindOf(store)}, {store.is_global ? "global" : `${store.partitions} partitions`}, keys{" "}
              {store.key_serde.replace(/Serde$/, "")}, values{" "}
              {store.value_serde.replace(/Serde$/, "")}
            </p>
          </div>
          <div class="segments" role="group" aria-label="What is shown of the store">
            {VIEWS.map(([id, name]) => (
              <button key={id} aria-pressed={view === id} onClick={() => setView(id)}>
                {name}
              </button>
            ))}
          </div>
        </header>
        {view === "entries" && <CommitSlider />}
        {view === "entries" && <EntriesView store={store} />}
        {view === "changes" && <ChangesView store={store} />}
        {view === "live" && <LiveView store={store} />}
        {view === "hot" && <HotKeys store={store} />}
      </div>
      {key !== null && <KeyPanel key={key} store={store} text={key} />}
    </>
  );
}
