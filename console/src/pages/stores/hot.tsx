// Which keys change most, and how large the partitions are: skew at a glance.
import { get } from "../../lib/api";
import { bytes, compact, inline, percent } from "../../lib/format";
import { base, status } from "../../lib/live";
import { link } from "../../lib/router";
import { keyText, type StoreInfo } from "../../lib/stores";
import { Bar, Empty, Loading, Problem, useAnswer } from "../../ui/parts";

interface HotKey {
  key: unknown;
  changes: number;
  partition: number;
}

export function HotKeys({ store }: { store: StoreInfo }) {
  const path = base.value;
  const { value, error, again } = useAnswer(
    (signal) =>
      get<{ keys: HotKey[] }>(`${path}hot-keys/${encodeURIComponent(store.name)}?limit=20`, signal),
    [path, store.name],
  );
  const sizes = (status.value?.stores ?? []).filter((each) => each.name === store.name);
  const most = Math.max(1, ...sizes.map((each) => each.entries ?? 0));
  const total = value ? value.keys.reduce((sum, each) => sum + each.changes, 0) : 0;
  return (
    <div class="split">
      <section>
        <div class="ask">
          <h3>Keys that change most, among the newest changes</h3>
          <button onClick={again}>Again</button>
        </div>
        <Problem error={error} />
        {!value && !error && <Loading />}
        {value && value.keys.length === 0 && <Empty>Nothing has changed yet.</Empty>}
        {value && value.keys.length > 0 && (
          <ul class="rows hot">
            {value.keys.map((each) => (
              <li key={inline(each.key)}>
                <a href={link("stores", [store.name], { key: keyText(store, each.key) })}>
                  <code>{inline(each.key)}</code>
                </a>
                <Bar share={each.changes / (value.keys[0]?.changes ?? 1)} tone="accent" />
                <span class="number">{compact(each.changes)}</span>
                <span class="number note">{percent(each.changes / Math.max(total, 1))}</span>
              </li>
            ))}
          </ul>
        )}
      </section>
      <section>
        <h3>Partitions</h3>
        {sizes.length === 0 && <Empty>Its size is not measured: it is kept in memory.</Empty>}
        <ul class="rows hot">
          {sizes.map((each) => (
            <li key={each.partition}>
              <span>partition {each.partition}</span>
              <Bar share={(each.entries ?? 0) / most} tone="accent" />
              <span class="number">≈{compact(each.entries)}</span>
              <span class="number note">{bytes(each.size_bytes)}</span>
            </li>
          ))}
        </ul>
      </section>
    </div>
  );
}
