// What has changed in a store between two commits.
import { useState } from "preact/hooks";
import { get } from "../../lib/api";
import { clock, inline, stamp } from "../../lib/format";
import { base } from "../../lib/live";
import { link } from "../../lib/router";
import { isWindowed, keyText, rowId, type Difference, type StoreInfo } from "../../lib/stores";
import { Badge, Empty, Loading, Problem, Scroll, useAnswer, Value } from "../../ui/parts";
import { commits } from "../stores";

export function ChangesView({ store }: { store: StoreInfo }) {
  // The list goes on growing; what is chosen here stays.
  const [all] = useState(commits.value);
  const [first, setFirst] = useState(all.at(-Math.min(all.length, 20))?.number ?? null);
  const [second, setSecond] = useState(all.at(-1)?.number ?? null);
  if (first === null || second === null || all.length < 2)
    return <Empty>There are not two commits yet that could be compared.</Empty>;
  return (
    <>
      <div class="ask">
        <Choice name="from commit" value={first} set={setFirst} all={all} />
        <Choice name="to commit" value={second} set={setSecond} all={all} />
      </div>
      <Rows
        store={store}
        first={Math.min(first, second)}
        second={Math.max(first, second)}
      />
    </>
  );
}

function Choice(props: {
  name: string;
  value: number;
  set: (value: number) => void;
  all: { number: number; at_ms: number }[];
}) {
  return (
    <label class="note">
      {props.name}{" "}
      <select
        value={props.value}
        onChange={(event) => props.set(Number(event.currentTarget.value))}
      >
        {[...props.all].reverse().map((each) => (
          <option key={each.number} value={each.number}>
            {each.number} – {clock(each.at_ms)}
          </option>
        ))}
      </select>
    </label>
  );
}

function Rows({ store, first, second }: { store: StoreInfo; first: number; second: number }) {
  const path = base.value;
  const query = new URLSearchParams({ first: String(first), second: String(second) });
  const { value, error, loading } = useAnswer(
    (signal) =>
      get<Difference>(`${path}changes/${encodeURIComponent(store.name)}?${query}`, signal),
    [path, store.name, first, second],
  );
  if (error) return <Problem error={error} />;
  if (!value) return <Loading />;
  if (value.rows.length === 0) return <Empty>Nothing has changed between these two commits.</Empty>;
  return (
    <Scroll label="What has changed" class={loading ? "waiting" : ""}>
      <table class="entries">
        <thead>
          <tr>
            <th scope="col">Key</th>
            {isWindowed(store) && <th scope="col">Window</th>}
            <th scope="col">
              <span class="unseen">What happened</span>
            </th>
            <th scope="col">Before</th>
            <th scope="col">After</th>
          </tr>
        </thead>
        <tbody>
          {value.rows.map((row) => (
            <tr key={rowId(row)}>
              <th scope="row">
                <a href={link("stores", [store.name], { key: keyText(store, row.key) })}>
                  <code>{inline(row.key)}</code>
                </a>
              </th>
              {isWindowed(store) && <td class="time">{stamp(row.window_start ?? 0)}</td>}
              <td>
                {row.is_known === false ? (
                  <Badge>changed</Badge>
                ) : row.before === null ? (
                  <Badge tone="good">new</Badge>
                ) : row.after === null ? (
                  <Badge tone="bad">deleted</Badge>
                ) : (
                  <Badge tone="busy">changed</Badge>
                )}
              </td>
              <td>
                {row.is_known === false ? (
                  <span class="null">not known: compacted away</span>
                ) : (
                  <Value value={row.before} />
                )}
              </td>
              <td>
                <Value value={row.after} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {value.truncated && <p class="note">There are more; these are the first ones.</p>}
    </Scroll>
  );
}
