// One node: its line in the program, its code, its figures over time, and its store.
import type uPlot from "uplot";
import { Chart } from "../ui/chart";
import { Icon } from "../ui/icons";
import { Badge } from "../ui/parts";
import { bytes, compact, percent, whole } from "../lib/format";
import { nodeFigures, nodePast, program, status } from "../lib/live";
import { link } from "../lib/router";
import type { TopologyNode } from "../lib/types";

const KNOWN = new Set(["kind", "name", "parents", "stores", "site", "topics", "topic"]);

interface Props {
  node: TopologyNode;
  part: number;
  title: string;
  close: () => void;
}

export function NodePanel({ node, part, title, close }: Props) {
  const figures = nodeFigures.value.get(node.name);
  const columnar = program.value?.columnar.includes(part);
  const why = program.value?.why_records[node.name];
  const reasons = figures ? Object.entries(figures.dropped) : [];
  return (
    <aside class="node-panel" aria-label={`Node ${node.name}`}>
      <header>
        <div>
          <h2>{title}</h2>
          <code>{node.name}</code>
        </div>
        <button class="plain" onClick={close} aria-label="Close">
          <Icon name="close" size={18} />
        </button>
      </header>
      {figures && (
        <dl class="facts">
          <div>
            <dt>records/s</dt>
            <dd>{compact(figures.rate)}</dd>
          </div>
          <div>
            <dt>share of time</dt>
            <dd>{percent(figures.share)}</dd>
          </div>
          <div>
            <dt>records so far</dt>
            <dd>{compact(figures.records)}</dd>
          </div>
        </dl>
      )}
      <Past name={node.name} />
      <p class="way">
        {columnar === undefined ? null : columnar ? (
          <>
            <Badge tone="good">over columns</Badge> like its whole sub-topology
          </>
        ) : (
          <>
            <Badge tone="warn">record by record</Badge>{" "}
            {why ? (
              <>because {why}</>
            ) : (
              <>because another node of its sub-topology has to take single records</>
            )}
          </>
        )}
      </p>
      {reasons.length > 0 && (
        <section>
          <h3>Dropped</h3>
          <ul class="pairs">
            {reasons.map(([reason, count]) => (
              <li key={reason}>
                <span>{reason}</span>
                <b>{whole(count)}</b>
              </li>
            ))}
          </ul>
        </section>
      )}
      <Code node={node} />
      <Topics node={node} />
      <Stores node={node} />
      <Options node={node} />
    </aside>
  );
}

function Past({ name }: { name: string }) {
  const past = nodePast.value.get(name);
  if (!past || past.at.length < 2) return null;
  const data: uPlot.AlignedData = [past.at, past.rate];
  return (
    <Chart
      data={data}
      lines={[{ label: "records/s", colour: "accent", fill: true }]}
      format={compact}
      says="Records a second since this page was opened"
      height={96}
    />
  );
}

function Code({ node }: { node: TopologyNode }) {
  if (!node.site) return null;
  const source = program.value?.sources[node.site];
  const line = Number(node.site.split(":").pop());
  return (
    <section>
      <h3>
        In the program <code>{node.site}</code>
      </h3>
      {source ? (
        <pre class="source">
          {source.lines.map((text, place) => (
            <span key={place} class={source.first + place === line ? "line here" : "line"}>
              <i>{source.first + place}</i>
              {text}
              {"\n"}
            </span>
          ))}
        </pre>
      ) : (
        <p class="note">The file of this line cannot be read where the application runs.</p>
      )}
    </section>
  );
}

function Topics({ node }: { node: TopologyNode }) {
  const lags = status.value?.lag.topics ?? {};
  if (!node.topics?.length) return null;
  return (
    <section>
      <h3>Waiting by partition</h3>
      {node.topics.map((topic) => (
        <ul class="pairs" key={topic}>
          {Object.entries(lags[topic] ?? {}).map(([number, waits]) => (
            <li key={number}>
              <span>
                {topic}-{number}
              </span>
              <b>{whole(waits)}</b>
            </li>
          ))}
        </ul>
      ))}
    </section>
  );
}

function Stores({ node }: { node: TopologyNode }) {
  const sizes = status.value?.stores ?? [];
  if (node.stores.length === 0) return null;
  return (
    <section>
      <h3>Stores</h3>
      <ul class="pairs">
        {node.stores.map((name) => {
          const own = sizes.filter((each) => each.name === name);
          const entries = own.reduce((sum, each) => sum + (each.entries ?? 0), 0);
          const size = own.reduce((sum, each) => sum + (each.size_bytes ?? 0), 0);
          return (
            <li key={name}>
              <a href={link("stores", [name])}>{name}</a>
              <b>{own.length ? `≈${compact(entries)} entries, ${bytes(size)}` : ""}</b>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function Options({ node }: { node: TopologyNode }) {
  const rest = Object.entries(node).filter(
    ([name, value]) => !KNOWN.has(name) && value !== null && value !== undefined,
  );
  if (rest.length === 0) return null;
  return (
    <section>
      <h3>Options</h3>
      <ul class="pairs">
        {rest.map(([name, value]) => (
          <li key={name}>
            <span>{name.replaceAll("_", " ")}</span>
            <b>{option(value)}</b>
          </li>
        ))}
      </ul>
    </section>
  );
}

function option(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value);
  if (Array.isArray(value)) return value.map(option).join(", ");
  const fields = value as Record<string, unknown>;
  if (typeof fields["function"] === "string") {
    return fields["at"] ? `${fields["function"]} at ${String(fields["at"])}` : fields["function"];
  }
  const type = typeof fields["type"] === "string" ? fields["type"] : "";
  const inner = Object.entries(fields)
    .filter(([name, each]) => name !== "type" && each !== null && each !== undefined)
    .map(([name, each]) => `${name}=${option(each)}`);
  return inner.length ? `${type}(${inner.join(", ")})` : type;
}
