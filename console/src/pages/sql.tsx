// Statements with completion, results as grids that grow, EXPLAIN as a graph, PRINT, history.
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { about } from "../lib/live";
import {
  execute,
  kindOf,
  mistake,
  print,
  select,
  sources as listSources,
  statements,
  type Entity,
  type Header,
  type Mistake,
  type Source,
  type Statement,
} from "../lib/sql";
import { Icon } from "../ui/icons";
import { Empty, Problem } from "../ui/parts";
import type { Editor } from "./sql/editor";
import { Results, type Result } from "./sql/results";
import { SourceList } from "./sql/sources";
import { savedTest } from "./sql/save";

const TEXT_KEY = "penstock.sql.text";
const HISTORY_KEY = "penstock.sql.history";
const MOST_HISTORY = 60;
const MOST_ROWS = 1000;

/** What ran, and what came out; kept while other pages are looked at. */
const kept = signal<Result[]>([]);
let numbers = 0;

function update(id: number, change: Partial<Result>) {
  kept.value = kept.value.map((each) => (each.id === id ? { ...each, ...change } : each));
}

export function SqlPage() {
  const holder = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor | null>(null);
  const results = kept.value;
  const [known, setKnown] = useState<Source[]>([]);
  const [failure, setFailure] = useState<unknown>(null);
  const [properties, setProperties] = useState<Record<string, string>>({});
  const [past, setPast] = useState<string[]>(readHistory);
  const running = useRef(new Map<number, AbortController>());
  const settings = useRef(properties);
  settings.current = properties;

  const refresh = () =>
    listSources().then((found) => {
      setKnown(found);
      setFailure(null);
      const names = Object.fromEntries(
        found.map((each) => [each.name, each.fields.map((field) => field.name)]),
      );
      void functions().then((all) => editor.current?.names({ sources: names, functions: all }));
    }, setFailure);

  const run = async () => {
    const made = editor.current;
    if (!made) return;
    const chosen = made.chosen();
    const all = statements(chosen.text).map((each) => ({
      ...each,
      start: each.start + chosen.start,
    }));
    made.mark([]);
    if (all.length === 0) return;
    remember(chosen.text.trim());
    setPast(readHistory());
    const mistakes: Mistake[] = [];
    for (const statement of all) {
      const error = await one(statement);
      if (error === undefined) continue;
      const found = mistake(error, statement);
      if (found) mistakes.push(found);
      break;
    }
    made.mark(mistakes);
    void refresh();
  };

  /** Run one statement. SELECT and PRINT go on by themselves; an error ends the script. */
  const one = async (statement: Statement): Promise<unknown> => {
    const id = ++numbers;
    const kind = kindOf(statement.text);
    const fresh: Result = {
      id,
      statement: statement.text,
      at: Date.now(),
      state: "running",
      rows: [],
      lines: [],
      entities: [],
      header: null,
      error: null,
      count: 0,
    };
    kept.value = [fresh, ...kept.value].slice(0, 20);
    if (kind === "set" || kind === "unset") return configure(statement.text, id);
    const controller = new AbortController();
    running.current.set(id, controller);
    try {
      if (kind === "select") return await rows(id, statement.text, controller.signal);
      if (kind === "print") return await lines(id, statement.text, controller.signal);
      const entities = await execute(statement.text, settings.current, controller.signal);
      update(id, { state: "done", entities });
    } catch (error) {
      if (controller.signal.aborted) update(id, { state: "stopped" });
      else {
        update(id, { state: "failed", error });
        return error;
      }
    } finally {
      // A query that goes on after its first answer can still be stopped.
      if (kind !== "select" && kind !== "print") running.current.delete(id);
    }
    return undefined;
  };

  /** Resolves with the header: a push query that goes on does not hold up what is behind it. */
  const rows = (id: number, text: string, signal: AbortSignal) =>
    new Promise<unknown>((settled) => {
      const taken: unknown[][] = [];
      let count = 0;
      let header: Header | null = null;
      const isPush = /\bEMIT\s+(CHANGES|FINAL)\b/i.test(text);
      const show = () => {
        const shown = isPush ? [...taken].reverse() : [...taken];
        update(id, { rows: shown, count, header });
      };
      const timer = setInterval(show, 250);
      void (async () => {
        try {
          for await (const each of select(text, settings.current, signal)) {
            if (!Array.isArray(each)) {
              header = each;
              show();
              if (isPush) settled(undefined);
              continue;
            }
            count += 1;
            taken.push(each);
            // Of a push query the newest rows stay, of a pull query the first ones.
            if (taken.length > MOST_ROWS) isPush ? taken.shift() : taken.pop();
          }
          show();
          update(id, { state: "done" });
          settled(undefined);
        } catch (error) {
          show();
          update(id, signal.aborted ? { state: "stopped" } : { state: "failed", error });
          settled(signal.aborted ? undefined : error);
        } finally {
          clearInterval(timer);
          running.current.delete(id);
        }
      })();
    });

  const lines = (id: number, text: string, signal: AbortSignal) =>
    new Promise<unknown>((settled) => {
      let taken: string[] = [];
      const show = () => update(id, { lines: taken, count: taken.length });
      const timer = setInterval(show, 250);
      setTimeout(() => settled(undefined), 600);
      void (async () => {
        try {
          for await (const line of print(text, settings.current, signal))
            taken = [...taken, line].slice(-MOST_ROWS);
          show();
          update(id, { state: "done" });
          settled(undefined);
        } catch (error) {
          show();
          update(id, signal.aborted ? { state: "stopped" } : { state: "failed", error });
          settled(signal.aborted ? undefined : error);
        } finally {
          clearInterval(timer);
          running.current.delete(id);
        }
      })();
    });

  const configure = (text: string, id: number): unknown => {
    const found = /^\s*(UN)?SET\s+'([^']+)'\s*(?:=\s*'([^']*)')?\s*;?\s*$/i.exec(text);
    if (!found) {
      const error = new Error("write it as SET 'name'='value'; or UNSET 'name';");
      update(id, { state: "failed", error });
      return error;
    }
    const next = { ...settings.current };
    if (found[1]) delete next[found[2]!];
    else next[found[2]!] = found[3] ?? "";
    settings.current = next;
    setProperties(next);
    const said = found[1] ? `${found[2]} is not set any more` : `${found[2]} = ${found[3]}`;
    update(id, { state: "done", entities: [{ "@type": "note", message: said }] });
    return undefined;
  };

  useEffect(() => {
    let isGone = false;
    void import("./sql/editor").then(({ open }) => {
      if (isGone || !holder.current) return;
      const text = localStorage.getItem(TEXT_KEY) ?? "";
      editor.current = open(
        holder.current,
        text,
        () => void run(),
        (next) => localStorage.setItem(TEXT_KEY, next),
      );
      editor.current.focus();
      void refresh();
    });
    return () => {
      isGone = true;
      editor.current?.destroy();
      for (const each of running.current.values()) each.abort();
    };
  }, []);

  const save = () => {
    const text = savedTest(known, past, results);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
    link.download = "test.sql";
    link.click();
    URL.revokeObjectURL(link.href);
  };

  return (
    <div class="sql">
      <SourceList
        sources={known}
        insert={(text) => {
          editor.current?.replace(text);
          editor.current?.focus();
        }}
      />
      <div class="sql-main">
        <div class="editor" ref={holder} />
        <div class="editor-tools">
          <button class="primary" onClick={() => void run()}>
            <Icon name="play" size={14} /> Run
          </button>
          <span class="note">Ctrl-Enter; what is selected, or everything</span>
          {Object.keys(properties).length > 0 && (
            <span class="note">
              {Object.entries(properties).map(([name, value]) => `${name}=${value}`).join(", ")}
            </span>
          )}
          <div class="tools">
            <select
              aria-label="History"
              value=""
              onChange={(event) => {
                const text = event.currentTarget.value;
                event.currentTarget.value = "";
                if (text) editor.current?.replace(text);
              }}
            >
              <option value="">History</option>
              {past.map((text) => (
                <option key={text} value={text}>
                  {text.replace(/\s+/g, " ").slice(0, 90)}
                </option>
              ))}
            </select>
            <button onClick={save} disabled={results.length === 0}>
              Save as test
            </button>
          </div>
        </div>
        <Problem error={failure} />
        {about.value?.access === "read" && (
          <p class="note">With your credentials you can ask, but not change anything.</p>
        )}
        {results.length === 0 && (
          <Empty>
            Results appear here. Push queries, those with EMIT CHANGES, go on until you stop them.
          </Empty>
        )}
        <Results results={results} stop={(id) => running.current.get(id)?.abort()} />
      </div>
    </div>
  );
}

let functionNames: Promise<string[]> | null = null;

function functions(): Promise<string[]> {
  functionNames ??= execute("SHOW FUNCTIONS;", {}).then(
    (found) =>
      found.flatMap((entity: Entity) =>
        ((entity["functions"] as { name: string }[] | undefined) ?? []).map((each) => each.name),
      ),
    () => [],
  );
  return functionNames;
}

function readHistory(): string[] {
  try {
    return JSON.parse(localStorage.getItem(HISTORY_KEY) ?? "[]") as string[];
  } catch {
    return [];
  }
}

function remember(text: string) {
  const others = readHistory().filter((each) => each !== text);
  localStorage.setItem(HISTORY_KEY, JSON.stringify([text, ...others].slice(0, MOST_HISTORY)));
}
