// One failed record: why it failed, its parts as text that can be changed, and sending it again.
import { useEffect, useState } from "preact/hooks";
import { get, post } from "../../lib/api";
import type { FailedDetail, Part, Redriven } from "../../lib/failed";
import { inline, stamp } from "../../lib/format";
import { base } from "../../lib/live";
import { go, link } from "../../lib/router";
import { Icon } from "../../ui/icons";
import { Loading, Problem, useAnswer } from "../../ui/parts";
import { mayWrite, Outcome, SentAgain } from "../failed";

const FORMS = { text: "as text", value: "as a value", base64: "as base64" } as const;

export function RecordPanel({ text, again }: { text: string; again: () => void }) {
  const path = base.value;
  const [partition = "", offset = ""] = text.split(":");
  const { value, error } = useAnswer(
    (signal) =>
      get<FailedDetail>(
        `${path}failed-records/${encodeURIComponent(partition)}/${encodeURIComponent(offset)}`,
        signal,
      ),
    [path, text],
  );
  return (
    <aside class="node-panel record-panel" aria-label={`Failed record ${text}`}>
      <header>
        <div>
          <h2>
            {value
              ? `${value.record.topic || "unknown topic"} ${value.record.source_partition}:${value.record.source_offset}`
              : text}
          </h2>
          {value && <span class="note">{stamp(value.record.timestamp)}</span>}
        </div>
        <button class="plain" onClick={() => go(link("failed"))} aria-label="Close">
          <Icon name="close" size={18} />
        </button>
      </header>
      <Problem error={error} />
      {!value && !error && <Loading />}
      {value && <Why detail={value} />}
      {value && <Edit detail={value} again={again} />}
      {value && <Headers detail={value} />}
    </aside>
  );
}

function Why({ detail }: { detail: FailedDetail }) {
  const [open, setOpen] = useState(false);
  return (
    <section>
      <h3>Why it failed</h3>
      <pre class="text">{detail.record.message || detail.error || "The record does not say."}</pre>
      <p class="note">
        {detail.node && <a href={link("topology", [detail.node])}>{detail.node}</a>}
        {detail.site && ` at ${detail.site}`}
      </p>
      <SentAgain record={detail.record} />
      {detail.refused === null && (
        <p>
          <a
            href={link("journey", [
              detail.record.topic,
              String(detail.record.source_partition),
              String(detail.record.source_offset),
            ])}
          >
            Follow it through the topology
          </a>
        </p>
      )}
      {detail.stacktrace && (
        <button class="link" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "Hide the traceback" : "Show the traceback"}
        </button>
      )}
      {open && (
        <pre class="text" tabIndex={0}>
          {detail.stacktrace}
        </pre>
      )}
    </section>
  );
}

function Edit({ detail, again }: { detail: FailedDetail; again: () => void }) {
  const [key, setKey] = useState<Part | null>(detail.edit_key);
  const [value, setValue] = useState<Part | null>(detail.edit_value);
  const [note, setNote] = useState("");
  const [busy, setBusy] = useState(false);
  const [outcome, setOutcome] = useState<Redriven | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    setKey(detail.edit_key);
    setValue(detail.edit_value);
  }, [detail]);
  const allowed = mayWrite() && detail.refused === null;
  const send = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    setOutcome(null);
    const record: Record<string, unknown> = {
      partition: detail.record.partition,
      offset: detail.record.offset,
    };
    // What was not changed is sent as its bytes are.
    if (!same(key, detail.edit_key)) record["key"] = key;
    if (!same(value, detail.edit_value)) record["value"] = value;
    try {
      const path = `${base.value}failed-records/redrive`;
      setOutcome(await post<Redriven>(path, { records: [record], note }));
      again();
    } catch (failure) {
      setError(failure);
    }
    setBusy(false);
  };
  return (
    <form class="edit" onSubmit={send}>
      <PartField name="Key" part={key} before={detail.edit_key} set={setKey} locked={!allowed} />
      <PartField name="Value" part={value} before={detail.edit_value} set={setValue} locked={!allowed} />
      {detail.refused !== null && <p class="note">It cannot be sent again: {detail.refused}.</p>}
      {detail.refused === null && !mayWrite() && (
        <p class="note">Sending it again needs credentials that may write.</p>
      )}
      {allowed && (
        <div class="send">
          <input
            aria-label="A note for the headers"
            placeholder="A note for the headers"
            maxLength={200}
            value={note}
            onInput={(event) => setNote(event.currentTarget.value)}
          />
          <button class="primary" disabled={busy}>
            <Icon name="send" size={14} /> Send to {detail.record.topic}
          </button>
        </div>
      )}
      <Problem error={error} />
      {outcome && <Outcome outcome={outcome} />}
    </form>
  );
}

function PartField(props: {
  name: string;
  part: Part | null;
  before: Part | null;
  set: (part: Part | null) => void;
  locked: boolean;
}) {
  const { name, part, before, set, locked } = props;
  const lines = Math.min(Math.max((part?.text ?? "").split("\n").length + 1, 2), 14);
  const long = (part?.text.length ?? 0) > 60;
  return (
    <section>
      <header class="part">
        <label for={`part-${name}`}>{name}</label>
        <span class="note">{part ? FORMS[part.form] : "null"}</span>
        {!same(part, before) && (
          <button type="button" class="link" onClick={() => set(before)}>
            as it was
          </button>
        )}
        {!locked && (
          <label class="check">
            <input
              type="checkbox"
              checked={part === null}
              onChange={(event) =>
                set(event.currentTarget.checked ? null : (before ?? { form: "text", text: "" }))
              }
            />{" "}
            null
          </label>
        )}
      </header>
      <textarea
        id={`part-${name}`}
        rows={long ? Math.max(lines, 5) : lines}
        spellcheck={false}
        readOnly={locked}
        disabled={part === null}
        value={part?.text ?? ""}
        onInput={(event) =>
          set({ form: part?.form ?? "text", text: event.currentTarget.value })
        }
      />
    </section>
  );
}

function Headers({ detail }: { detail: FailedDetail }) {
  if (detail.headers.length === 0) return null;
  return (
    <section>
      <h3>Headers of the record</h3>
      <ul class="pairs">
        {detail.headers.map((header, at) => (
          <li key={at}>
            <span>{header.name}</span>
            <b>
              <code>{inline(header.value)}</code>
            </b>
          </li>
        ))}
      </ul>
    </section>
  );
}

function same(one: Part | null, other: Part | null): boolean {
  return one?.form === other?.form && one?.text === other?.text;
}
