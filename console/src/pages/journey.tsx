// One record's way through the topology: run again beside the application, or as it happens.
import { useEffect, useState } from "preact/hooks";
import { get } from "../lib/api";
import { clock, inline, stamp, whole } from "../lib/format";
import type { Journey, Picked, PickedRecords } from "../lib/journey";
import { base, goneSince } from "../lib/live";
import { go, link, place } from "../lib/router";
import { Badge, Empty, Loading, Panel, Problem, Scroll, useAnswer, Value } from "../ui/parts";
import { LivePanel } from "./journey/live";
import { Steps } from "./journey/steps";

export function JourneyPage() {
  const path = base.value;
  const [topic = "", partition = "", offset = ""] = place.value.parts;
  const { value, error } = useAnswer(
    (signal) => get<PickedRecords>(`${path}journeys`, signal),
    [path, goneSince.value === null],
  );
  if (!value) return error ? <div class="page"><Problem error={error} /></div> : <Loading />;
  if (value.topics.length === 0)
    return <Empty>This application names no topic whose records could be followed.</Empty>;
  const chosen = topic || value.topics[0]!;
  return (
    <div class="page">
      {offset !== "" && (
        <Way key={`${topic} ${partition} ${offset}`} topic={topic} partition={partition} offset={offset} />
      )}
      <LivePanel key={`${path} ${chosen}`} topic={chosen} />
      <Pick key={chosen} topics={value.topics} topic={chosen} />
    </div>
  );
}

function Pick({ topics, topic }: { topics: string[]; topic: string }) {
  const path = base.value;
  const [prefix, setPrefix] = useState("");
  const [wanted, setWanted] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setWanted(prefix), 250);
    return () => clearTimeout(timer);
  }, [prefix]);
  const query = new URLSearchParams(wanted ? { prefix: wanted } : {});
  const { value, error, again } = useAnswer(
    (signal) =>
      get<PickedRecords>(`${path}journeys/${encodeURIComponent(topic)}?${query}`, signal),
    [path, topic, wanted],
  );
  return (
    <Panel title="Pick a record" tools={<button onClick={again}>Read again</button>}>
      <div class="pick">
        <select
          aria-label="Topic"
          value={topic}
          onChange={(event) => go(link("journey", [event.currentTarget.value]))}
        >
          {topics.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
        <input
          type="search"
          placeholder="Key begins with"
          aria-label="Key begins with"
          value={prefix}
          onInput={(event) => setPrefix(event.currentTarget.value)}
        />
        <PlaceForm topic={topic} />
      </div>
      <Problem error={error} />
      {!value && !error && <Loading />}
      {value && value.records.length === 0 && (
        <Empty>
          {value.is_whole ? "There is no such record." : "There is none among the newest records."}
        </Empty>
      )}
      {value && value.records.length > 0 && <Records records={value.records} />}
    </Panel>
  );
}

function PlaceForm({ topic }: { topic: string }) {
  const [text, setText] = useState("");
  const found = /^\s*(\d+)\s*[:/ ]\s*(\d+)\s*$/.exec(text);
  const submit = (event: Event) => {
    event.preventDefault();
    if (found) go(link("journey", [topic, found[1]!, found[2]!]));
  };
  return (
    <form onSubmit={submit}>
      <input
        placeholder="partition:offset"
        aria-label="Partition and offset"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <button disabled={!found}>Follow</button>
    </form>
  );
}

function Records({ records }: { records: Picked[] }) {
  const [, partition, offset] = place.value.parts;
  const isChosen = (record: Picked) =>
    String(record.partition) === partition && String(record.offset) === offset;
  return (
    <Scroll label="Records">
      <table class="entries">
        <thead>
          <tr>
            <th scope="col">Record</th>
            <th scope="col">Key</th>
            <th scope="col">Value</th>
            <th scope="col">Time</th>
          </tr>
        </thead>
        <tbody>
          {records.map((record) => (
            <tr
              key={`${record.partition}:${record.offset}`}
              class={isChosen(record) ? "chosen" : undefined}
            >
              <th scope="row">
                <a
                  href={link("journey", [record.topic, String(record.partition), String(record.offset)])}
                >
                  {record.partition}:{record.offset}
                </a>
              </th>
              <td>
                {record.key === null ? <span class="null">null</span> : <code>{inline(record.key)}</code>}
              </td>
              <td>
                {!record.is_decoded && <Badge tone="warn">not decoded</Badge>}{" "}
                <Value value={record.value} />
              </td>
              <td class="time">{stamp(record.timestamp)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function Way({ topic, partition, offset }: { topic: string; partition: string; offset: string }) {
  const path = base.value;
  const { value, error, again } = useAnswer(
    (signal) =>
      get<Journey>(
        `${path}journeys/${encodeURIComponent(topic)}/${encodeURIComponent(partition)}/${encodeURIComponent(offset)}`,
        signal,
      ),
    [path, topic, partition, offset],
  );
  return (
    <Panel
      title={`${topic} ${partition}:${offset}`}
      note={value ? <State journey={value} /> : undefined}
      tools={<button onClick={again}>Run again</button>}
    >
      <Problem error={error} />
      {!value && !error && <Loading />}
      {value && <Steps {...value} />}
      {value && value.notes.length > 0 && (
        <section aria-label="What is not known">
          <h3>What this page could not know</h3>
          <ul class="unknowns note">
            {value.notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
        </section>
      )}
    </Panel>
  );
}

function State({ journey }: { journey: Journey }) {
  const { commit, run_before: before } = journey;
  const processed =
    journey.is_processed === false
      ? "It has not been processed yet. "
      : journey.is_processed === null
        ? ""
        : "It has been processed. ";
  const state =
    commit === null
      ? "Run on the stores as they are now."
      : `Run on the stores as of commit ${commit.number} of ${clock(commit.at_ms)}${
          before === 0 ? "" : `, after ${whole(before)} records that came between`
        }.`;
  return <>{processed + state}</>;
}
