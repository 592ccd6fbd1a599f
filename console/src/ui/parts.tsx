// Small parts that every page uses.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Icon } from "./icons";
import { ApiError, GoneError } from "../lib/api";
import { inline } from "../lib/format";

export function Panel(props: {
  title?: string;
  note?: ComponentChildren;
  tools?: ComponentChildren;
  children: ComponentChildren;
  class?: string;
}) {
  return (
    <section class={`panel ${props.class ?? ""}`} aria-label={props.title}>
      {(props.title || props.tools) && (
        <header class="panel-head">
          {props.title && <h2>{props.title}</h2>}
          {props.note !== undefined && <span class="note">{props.note}</span>}
          {props.tools && <div class="tools">{props.tools}</div>}
        </header>
      )}
      {props.children}
    </section>
  );
}

/** What may be wider or longer than its place: it scrolls, also with the keyboard. */
export function Scroll(props: { label: string; class?: string; children: ComponentChildren }) {
  return (
    <div class={`scroll ${props.class ?? ""}`} role="group" aria-label={props.label} tabIndex={0}>
      {props.children}
    </div>
  );
}

export type Tone = "good" | "busy" | "warn" | "bad" | "plain";

export function Badge({ tone = "plain", children }: { tone?: Tone; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

/** A bar whose length is a share of its cell. The figure stands beside it, so it says nothing. */
export function Bar({ share, tone = "plain" }: { share: number; tone?: Tone | "accent" }) {
  const width = `${Math.min(Math.max(share, 0), 1) * 100}%`;
  return (
    <span class={`bar ${tone}`} aria-hidden="true">
      <i style={{ width }} />
    </span>
  );
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

export function Loading() {
  return (
    <p class="empty" role="status">
      Loading…
    </p>
  );
}

/** What went wrong, and what to do. */
export function Problem({ error }: { error: unknown }) {
  if (error === null || error === undefined) return null;
  const known = error instanceof ApiError ? error : null;
  const text =
    error instanceof GoneError
      ? "The server does not answer."
      : error instanceof Error
        ? error.message
        : String(error);
  // Messages of the house style have the place and the advice on lines of their own.
  const [first, ...rest] = text.split("\n");
  const fix = known?.fix ?? rest.find((line) => /^\s*fix: /.test(line))?.replace(/^\s*fix: /, "");
  const place = rest.filter((line) => !/^\s*fix: /.test(line));
  return (
    <div class="problem" role="alert">
      <p>
        {known && !first!.startsWith("[") && <code class="code">{known.code}</code>} {first}
      </p>
      {place.length > 0 && <pre>{place.join("\n")}</pre>}
      {fix && (
        <p class="fix">
          <Icon name="arrow" size={14} /> {fix}
        </p>
      )}
    </div>
  );
}

/** A value of a record: one line, which opens into the whole if it is long. */
export function Value({ value }: { value: unknown }): JSX.Element {
  const [open, setOpen] = useState(false);
  if (value === null || value === undefined) return <span class="null">null</span>;
  const line = inline(value);
  if (open)
    return (
      <pre class="value" onClick={() => setOpen(false)}>
        {typeof value === "string" ? value : JSON.stringify(value, null, 2)}
      </pre>
    );
  if (line.length <= 90) return <code class="value">{line}</code>;
  return (
    <button class="value long" onClick={() => setOpen(true)} title="Show all of it">
      <code>{line.slice(0, 88)}…</code>
    </button>
  );
}

/** A figure that grows while the page is open, such as a time since something. */
export function useNow(everyMs = 1000): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

/** What a question has answered so far. It is asked again when one of `inputs` changes. */
export function useAnswer<T>(
  ask: (signal: AbortSignal) => Promise<T>,
  inputs: unknown[],
): { value: T | null; error: unknown; loading: boolean; again: () => void } {
  const [state, setState] = useState<{ value: T | null; error: unknown; loading: boolean }>({
    value: null,
    error: null,
    loading: true,
  });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const controller = new AbortController();
    setState((before) => ({ ...before, loading: true }));
    ask(controller.signal).then(
      (value) => !controller.signal.aborted && setState({ value, error: null, loading: false }),
      (error: unknown) =>
        !controller.signal.aborted &&
        setState((before) => ({ value: before.value, error, loading: false })),
    );
    return () => controller.abort();
  }, [...inputs, turn]);
  return { ...state, again: () => setTurn((before) => before + 1) };
}
