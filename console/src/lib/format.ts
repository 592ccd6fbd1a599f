// Figures, times and sizes as text. A thin space stands between a number and its unit.

const THIN = "\u2009";

/** 12 418 as 12.4 k: three digits that count. */
export function compact(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1e9) return digits(value / 1e9) + THIN + "G";
  if (size >= 1e6) return digits(value / 1e6) + THIN + "M";
  if (size >= 1e4) return digits(value / 1e3) + THIN + "k";
  if (size >= 100 || Number.isInteger(value)) return Math.round(value).toLocaleString("en");
  return digits(value);
}

function digits(value: number): string {
  const size = Math.abs(value);
  const text = value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

export function whole(value: number | null | undefined): string {
  return value === null || value === undefined ? "–" : Math.round(value).toLocaleString("en");
}

export function percent(share: number): string {
  const value = share * 100;
  if (value > 0 && value < 1) return `<1${THIN}%`;
  return `${Math.round(value)}${THIN}%`;
}

export function milliseconds(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  if (value < 1000) return `${digits(value)}${THIN}ms`;
  if (value < 120_000) return `${digits(value / 1000)}${THIN}s`;
  return duration(value);
}

/** A span in its two largest units. */
export function duration(ms: number): string {
  const seconds = Math.max(Math.round(ms / 1000), 0);
  const parts: [number, string][] = [
    [Math.floor(seconds / 86400), "d"],
    [Math.floor(seconds / 3600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "min"],
    [seconds % 60, "s"],
  ];
  const first = parts.findIndex(([count]) => count > 0);
  if (first < 0) return `0${THIN}s`;
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count}${THIN}${unit}`)
    .join(" ");
}

export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let place = 0;
  while (value >= 1024 && place < units.length - 1) {
    value /= 1024;
    place += 1;
  }
  return `${digits(value)}${THIN}${units[place]}`;
}

const TIME = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

export function clock(ms: number): string {
  const date = new Date(ms);
  const day = date.toDateString() === new Date().toDateString() ? "" : `${DAY.format(date)} `;
  return day + TIME.format(date);
}

export function stamp(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime())
    ? String(ms)
    : date.toISOString().replace("T", " ").replace("Z", "");
}

/** A value of a record in one line. */
export function inline(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value) ?? "";
}
