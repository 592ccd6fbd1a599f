// Statements of SQL: how a script is cut into them, and what the server says of them.
import { ApiError, post, problem, request } from "./api";

export interface Statement {
  text: string;
  /** Where it begins in the script. */
  start: number;
}

/** Cut a script at its semicolons, but not at those in texts and comments. */
export function statements(script: string): Statement[] {
  const found: Statement[] = [];
  let start = 0;
  let place = 0;
  const skip = (end: string) => {
    const at = script.indexOf(end, place + 1);
    place = at < 0 ? script.length : at + end.length;
  };
  while (place < script.length) {
    const char = script[place]!;
    if (char === "'" || char === '"' || char === "`") skip(char);
    else if (script.startsWith("--", place)) skip("\n");
    else if (script.startsWith("/*", place)) skip("*/");
    else if (char === ";") {
      place += 1;
      take(place);
    } else place += 1;
  }
  take(script.length);
  return found;

  function take(end: number) {
    const text = script.slice(start, end);
    const bare = withoutComments(text).trim();
    if (bare && bare !== ";") {
      const lead = text.length - text.trimStart().length;
      found.push({ text: text.trim(), start: start + lead });
    }
    start = end;
  }
}

export function withoutComments(text: string): string {
  return text.replace(/--[^\n]*/g, "").replace(/\/\*[\s\S]*?\*\//g, "");
}

export type Kind = "select" | "print" | "set" | "unset" | "other";

export function kindOf(text: string): Kind {
  const word = /^\s*(\w+)/.exec(withoutComments(text))?.[1]?.toLowerCase() ?? "";
  if (word === "select" || word === "print" || word === "set" || word === "unset") return word;
  return "other";
}

export type Entity = Record<string, unknown> & { "@type": string };

export async function execute(
  text: string,
  properties: Record<string, string>,
  signal?: AbortSignal,
): Promise<Entity[]> {
  return post<Entity[]>("ksql", { ksql: text, streamsProperties: properties }, signal);
}

export interface Header {
  queryId: string | null;
  columnNames: string[];
  columnTypes: string[];
}

/** The rows of a SELECT as they come. */
export async function* select(
  text: string,
  properties: Record<string, string>,
  signal: AbortSignal,
): AsyncGenerator<Header | unknown[]> {
  for await (const line of lines("query-stream", { sql: text, properties }, signal)) {
    const value = JSON.parse(line) as unknown;
    if (Array.isArray(value)) yield value as unknown[];
    else if (value && typeof value === "object" && "columnNames" in value) yield value as Header;
    else if (value && typeof value === "object" && "error_code" in value) {
      const { error_code, message } = value as { error_code: number; message: string };
      throw new ApiError(400, String(error_code), message);
    }
  }
}

/** The lines of a PRINT as they come. */
export function print(
  text: string,
  properties: Record<string, string>,
  signal: AbortSignal,
): AsyncGenerator<string> {
  return lines("query", { ksql: text, streamsProperties: properties }, signal);
}

async function* lines(path: string, body: unknown, signal: AbortSignal): AsyncGenerator<string> {
  const answer = await request(path, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json" },
    signal,
  });
  if (!answer.ok || !answer.body) throw await problem(answer);
  const reader = answer.body
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
    .getReader();
  let left = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      left += value ?? "";
      const parts = left.split("\n");
      left = parts.pop()!;
      for (const part of parts) if (part.trim()) yield part;
      if (done) break;
    }
    if (left.trim()) yield left;
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

export interface Mistake {
  from: number;
  to: number;
  message: string;
}

/** Where an error is in the script, from its line, its column and its caret. */
export function mistake(error: unknown, statement: Statement): Mistake | null {
  if (!(error instanceof Error)) return null;
  const [first = ""] = error.message.split("\n");
  const found = /at:\s+line (\d+), column (\d+)/.exec(error.message);
  if (!found) return null;
  const [line, column] = [Number(found[1]), Number(found[2])];
  const before = statement.text.split("\n").slice(0, line - 1);
  const offset = before.reduce((sum, each) => sum + each.length + 1, 0) + column - 1;
  const caret = /^\s*(\^+)\s*$/m.exec(error.message)?.[1]?.length ?? 1;
  const from = Math.min(offset, statement.text.length);
  const to = Math.min(from + caret, statement.text.length);
  return { from: statement.start + from, to: statement.start + Math.max(to, from), message: first };
}

export interface Source {
  name: string;
  type: string;
  topic: string;
  keyFormat: string;
  valueFormat: string;
  windowType: string | null;
  partitions: number;
  statement: string;
  fields: { name: string; type?: string; schema: { type: string } }[];
}

/** Streams and tables with their columns. */
export async function sources(signal?: AbortSignal): Promise<Source[]> {
  const found = await execute("LIST STREAMS EXTENDED; LIST TABLES EXTENDED;", {}, signal);
  return found.flatMap((entity) => (entity["sourceDescriptions"] as Source[] | undefined) ?? []);
}

/** The graph of an EXPLAIN, from the text that describes it as Kafka Streams does. */
export function topologyOf(text: string) {
  const parts: { id: number; is_global: boolean; nodes: ReturnType<typeof node>[] }[] = [];
  const parents = new Map<string, string[]>();
  let last = "";
  for (const line of text.split("\n")) {
    const part = /Sub-topology: (\d+)(.*)/.exec(line);
    const made = /^\s*(Source|Processor|Sink): (\S+) \((topics|stores|topic): \[?([^\])]*)\]?/.exec(line);
    const ahead = /^\s*--> (.+)$/.exec(line);
    if (part) parts.push({ id: Number(part[1]), is_global: /global/.test(part[2]!), nodes: [] });
    else if (made) {
      last = made[2]!;
      parts.at(-1)?.nodes.push(node(made[1]!, last, made[3]!, made[4]!));
    } else if (ahead && ahead[1] !== "none")
      for (const child of ahead[1]!.split(", "))
        parents.set(child, [...(parents.get(child) ?? []), last]);
  }
  for (const part of parts)
    for (const each of part.nodes) each.parents = parents.get(each.name) ?? [];
  return { subtopologies: parts, stores: {}, global_stores: {}, internal_topics: {} };
}

function node(type: string, name: string, what: string, given: string) {
  const names = given.split(", ").filter(Boolean);
  const kind =
    type === "Processor"
      ? name.replace(/^K(STREAM|TABLE)-/, "").replace(/-\d+$/, "").toLowerCase()
      : type.toLowerCase();
  return {
    kind: `${kind}/1`,
    name,
    parents: [] as string[],
    stores: what === "stores" ? names : [],
    site: null,
    ...(what === "topics" ? { topics: names } : {}),
    ...(what === "topic" ? { topic: names[0] ?? "" } : {}),
  };
}
