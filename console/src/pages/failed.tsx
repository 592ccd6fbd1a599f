// Dead letters by error and node, and the way back into their topics.
import { useState } from "preact/hooks";
import { get, post } from "../lib/api";
import {
  placeOf,
  type FailedGroup,
  type FailedRecord,
  type FailedRecords,
  type Redriven,
} from "../lib/failed";
import { inline, stamp, whole } from "../lib/format";
import { about, base, goneSince } from "../lib/live";
import { link, place } from "../lib/router";
import { Badge, Empty, Loading, Panel, Problem, Scroll, useAnswer, Value } from "../ui/parts";
import { RecordPanel } from "./failed/record";

export function FailedPage() {
  const path = base.value;
  const { value, error, again } = useAnswer(
    (signal) => get<FailedRecords>(`${path}failed-records`, signal),
    [path, goneSince.value === null],
  );
  const chosen = place.value.query.get("record");
  if (!value) return error ? <div class="page"><Problem error={error} /></div> : <Loading />;
  return (
    <div class={`failed ${chosen === null ? "" : "with-panel"}`}>
      <div class="page">
        <Problem error={error} />
        <Head found={value} again={again} />
        {value.groups.map((group) => (
          <Group
            key={`${group.error} ${group.node}`}
            group={group}
            through={value.through}
            again={again}
          />
        ))}
      </div>
      {chosen !== null && <RecordPanel key={chosen} text={chosen} again={again} />}
    </div>
  );
}

function Head({ found, again }: { found: FailedRecords; again: () => void }) {
  if (found.topic === null)
    return (
      <Panel>
        <Empty>
          This application keeps no failed records. Set errors.dead.letter.queue.topic.name to a
          topic, and handlers that continue: then a record that fails is written there, and the
          others go on.
        </Empty>
      </Panel>
    );
  return (
    <Panel
      title={found.count === 0 ? "No record has failed" : `${whole(found.count)} failed records`}
      note={
        <>
          in the topic <code>{found.topic}</code>
          {!found.is_whole && ": only the newest are read, and there are older ones"}
        </>
      }
      tools={<button onClick={again}>Read again</button>}
    >
      {found.count === 0 ? (
        <Empty>Records that fail are kept in this topic, and are listed here.</Empty>
      ) : (
        <p class="note">
          A record that is sent again keeps its time and its headers, and gets new headers that say
          who sent it and when. Which of them were sent is known since this instance started.
        </p>
      )}
    </Panel>
  );
}

function Group(props: { group: FailedGroup; through: Record<string, number>; again: () => void }) {
  const { group } = props;
  const [first] = group.message.split("\n");
  return (
    <section class="panel group" aria-label={`${group.error} at ${group.node || "unknown node"}`}>
      <header class="panel-head">
        <h2>
          <Badge tone="bad">{group.error || "unknown error"}</Badge>{" "}
          {group.node ? (
            <a href={link("topology", [group.node])}>{group.node}</a>
          ) : (
            "at a node that the record does not name"
          )}
        </h2>
        <span class="note">
          {group.site && <code>{group.site}</code>} {whole(group.count)} of{" "}
          {group.topics.filter(Boolean).join(", ") || "an unknown topic"}
        </span>
        <SendAll {...props} />
      </header>
      {first && <p class="said">{first}</p>}
      <Scroll label={`Records of ${group.error}`}>
        <table class="entries">
          <thead>
            <tr>
              <th scope="col">Record</th>
              <th scope="col">Key</th>
              <th scope="col">Value</th>
              <th scope="col">Time</th>
              <th scope="col">Sent again</th>
            </tr>
          </thead>
          <tbody>
            {group.records.map((record) => (
              <Row key={placeOf(record)} record={record} />
            ))}
          </tbody>
        </table>
      </Scroll>
      {group.records.length < group.count && (
        <p class="note">The newest {group.records.length} of them.</p>
      )}
    </section>
  );
}

function Row({ record }: { record: FailedRecord }) {
  return (
    <tr aria-current={place.value.query.get("record") === placeOf(record) ? "true" : undefined}>
      <th scope="row">
        <a href={link("failed", [], { record: placeOf(record) })}>
          {record.topic || "unknown"} {record.source_partition}:{record.source_offset}
        </a>
      </th>
      <td>
        {record.key === null ? <span class="null">null</span> : <code>{inline(record.key)}</code>}
      </td>
      <td>
        {!record.is_decoded && <Badge tone="warn">not decoded</Badge>} <Value value={record.value} />
      </td>
      <td class="time">{stamp(record.timestamp)}</td>
      <td>
        <SentAgain record={record} />
      </td>
    </tr>
  );
}

export function SentAgain({ record }: { record: FailedRecord }) {
  if (record.sent)
    return (
      <span>
        <Badge tone="good">sent</Badge>{" "}
        <span class="note">
          to {record.sent.partition}:{record.sent.offset} by {record.sent.by}
        </span>
      </span>
    );
  if (record.redriven)
    return (
      <span class="note">
        {record.redriven.count === 1 ? "once" : `${record.redriven.count} times`}, and failed again;
        last by {record.redriven.by}
      </span>
    );
  return null;
}

export function mayWrite(): boolean {
  return about.value?.access !== "read";
}

function SendAll(props: { group: FailedGroup; through: Record<string, number>; again: () => void }) {
  const { group, through, again } = props;
  const [asks, setAsks] = useState(false);
  const [note, setNote] = useState("");
  const [busy, setBusy] = useState(false);
  const [outcome, setOutcome] = useState<Redriven | null>(null);
  const [error, setError] = useState<unknown>(null);
  if (!mayWrite())
    return <span class="note">Sending again needs credentials that may write.</span>;
  const send = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const body = { group: { error: group.error, node: group.node, through }, note };
      setOutcome(await post<Redriven>(`${base.value}failed-records/redrive`, body));
      setAsks(false);
      again();
    } catch (failure) {
      setError(failure);
    }
    setBusy(false);
  };
  return (
    <div class="tools send-all">
      {outcome && <Outcome outcome={outcome} />}
      <Problem error={error} />
      {asks ? (
        <form onSubmit={send}>
          <input
            aria-label="A note for the headers"
            placeholder="A note for the headers"
            maxLength={200}
            value={note}
            onInput={(event) => setNote(event.currentTarget.value)}
          />
          <button class="primary" disabled={busy}>
            Send {whole(group.left)} again
          </button>
          <button type="button" onClick={() => setAsks(false)}>
            Do not
          </button>
        </form>
      ) : (
        group.left > 0 && <button onClick={() => setAsks(true)}>Send all again…</button>
      )}
    </div>
  );
}

export function Outcome({ outcome }: { outcome: Redriven }) {
  const failed = outcome.records.find((each) => each.code !== null);
  return (
    <p role="status" class="outcome">
      {outcome.sent > 0 && <Badge tone="good">{whole(outcome.sent)} sent</Badge>}{" "}
      {failed && (
        <>
          <Badge tone="bad">{whole(outcome.refused)} not sent</Badge>{" "}
          <span class="note">{failed.message}</span>
        </>
      )}
    </p>
  );
}
