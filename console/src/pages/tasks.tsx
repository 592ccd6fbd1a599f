// Who runs what where: threads with their commits, lag and load over time, tasks, copies, moves.
import { Bar, Badge, Empty, Panel, Scroll } from "../ui/parts";
import { clock, compact, milliseconds, percent, whole } from "../lib/format";
import { status } from "../lib/live";
import type { Commit, Status, Thread } from "../lib/types";
import { Loading } from "../ui/parts";
import { HeatPanel } from "./tasks/heat";

export function TasksPage() {
  const now = status.value;
  if (!now) return <Loading />;
  return (
    <div class="page">
      <Threads now={now} />
      <HeatPanel />
      <div class="split">
        <Tasks now={now} />
        <div class="stack">
          <Happenings now={now} />
          <Copies now={now} />
        </div>
      </div>
    </div>
  );
}

const SPAN_MS = 20_000;

function Threads({ now }: { now: Status }) {
  const last = now.at_ms;
  if (now.threads.length === 0)
    return (
      <Panel title="Stream threads">
        <Empty>No stream thread runs here. Another instance processes, or none does yet.</Empty>
      </Panel>
    );
  const slowest = Math.max(...now.commits.map((each) => each.took_ms), 1);
  return (
    <Panel
      title="Stream threads"
      note={`${now.threads.length}, with the commits of the last ${SPAN_MS / 1000} s`}
      tools={
        <ul class="key">
          <li>
            <i class="work" /> processing
          </li>
          <li>
            <i class="rest" /> reading and committing
          </li>
        </ul>
      }
    >
      <ul class="threads">
        {now.threads.map((thread, place) => (
          <ThreadRow
            key={thread.name}
            thread={thread}
            commits={now.commits.filter((each) => String(place + 1) in each.threads)}
            slot={String(place + 1)}
            last={last}
            slowest={slowest}
          />
        ))}
      </ul>
    </Panel>
  );
}

function ThreadRow(props: {
  thread: Thread;
  commits: Commit[];
  slot: string;
  last: number;
  slowest: number;
}) {
  const { thread, commits } = props;
  const took = commits.at(-1)?.took_ms;
  return (
    <li>
      <div>
        <b title={thread.name}>{thread.name.replace(/^.*-(StreamThread-\d+)$/, "$1")}</b>
        <span class="note">
          {thread.is_alive
            ? [thread.host, thread.executor !== null && `executor ${thread.executor}`]
                .filter(Boolean)
                .join(", ")
            : "not running"}
        </span>
      </div>
      <div class="load">
        <span class="number">{percent(thread.share)}</span>
        <Bar share={thread.share} tone={thread.share > 0.9 ? "warn" : "accent"} />
        <span class="note">{thread.tasks.length} tasks</span>
      </div>
      <Commits {...props} />
      <span class="number note">{took === undefined ? "–" : milliseconds(took)}</span>
    </li>
  );
}

const WIDTH = 1000;
const HEIGHT = 34;

function Commits({
  commits,
  slot,
  last,
  slowest,
}: {
  commits: Commit[];
  slot: string;
  last: number;
  slowest: number;
}) {
  const shown = commits.filter((each) => each.at_ms >= last - SPAN_MS);
  const longest = shown.reduce<Commit | null>(
    (most, each) => (most && most.took_ms >= each.took_ms ? most : each),
    null,
  );
  const says = longest
    ? `${shown.length} commits; the longest took ${milliseconds(longest.took_ms)}`
    : "no commit";
  return (
    <svg class="commits" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={says}>
      {shown.map((each) => {
        const end = WIDTH - ((last - each.at_ms) / SPAN_MS) * WIDTH;
        const width = Math.max((each.took_ms / SPAN_MS) * WIDTH - 0.6, 1.6);
        const height = Math.max((each.took_ms / slowest) * HEIGHT, 4);
        const work = Math.min((each.threads[slot] ?? 0) / Math.max(each.took_ms, 0.001), 1);
        return (
          <g key={each.number}>
            <title>{`commit ${each.number}: ${whole(each.records)} records in ${milliseconds(each.took_ms)}, ${milliseconds(each.threads[slot])} of it processing`}</title>
            <rect class="rest" x={end - width} y={HEIGHT - height} width={width} height={height} />
            <rect
              class="work"
              x={end - width}
              y={HEIGHT - height * work}
              width={width}
              height={height * work}
            />
          </g>
        );
      })}
    </svg>
  );
}

