// What statements have answered: rows, lines, entities, an explained plan, or an error.
import { useMemo, useState } from "preact/hooks";
import { clock, compact, whole } from "../../lib/format";
import type { Entity, Header } from "../../lib/sql";
import { topologyOf } from "../../lib/sql";
import { Chart } from "../../ui/chart";
import { Badge, Problem, Scroll, Value, type Tone } from "../../ui/parts";
import { Graph } from "../topology";

export interface Result {
  id: number;
  statement: string;
  at: number;
  state: "running" | "done" | "stopped" | "failed";
  header: Header | null;
  rows: unknown[][];
  lines: string[];
  entities: Entity[];
  error: unknown;
  /** How many rows there were, of which the last ones are kept. */
  count: number;
}

const TONES: Record<Result["state"], Tone> = {
  running: "busy",
  done: "good",
  stopped: "plain",
  failed: "bad",
};

export function Results({ results, stop }: { results: Result[]; stop: (id: number) => void }) {
  return (
    <div class="results" aria-live="polite">
      {results.map((result) => (
        <OneResult key={result.id} result={result} stop={() => stop(result.id)} />
      ))}
    </div>
  );
}

function OneResult({ result, stop }: { result: Result; stop: () => void }) {
  const [charted, setCharted] = useState(false);
  const numeric = numbers(result);
  return (
    <section class="panel result" aria-label="Result">
      <header>
        <code class="statement">{result.statement.replace(/\s+/g, " ").slice(0, 160)}</code>
        <span class="note">
          {result.header && `${whole(result.count)} rows · `}
          {clock(result.at)}
        </span>
        {result.state === "running" ? (
          <button onClick={stop}>Stop</button>
        ) : (
          <Badge tone={TONES[result.state]}>{result.state}</Badge>
        )}
        {numeric.length > 0 && (
          <button aria-pressed={charted} onClick={() => setCharted(!charted)}>
            {charted ? "Rows" : "Chart"}
          </button>
        )}
      </header>
      <Problem error={result.error} />
      {result.header &&
        (charted ? <RowChart result={result} columns={numeric} /> : <Grid result={result} />)}
      {result.lines.length > 0 && (
        <Scroll label="Records" class="tall">
          <pre class="text">{result.lines.join("\n")}</pre>
        </Scroll>
      )}
      {result.entities.map((entity, place) => (
        <EntityView key={place} entity={entity} />
      ))}
      {result.state === "done" &&
        result.entities.length === 0 &&
        result.lines.length === 0 &&
        !result.header && <p class="note">Done.</p>}
    </section>
  );
}

