// Whether the application is well, in a sentence; then speed, lag, latency, and what went wrong.
import { Chart, type Line } from "../ui/chart";
import { Icon } from "../ui/icons";
import { Badge, Bar, Empty, Panel, Scroll, useNow } from "../ui/parts";
import { clock, compact, duration, milliseconds, percent, whole } from "../lib/format";
import { status } from "../lib/live";
import { columns, rangeMinutes, RANGES } from "../lib/series";
import type { Failure, Status } from "../lib/types";

export const TONES = { well: "good", busy: "busy", warning: "warn", bad: "bad" } as const;

export function NowPage() {
  const now = status.value;
  if (!now) return <Starting />;
  return (
    <div class="page now">
      <Headline now={now} />
      <Figures now={now} />
      <div class="split">
        <div class="stack">
          <Restores now={now} />
          <Inputs now={now} />
        </div>
        <div class="stack">
          <Failures now={now} />
          <Instances now={now} />
        </div>
      </div>
    </div>
  );
}

function Starting() {
  return (
    <div class="page now">
      <div class="headline busy">
        <h2>Looking…</h2>
        <p>Waiting for the first answer of the application.</p>
      </div>
    </div>
  );
}

function Headline({ now }: { now: Status }) {
  const { level, headline, detail, fix } = now.verdict;
  const time = useNow();
  return (
    <div class={`headline ${TONES[level]}`} aria-live="polite">
      <div>
        <h2>
          <i class="dot" aria-hidden="true" />
          {headline}
        </h2>
        {detail && <p>{detail}</p>}
        {fix && (
          <p class="fix">
            <Icon name="arrow" size={15} /> {fix}
          </p>
        )}
      </div>
      <dl class="facts">
        <div>
          <dt>{now.state.toLowerCase().replaceAll("_", " ")} for</dt>
          <dd>{duration(time - now.since_ms)}</dd>
        </div>
        {now.started_ms !== null && (
          <div>
            <dt>first commit at</dt>
            <dd>{clock(now.started_ms)}</dd>
          </div>
        )}
        <div>
          <dt>records so far</dt>
          <dd>{compact(now.totals.records)}</dd>
        </div>
        <div>
          <dt>stream threads</dt>
          <dd>{now.threads.length || "–"}</dd>
        </div>
      </dl>
    </div>
  );
}

const RATE: Line[] = [
  { label: "processed", colour: "accent", fill: true },
  { label: "written", colour: "second", dash: [4, 3] },
];
const LAG: Line[] = [{ label: "waiting", colour: "warn", fill: true }];
const AGE: Line[] = [
  { label: "p99", colour: "second", dash: [4, 3] },
  { label: "p50", colour: "accent", fill: true },
];
const COMMIT: Line[] = [{ label: "took", colour: "accent", fill: true }];

function Figures({ now }: { now: Status }) {
  const { rates, lag, latency, totals } = now;
  const last = now.commits.at(-1);
  return (
    <section aria-label="Figures">
      <div class="range" role="group" aria-label="Time that the charts show">
        {RANGES.map((minutes) => (
          <button
            aria-pressed={rangeMinutes.value === minutes}
            onClick={() => (rangeMinutes.value = minutes)}
          >
            {minutes < 60 ? `${minutes} min` : "1 h"}
          </button>
        ))}
      </div>
      <div class="tiles">
        <Tile
          name="Throughput"
          value={compact(rates.records)}
          unit="records/s"
          note={`${compact(rates.sent)}/s written`}
          says={`Records a second: ${compact(rates.records)} now`}
          data={columns("records", "sent")}
          lines={RATE}
          format={compact}
        />
        <Tile
          name="Waiting"
          value={compact(lag.total)}
          unit="records"
          note={clears(now)}
          says={`Records that wait: ${compact(lag.total)} now`}
          data={columns("lag")}
          lines={LAG}
          format={compact}
        />
        <Tile
          name="Latency"
          value={milliseconds(latency.p50_ms)}
          unit="p50"
          note={`p99 ${milliseconds(latency.p99_ms)}`}
          says={`Age of records when committed: p50 ${milliseconds(latency.p50_ms)}`}
          data={columns("p99_ms", "p50_ms")}
          lines={AGE}
          format={milliseconds}
        />
        <Tile
          name="Commits"
          value={last ? milliseconds(last.took_ms) : "–"}
          unit="the last one"
          note={`${whole(totals.commits)} so far${totals.reruns ? `, ${whole(totals.reruns)} ran again` : ""}`}
          says={`How long commits take: ${milliseconds(last?.took_ms)} now`}
          data={columns("commit_ms")}
          lines={COMMIT}
          format={milliseconds}
        />
      </div>
    </section>
  );
}

function Tile(props: {
  name: string;
  value: string;
  unit: string;
  note: string;
  says: string;
  data: ReturnType<typeof columns>;
  lines: Line[];
  format: (value: number) => string;
}) {
  return (
    <div class="tile panel">
      <h2>{props.name}</h2>
      <p class="figure">
        <b>{props.value}</b> <span>{props.unit}</span>
      </p>
      <p class="note">{props.note}</p>
      <Chart
        data={props.data}
        lines={props.lines}
        format={props.format}
        says={props.says}
        sync="now"
        minutes={rangeMinutes.value}
      />
    </div>
  );
}