function Tasks({ now }: { now: Status }) {
  const most = Math.max(0.01, ...now.tasks.map((task) => task.share));
  return (
    <Panel title="Tasks" note={`${now.tasks.length}`}>
      {now.tasks.length === 0 && <Empty>No task has run yet.</Empty>}
      {now.tasks.length > 0 && (
        <Scroll label="Tasks" class="tall-list">
          <table>
            <thead>
              <tr>
                <th scope="col">Task</th>
                <th scope="col">Thread</th>
                <th scope="col" class="number">
                  Records/s
                </th>
                <th scope="col" class="number">
                  Time
                </th>
                <th scope="col">
                  <span class="unseen">Share of time</span>
                </th>
                <th scope="col" class="wide">
                  Runs
                </th>
                <th scope="col" class="number wide">
                  Dropped
                </th>
              </tr>
            </thead>
            <tbody>
              {now.tasks.map((task) => (
                <tr key={task.id}>
                  <th scope="row">
                    <code>{task.id}</code>
                  </th>
                  <td class="note">{task.thread?.split("-").pop() ?? "–"}</td>
                  <td class="number">{compact(task.rate)}</td>
                  <td class="number">{percent(task.share)}</td>
                  <td class="bars">
                    <Bar share={task.share / most} tone="accent" />
                  </td>
                  <td class="wide note">
                    {task.column_batches > task.record_batches
                      ? "over columns"
                      : task.record_batches > 0
                        ? "record by record"
                        : ""}
                  </td>
                  <td class="number wide">{task.dropped ? whole(task.dropped) : ""}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </Panel>
  );
}

function Happenings({ now }: { now: Status }) {
  const events = [...now.events].reverse().slice(0, 12);
  return (
    <Panel title="Moves and restores" note={events.length ? undefined : "none"}>
      {events.length === 0 && (
        <Empty>No task has moved and no store was restored lately.</Empty>
      )}
      <ul class="events">
        {events.map((event) => (
          <li key={`${event.at_ms} ${event.text}`}>
            <time class="note">{clock(event.at_ms)}</time>
            <span>{event.text}</span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Copies({ now }: { now: Status }) {
  const others = now.instances.filter((each) => Object.keys(each.copies).length > 0);
  if (now.copies.length === 0 && others.length === 0) return null;
  return (
    <Panel title="Standbys and copies">
      {now.copies.length > 0 && (
        <table>
          <thead>
            <tr>
              <th scope="col">Store</th>
              <th scope="col">Instance</th>
              <th scope="col" class="number">
                Behind
              </th>
            </tr>
          </thead>
          <tbody>
            {now.copies.map((copy) => (
              <tr key={`${copy.instance} ${copy.store} ${copy.partition}`}>
                <th scope="row">
                  <code>
                    {copy.store}-{copy.partition}
                  </code>
                </th>
                <td>
                  {copy.instance} <Badge>{copy.role}</Badge>
                </td>
                <td class="number">{compact(copy.lag)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <ul class="rows instances">
        {now.copies.length === 0 &&
          others.map((each) => (
            <li key={each.id}>
              <code>{each.id}</code>
              <span class="note">{each.address ?? ""}</span>
              <span class="note">copies of {Object.keys(each.copies).length} stores</span>
            </li>
          ))}
      </ul>
    </Panel>
  );
}
