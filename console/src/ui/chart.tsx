// A series over time. All charts of a page move their cursor together.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { colour, isDark } from "../lib/theme";

export interface Line {
  label: string;
  /** A colour of the style sheet, such as accent. */
  colour: string;
  fill?: boolean;
  dash?: number[];
}

interface Props {
  /** Seconds since the epoch, then the values of each line. */
  data: uPlot.AlignedData;
  lines: Line[];
  format: (value: number) => string;
  /** What the chart shows, in words, for those who do not see it. */
  says: string;
  height?: number;
  sync?: string;
  /** How much time the chart shows, even if there are no values for all of it. */
  minutes?: number;
  /** Whether the values stand beside each other as they came, and not over time. */
  byRow?: boolean;
}

export function Chart({ data, lines, format, says, height = 120, sync, minutes, byRow }: Props) {
  const holder = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const dark = isDark.value;

  useEffect(() => {
    const element = holder.current!;
    const made = new uPlot(options(element.clientWidth, height, lines, format, sync, minutes, byRow), data, element);
    plot.current = made;
    const watch = new ResizeObserver(() => {
      const width = element.clientWidth;
      if (width > 0 && width !== made.width) made.setSize({ width, height });
    });
    watch.observe(element);
    return () => {
      watch.disconnect();
      made.destroy();
      plot.current = null;
    };
    // A change of colours needs a new chart, a change of data does not.
  }, [dark, height, minutes, lines.map((line) => line.label).join()]);

  useEffect(() => plot.current?.setData(data), [data]);

  return <div class="chart" ref={holder} role="img" aria-label={says} style={{ height }} />;
}

function options(
  width: number,
  height: number,
  lines: Line[],
  format: (value: number) => string,
  sync: string | undefined,
  minutes: number | undefined,
  byRow = false,
): uPlot.Options {
  const font = "11px system-ui, sans-serif";
  const axis = { stroke: colour("muted"), font, ticks: { show: false }, gap: 4 };
  return {
    width: Math.max(width, 50),
    height,
    padding: [8, 4, 0, 0],
    cursor: {
      y: false,
      points: { size: 6 },
      drag: { x: false, y: false },
      ...(sync ? { sync: { key: sync, setSeries: false } } : {}),
    },
    legend: { show: true, live: true },
    scales: {
      x: {
        time: !byRow,
        ...(minutes ? { range: (_, __, most) => [most - minutes * 60, most] } : {}),
      },
      y: { range: (_, __, most) => [0, most > 0 ? most * 1.12 : 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 22,
        space: 70,
        values: (plot, ticks) =>
          ticks.map((tick) =>
            byRow ? String(tick) : plot.valToPos(tick, "x") < 16 ? "" : shortTime(tick),
          ),
      },
      {
        ...axis,
        size: 46,
        space: 36,
        grid: { stroke: colour("line"), width: 1 },
        values: (_, ticks) => ticks.map(format),
      },
    ],
    series: [
      { value: (_, at) => (at === null ? "" : byRow ? `row ${at}` : fullTime(at)) },
      ...lines.map((line) => ({
        label: line.label,
        stroke: colour(line.colour),
        width: 1.6,
        points: { show: false },
        ...(line.dash ? { dash: line.dash } : {}),
        ...(line.fill ? { fill: `${colour(line.colour)}1f` } : {}),
        value: (_: uPlot, value: number | null) => (value === null ? "–" : format(value)),
      })),
    ],
  };
}

const two = (value: number) => String(value).padStart(2, "0");

function shortTime(seconds: number): string {
  const date = new Date(seconds * 1000);
  const base = `${two(date.getHours())}:${two(date.getMinutes())}`;
  return date.getSeconds() ? `${base}:${two(date.getSeconds())}` : base;
}

function fullTime(seconds: number): string {
  const date = new Date(seconds * 1000);
  return `${shortTime(seconds)}${date.getSeconds() ? "" : ":00"}`;
}
