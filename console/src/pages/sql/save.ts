// A test for `penstock sql test`, made of what was defined, inserted and read here.
import { kindOf, statements, type Source } from "../../lib/sql";
import type { Result } from "./results";

/** The definitions of all sources, the rows that were inserted here, and those of the last SELECT. */
export function savedTest(sources: Source[], past: string[], results: Result[]): string {
  const definitions = sources.map((source) => ended(source.statement));
  const inserts = past
    .flatMap((text) => statements(text))
    .map((each) => each.text)
    .filter((text) => /^\s*INSERT\s+INTO\b[\s\S]*\bVALUES\b/i.test(text))
    .reverse();
  const read = results.find((each) => each.header && kindOf(each.statement) === "select");
  return [
    "--@test: saved from the console",
    "-- It has the definitions of all streams and tables, the rows that were inserted in this",
    "-- browser, and the rows of the last SELECT. Take out what does not belong to the test.",
    ...definitions,
    "",
    ...inserts.map(ended),
    "",
    ...(read ? assertions(read) : []),
    "",
  ].join("\n");
}

function assertions(read: Result): string[] {
  const name = /\bFROM\s+([\w.`"]+)/i.exec(read.statement)?.[1] ?? "source";
  const { columnNames } = read.header!;
  const rows = /\bEMIT\b/i.test(read.statement) ? [...read.rows].reverse() : read.rows;
  return rows.map(
    (row) => `ASSERT VALUES ${name} (${columnNames.join(", ")}) VALUES (${row.map(literal).join(", ")});`,
  );
}

function literal(value: unknown): string {
  if (value === null) return "NULL";
  if (typeof value === "number") return String(value);
  if (typeof value === "boolean") return value ? "TRUE" : "FALSE";
  if (typeof value === "string") return `'${value.replaceAll("'", "''")}'`;
  if (Array.isArray(value)) return `ARRAY[${value.map(literal).join(", ")}]`;
  const fields = Object.entries(value as Record<string, unknown>);
  return `STRUCT(${fields.map(([name, each]) => `${name} := ${literal(each)}`).join(", ")})`;
}

function ended(text: string): string {
  return text.trimEnd().endsWith(";") ? text.trim() : `${text.trim()};`;
}
