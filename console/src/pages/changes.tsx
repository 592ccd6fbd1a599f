// A new version of the program against the one that runs: its plan, and what it would write.
import { useState } from "preact/hooks";
import { get, post } from "../lib/api";
import { inline, stamp, whole } from "../lib/format";
import { base, goneSince } from "../lib/live";
import { Badge, Empty, Loading, Panel, Problem, Scroll, useAnswer, type Tone } from "../ui/parts";

interface Plan {
  application: string;
  plan: string;
  sql: string;
  topics: string[];
  sections: { name: string; lines: string[] }[];
}

interface Report {
  name: string;
  status: string;
  note: string;
  fix: string | null;
  plan: string;
  acceptable: boolean;
  parts: {
    name: string;
    status: string;
    changes: { removed: string[]; added: string[]; note: string }[];
  }[];
}

/** What `penstock diff --json` writes. */
interface Difference {
  equal: boolean;
  old: number;
  new: number;
  changes: { sign: "-" | "+"; topic: string; key: unknown; value: unknown; timestamp: number }[];
}

const TONES: Record<string, Tone> = {
  unchanged: "good",
  added: "good",
  changed: "warn",
  removed: "warn",
  accepted: "warn",
  refused: "bad",
};

/** So many records of a difference are shown: a file may have millions. */
const MOST = 500;

export function ChangesPage() {
  const path = base.value;
  const { value, error } = useAnswer(
    (signal) => get<Plan>(`${path}plan`, signal),
    [path, goneSince.value === null],
  );
  const [report, setReport] = useState<Report | null>(null);
  const [difference, setDifference] = useState<Difference | null>(null);
  const [failure, setFailure] = useState<unknown>(null);
  const open = async (event: { currentTarget: HTMLInputElement }) => {
    const input = event.currentTarget;
    const file = input.files?.[0];
    if (!file) return;
    setFailure(null);
    try {
      const read = parse(file.name, await file.text());
      if (isDifference(read)) setDifference(read);
      else setReport(await post<Report>(`${path}plan`, read));
    } catch (failed) {
      setFailure(failed);
    }
    // The same file may have changed when it is chosen again.
    input.value = "";
  };
  return (
    <div class="page">
      <Panel title="A new version">
        <p class="file">
          <input type="file" aria-label="A plan or a difference" accept=".json" onChange={open} />
          <span class="note">
            the file of <code>penstock plan app.py --export FILE</code>, or the output of{" "}
            <code>penstock diff old.py new.py -i FILE --json</code>. Neither has code in it, and
            nothing is deployed.
          </span>
        </p>
        <Problem error={failure} />
      </Panel>
      {report && <ReportView report={report} />}
      {difference && <DifferenceView difference={difference} />}
      {error !== null && <Problem error={error} />}
      {!value && !error && <Loading />}
      {value && <PlanView plan={value} />}
    </div>
  );
}

function parse(name: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${name} is not JSON: choose a file that penstock has written`);
  }
}

function isDifference(read: unknown): read is Difference {
  const given = read as Partial<Difference> | null;
  return typeof given?.equal === "boolean" && Array.isArray(given.changes);
}

const SAID: Record<string, string> = {
  unchanged: "It starts, and its state stays as it is.",
  changed: "It starts, and its state is still used.",
  accepted: "It starts: its state is too old to be compared.",
  refused: "It would not start: the state in Kafka belongs to another plan.",
};

function ReportView({ report }: { report: Report }) {
  return (
    <Panel
      title={report.name}
      note={
        <>
          <Badge tone={TONES[report.status]}>{report.status}</Badge> plan <code>{report.plan}</code>
        </>
      }
    >
      <p>{SAID[report.status] ?? report.note}</p>
      {report.fix && <p class="note">What to do: {report.fix}.</p>}
      {report.parts.map((part) => (
        <div class="plan-part" key={part.name}>
          <h3>
            {part.name} <Badge tone={TONES[part.status]}>{part.status}</Badge>
          </h3>
          {part.changes.map((change, at) => (
            <div key={at}>
              {change.note && <p class="note">{change.note}</p>}
              <ul class="differences">
                {change.removed.map((line) => (
                  <Line key={`-${line}`} sign="-" text={line} />
                ))}
                {change.added.map((line) => (
                  <Line key={`+${line}`} sign="+" text={line} />
                ))}
              </ul>
            </div>
          ))}
        </div>
      ))}
    </Panel>
  );
}

function Line({ sign, text }: { sign: "-" | "+"; text: string }) {
  return (
    <li class={sign === "-" ? "gone-line" : "new-line"}>
      <span>{sign}</span> {text}
    </li>
  );
}

function DifferenceView({ difference }: { difference: Difference }) {
  const gone = difference.changes.filter((each) => each.sign === "-").length;
  const topics = [...new Set(difference.changes.map((each) => each.topic))];
  if (difference.equal)
    return (
      <Panel title="What it writes">
        <Empty>Both versions write the same {whole(difference.new)} records.</Empty>
      </Panel>
    );
  return (
    <Panel
      title="What it writes"
      note={`${whole(gone)} of ${whole(difference.old)} records of the old version are gone, ${whole(difference.changes.length - gone)} of ${whole(difference.new)} of the new one are new`}
    >
      {topics.map((topic) => (
        <section key={topic}>
          <h3>{topic}</h3>
          <Scroll label={`Records of ${topic}`}>
            <ul class="differences">
              {difference.changes
                .filter((each) => each.topic === topic)
                .slice(0, MOST)
                .map((each, at) => (
                  <Line
                    key={at}
                    sign={each.sign}
                    text={`${inline(each.key)}  ${inline(each.value)}  ${stamp(each.timestamp)}`}
                  />
                ))}
            </ul>
          </Scroll>
        </section>
      ))}
      {difference.changes.length > MOST && (
        <p class="note">Of each topic the first {MOST} are shown.</p>
      )}
    </Panel>
  );
}

function PlanView({ plan }: { plan: Plan }) {
  return (
    <Panel
      title="What runs"
      note={
        <>
          plan <code>{plan.plan}</code>, reads {plan.topics.join(", ") || "nothing"}
        </>
      }
    >
      {plan.sql && <pre class="text">{plan.sql}</pre>}
      {plan.sections.length === 0 ? (
        <Empty>It keeps no state, so every new version of it starts.</Empty>
      ) : (
        <ul class="facts-list">
          {plan.sections.map((section) => (
            <li key={section.name}>
              <h3>{section.name}</h3>
              <ul>
                {section.lines.map((line) => (
                  <li key={line}>{line}</li>
                ))}
              </ul>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