function Grid({ result }: { result: Result }) {
  const { header, rows, count } = result;
  if (!header) return null;
  return (
    <Scroll label="Rows" class="tall">
      <table class="entries">
        <thead>
          <tr>
            {header.columnNames.map((name, place) => (
              <th key={name} scope="col" title={header.columnTypes[place]}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, place) => (
            <tr key={count - place}>
              {row.map((value, column) => (
                <td key={column} class={typeof value === "number" ? "number left" : ""}>
                  <Value value={value} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length === 0 && result.state !== "running" && <p class="note">No rows.</p>}
      {rows.length === 0 && result.state === "running" && (
        <p class="note">Waiting for the first row…</p>
      )}
    </Scroll>
  );
}

/** The columns of numbers, with their places. */
function numbers({ header, rows }: Result): [string, number][] {
  if (!header || rows.length < 2) return [];
  return header.columnTypes
    .map((type, place): [string, number] => [type, place])
    .filter(([type]) => /^(INTEGER|BIGINT|DOUBLE|DECIMAL)/.test(type))
    .map(([, place]): [string, number] => [header.columnNames[place]!, place]);
}

function RowChart({ result, columns }: { result: Result; columns: [string, number][] }) {
  const [chosen, setChosen] = useState(columns[0]![1]);
  const data = useMemo(() => {
    const values = result.rows.map((row) => Number(row[chosen]));
    const order = [...values].reverse();
    return [order.map((_, place) => place), order] as [number[], number[]];
  }, [result.rows, chosen]);
  const name = result.header?.columnNames[chosen] ?? "";
  return (
    <>
      <label class="note">
        Column{" "}
        <select value={chosen} onChange={(event) => setChosen(Number(event.currentTarget.value))}>
          {columns.map(([each, place]) => (
            <option key={place} value={place}>
              {each}
            </option>
          ))}
        </select>
      </label>
      <Chart
        data={data}
        lines={[{ label: name, colour: "accent", fill: true }]}
        format={compact}
        says={`${name} over ${result.rows.length} rows, oldest first`}
        height={200}
        byRow
      />
    </>
  );
}

function EntityView({ entity }: { entity: Entity }) {
  const type = entity["@type"];
  if (type === "note") return <p>{String(entity["message"])}</p>;
  if (type === "currentStatus") {
    const status = entity["commandStatus"] as { status: string; message: string } | undefined;
    return (
      <p>
        <Badge tone={status?.status === "ERROR" ? "bad" : "good"}>
          {(status?.status ?? "").toLowerCase()}
        </Badge>{" "}
        {status?.message}
      </p>
    );
  }
  if (type === "queryDescription" && entity["queryDescription"])
    return <Explained described={entity["queryDescription"] as Record<string, unknown>} />;
  if (type === "sourceDescription" && entity["sourceDescription"])
    return <Described described={entity["sourceDescription"] as Record<string, unknown>} />;
  const list = Object.entries(entity).find(
    ([name, value]) => Array.isArray(value) && name !== "warnings",
  );
  return (
    <>
      {list ? <Objects rows={list[1] as unknown[]} /> : <pre class="text">{shown(entity)}</pre>}
      {((entity["warnings"] as { message: string }[] | undefined) ?? []).map((each) => (
        <p key={each.message} class="note">
          {each.message}
        </p>
      ))}
    </>
  );
}

function shown(entity: Entity): string {
  const { "@type": _type, statementText: _text, warnings: _warnings, ...rest } = entity;
  return JSON.stringify(rest, null, 2);
}

function Objects({ rows }: { rows: unknown[] }) {
  if (rows.length === 0) return <p class="note">There are none.</p>;
  if (typeof rows[0] !== "object") return <pre class="text">{rows.join("\n")}</pre>;
  const all = rows as Record<string, unknown>[];
  const names = [...new Set(all.flatMap((row) => Object.keys(row)))].filter((name) =>
    all.some((row) => row[name] !== "" && row[name] !== null && row[name] !== undefined),
  );
  return (
    <Scroll label="Answer" class="tall">
      <table class="entries">
        <thead>
          <tr>
            {names.map((name) => (
              <th key={name} scope="col">
                {words(name)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {all.map((row, place) => (
            <tr key={place}>
              {names.map((name) => (
                <td key={name}>
                  <Value value={row[name]} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function words(name: string): string {
  return name.replace(/([A-Z])/g, " $1").toLowerCase();
}

interface Field {
  name: string;
  type?: string;
  schema: { type: string };
}

function Described({ described }: { described: Record<string, unknown> }) {
  const fields = (described["fields"] as Field[] | undefined) ?? [];
  const facts = ["type", "topic", "keyFormat", "valueFormat", "windowType", "partitions"]
    .filter((name) => described[name] !== null && described[name] !== "" && described[name])
    .map((name) => [words(name), String(described[name])]);
  return (
    <div class="split">
      <table>
        <caption>Columns</caption>
        <tbody>
          {fields.map((field) => (
            <tr key={field.name}>
              <th scope="row">
                <code>{field.name}</code>
              </th>
              <td>{field.schema.type}</td>
              <td class="note">{field.type?.toLowerCase() ?? ""}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <ul class="pairs">
        {facts.map(([name, value]) => (
          <li key={name}>
            <span>{name}</span>
            <b>{value}</b>
          </li>
        ))}
      </ul>
    </div>
  );
}

function Explained({ described }: { described: Record<string, unknown> }) {
  const text = String(described["topology"] ?? "");
  const shape = useMemo(() => topologyOf(text), [text]);
  return (
    <div class="explained">
      <pre class="text">{String(described["executionPlan"] ?? "")}</pre>
      {shape.subtopologies.length > 0 && <Graph shape={shape} />}
    </div>
  );
}
