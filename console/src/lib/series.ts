// The last minutes as columns for charts.
import { computed, signal } from "@preact/signals";
import { points } from "./live";
import type { Point } from "./types";

export const RANGES = [5, 15, 60] as const;
export const rangeMinutes = signal<number>(5);

/** Points further apart than this were not measured in between: the line has a gap. */
const GAP_MS = 35_000;

export type Column = (number | null)[];

export const shown = computed(() => {
  const all = points.value;
  const last = all.at(-1)?.at_ms ?? Date.now();
  const from = last - rangeMinutes.value * 60_000;
  const kept: (Point | null)[] = [];
  let before: Point | null = null;
  for (const point of all) {
    if (point.at_ms < from) continue;
    if (before && point.at_ms - before.at_ms > GAP_MS) kept.push(null);
    kept.push(point);
    before = point;
  }
  return kept;
});

const times = computed<number[]>(() => {
  let last = 0;
  return shown.value.map((point) => (last = point ? point.at_ms / 1000 : last + 0.001));
});

/** The times, then a column of values for each field. */
export function columns(...fields: Exclude<keyof Point, "at_ms">[]): [number[], ...Column[]] {
  return [
    times.value,
    ...fields.map((field) => shown.value.map((point) => (point ? point[field] : null))),
  ];
}
