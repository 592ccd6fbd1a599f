// Lag by partition and load by task over time, as a heat map: skew at a glance.
import { useEffect, useRef, useState } from "preact/hooks";
import { get } from "../../lib/api";
import { clock, compact, percent } from "../../lib/format";
import { base } from "../../lib/live";
import { isDark } from "../../lib/theme";
import type { Heat } from "../../lib/types";
import { Empty, Panel } from "../../ui/parts";

const AGAIN_MS = 5000;
const ROW = 15;
const MOST_ROWS = 60;
const WIDEST_LABEL = 150;
/** Fewer records than these are no lag to speak of. */
const LEAST_LAG = 1000;

type Mode = "lags" | "busy";

export function HeatPanel() {
  const [mode, setMode] = useState<Mode>("lags");
  const heat = useHeat();
  const rows = Object.entries(heat?.[mode] ?? {});
  return (
    <Panel
      title={mode === "lags" ? "Records that wait, by partition" : "Share of time, by task"}
      note="over the last minutes"
      tools={
        <div class="segments" role="group" aria-label="What the map shows">
          <button aria-pressed={mode === "lags"} onClick={() => setMode("lags")}>
            Lag
          </button>
          <button aria-pressed={mode === "busy"} onClick={() => setMode("busy")}>
            Load
          </button>
        </div>
      }
    >
      {!heat || rows.length === 0 || heat.at_ms.length < 2 ? (
        <Empty>There are not enough samples yet.</Empty>
      ) : (
        <Map heat={heat} rows={rows.slice(0, MOST_ROWS)} mode={mode} />
      )}
      {rows.length > MOST_ROWS && (
        <p class="note">The first {MOST_ROWS} of {rows.length}.</p>
      )}
    </Panel>
  );
}

function useHeat(): Heat | null {
  const [heat, setHeat] = useState<Heat | null>(null);
  const path = base.value;
  useEffect(() => {
    const controller = new AbortController();
    const ask = () =>
      get<Heat>(`${path}status/heat`, controller.signal).then(setHeat, () => undefined);
    void ask();
    const timer = setInterval(() => document.hidden || ask(), AGAIN_MS);
    return () => {
      controller.abort();
      clearInterval(timer);
    };
  }, [path]);
  return heat;
}

interface MapProps {
  heat: Heat;
  rows: [string, (number | null)[]][];
  mode: Mode;
}

function Map({ heat, rows, mode }: MapProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [pointed, setPointed] = useState<string | null>(null);
  const [width, setWidth] = useState(0);
  const dark = isDark.value;
  const most = Math.max(mode === "busy" ? 0.05 : LEAST_LAG, ...rows.flatMap(([, each]) => each.map((v) => v ?? 0)));
  const height = rows.length * ROW;
  const [first, last] = [heat.at_ms[0]!, heat.at_ms.at(-1)!];

  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => setWidth(entry!.contentRect.width));
    watch.observe(canvas.current!.parentElement!);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    if (width > 0) paint(canvas.current!, heat, rows, most, width);
  }, [heat, mode, dark, width]);

  const point = (event: PointerEvent) => {
    const area = canvas.current!.getBoundingClientRect();
    const row = rows[Math.floor((event.clientY - area.top) / ROW)];
    const label = labelWidth(area.width);
    const share = (event.clientX - area.left - label) / (area.width - label);
    if (!row || share < 0) return setPointed(null);
    const at = first + share * (last - first);
    const place = nearest(heat.at_ms, at);
    const value = row[1][place];
    const text = value === null || value === undefined ? "not known" : said(value, mode);
    setPointed(`${row[0]}, ${clock(heat.at_ms[place]!)}: ${text}`);
  };
  const worst = [...rows].sort((a, b) => (b[1].at(-1) ?? 0) - (a[1].at(-1) ?? 0)).slice(0, 3);
  const says = worst.map(([name, each]) => `${name} ${said(each.at(-1) ?? 0, mode)}`).join(", ");
  return (
    <div class="heat-holder">
      <canvas
        class="heat"
        ref={canvas}
        style={{ height }}
        role="img"
        aria-label={`The highest now: ${says}`}
        onPointerMove={point}
        onPointerLeave={() => setPointed(null)}
      />
      <p class="heat-foot note">
        <span>{clock(first)}</span>
        <span>{pointed ?? `darkest: ${said(most, mode)}`}</span>
        <span>{clock(last)}</span>
      </p>
    </div>
  );
}

function labelWidth(width: number): number {
  return Math.min(WIDEST_LABEL, width * 0.34);
}

function said(value: number, mode: Mode): string {
  return mode === "busy" ? percent(value) : `${compact(value)} records`;
}

function nearest(times: number[], at: number): number {
  let found = 0;
  for (let place = 0; place < times.length; place++) if (times[place]! <= at) found = place;
  return found;
}

function paint(
  canvas: HTMLCanvasElement,
  heat: Heat,
  rows: MapProps["rows"],
  most: number,
  width: number,
) {
  const ratio = devicePixelRatio || 1;
  const height = rows.length * ROW;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const pen = canvas.getContext("2d")!;
  pen.scale(ratio, ratio);
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const [line, text, hot] = [colour("line"), colour("muted"), colour("heat")];
  const [first, last] = [heat.at_ms[0]!, heat.at_ms.at(-1)!];
  const label = labelWidth(width);
  const scale = (at: number) => label + ((at - first) / Math.max(last - first, 1)) * (width - label);
  pen.font = "11px system-ui, sans-serif";
  pen.textBaseline = "middle";
  rows.forEach(([name, values], row) => {
    const top = row * ROW;
    pen.fillStyle = text;
    pen.fillText(fitted(name), 0, top + ROW / 2, label - 8);
    pen.fillStyle = line;
    pen.globalAlpha = 0.45;
    pen.fillRect(label, top + 1, width - label, ROW - 2);
    pen.fillStyle = hot;
    for (let place = 0; place < values.length - 1; place++) {
      const value = values[place];
      if (!value) continue;
      // The root shows small values, too; the largest one is as dark as it gets.
      pen.globalAlpha = 0.08 + 0.92 * Math.sqrt(value / most);
      const from = scale(heat.at_ms[place]!);
      pen.fillRect(from, top + 1, Math.max(scale(heat.at_ms[place + 1]!) - from, 1), ROW - 2);
    }
    pen.globalAlpha = 1;
  });
}

function fitted(name: string): string {
  return name.length <= 24 ? name : `…${name.slice(-23)}`;
}