function clears({ lag, rates }: Status): string {
  if (lag.total === null) return "not known yet";
  if (!lag.is_backlog) return "caught up";
  if (lag.clear_s !== null) return `clear in ${duration(lag.clear_s * 1000)}`;
  if (rates.records > 0) return `${duration((lag.total / rates.records) * 1000)} of work`;
  return "none is processed";
}

function Inputs({ now }: { now: Status }) {
  const topics = Object.entries(now.lag.topics);
  const names = new Set([...topics.map(([name]) => name), ...Object.keys(now.rates.consumed)]);
  if (names.size === 0) return null;
  const rows = [...names].sort().map((name) => {
    const parts = Object.values(now.lag.topics[name] ?? {});
    const waits = parts.reduce((sum, each) => sum + each, 0);
    return {
      name,
      parts: parts.length,
      waits,
      worst: Math.max(0, ...parts),
      rate: now.rates.consumed[name] ?? 0,
    };
  });
  const most = Math.max(1, ...rows.map((row) => row.waits));
  return (
    <Panel title="Inputs" note={`${rows.length} topics`}>
      <Scroll label="Inputs">
        <table>
          <thead>
            <tr>
              <th scope="col">Topic</th>
              <th scope="col" class="number">
                Records/s
              </th>
              <th scope="col" class="number">
                Waiting
              </th>
              <th scope="col">
                <span class="unseen">Share of what waits</span>
              </th>
              <th scope="col" class="number wide">
                Partitions
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.name}>
                <th scope="row">
                  <code>{row.name}</code>
                </th>
                <td class="number">{compact(row.rate)}</td>
                <td class="number">{row.parts ? compact(row.waits) : "–"}</td>
                <td class="bars">
                  <Bar share={row.waits / most} tone={row.waits ? "warn" : "plain"} />
                </td>
                <td class="number wide">{row.parts || "–"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </Panel>
  );
}

function Restores({ now }: { now: Status }) {
  if (now.restoring.length === 0) return null;
  return (
    <Panel title="Restoring" note="stores read back from their changelogs">
      <ul class="rows">
        {now.restoring.map((each) => {
          const size = each.end - each.start;
          const done = size > 0 ? (each.position - each.start) / size : 1;
          return (
            <li key={`${each.store}-${each.partition}`}>
              <code>
                {each.store}-{each.partition}
              </code>
              <Bar share={done} tone="busy" />
              <span class="number">{percent(done)}</span>
              <span class="note number">{compact(each.end - each.position)} left</span>
            </li>
          );
        })}
      </ul>
    </Panel>
  );
}

function Failures({ now }: { now: Status }) {
  const all = [...(now.error ? [now.error] : []), ...[...now.failures].reverse()];
  const drops = now.nodes.filter((node) => Object.keys(node.dropped).length > 0);
  return (
    <Panel
      title="What went wrong"
      note={all.length + drops.length === 0 ? "nothing" : undefined}
    >
      {all.length === 0 && drops.length === 0 && (
        <Empty>No failure, and no record was dropped.</Empty>
      )}
      <ul class="failures">
        {all.slice(0, 6).map((failure) => (
          <FailureRow key={failure.at_ms} failure={failure} />
        ))}
      </ul>
      {drops.length > 0 && (
        <table class="drops">
          <caption>Dropped records</caption>
          <thead>
            <tr>
              <th scope="col">Node</th>
              <th scope="col">Reason</th>
              <th scope="col" class="number">
                Records
              </th>
            </tr>
          </thead>
          <tbody>
            {drops.flatMap((node) =>
              Object.entries(node.dropped).map(([reason, count]) => (
                <tr key={node.name + reason}>
                  <th scope="row">
                    <code>{node.name}</code>
                  </th>
                  <td>{reason}</td>
                  <td class="number">{whole(count)}</td>
                </tr>
              )),
            )}
          </tbody>
        </table>
      )}
      {Object.entries(now.column_errors).map(([fault, count]) => (
        <p class="note" key={fault}>
          Slower after a fault in the column path, {whole(count)} times: <code>{fault}</code>. Please
          report it.
        </p>
      ))}
    </Panel>
  );
}

function FailureRow({ failure }: { failure: Failure }) {
  const [first, ...rest] = failure.message.split("\n");
  return (
    <li>
      <p class="when">
        <Badge tone="bad">{failure.code}</Badge>
        {failure.site && <code>{failure.site}</code>}
        {failure.count > 1 && <span>{failure.count} times</span>}
        <time>{clock(failure.at_ms)}</time>
      </p>
      <p>{first}</p>
      {rest.length > 0 && <pre>{rest.join("\n")}</pre>}
      {failure.fix && (
        <p class="fix">
          <Icon name="arrow" size={14} /> {failure.fix}
        </p>
      )}
    </li>
  );
}

function Instances({ now }: { now: Status }) {
  if (now.instances.length === 0) return null;
  return (
    <Panel title="Instances" note={`${now.instances.length}`}>
      <ul class="rows instances">
        {now.instances.map((each) => (
          <li key={each.id}>
            <code>{each.id}</code>
            <span class="note">{each.address ?? "no address"}</span>
            <span>
              {each.is_leader ? (
                <Badge tone="good">processes</Badge>
              ) : Object.keys(each.copies).length > 0 ? (
                <Badge>keeps copies</Badge>
              ) : (
                <Badge>stands by</Badge>
              )}
              {each.id === now.instance && <Badge>this one</Badge>}
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
