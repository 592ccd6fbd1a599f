// Stores as the server tells of them.

export interface StoreInfo {
  name: string;
  kind: string;
  partitions: number;
  is_global: boolean;
  key_form: string;
  key_serde: string;
  value_serde: string;
  window_size_ms: number | null;
}

export interface Row {
  key: unknown;
  value: unknown;
  timestamp?: number | null;
  window_start?: number | null;
  window_end?: number | null;
  valid_to?: number | null;
}

export interface CommitPoint {
  number: number;
  at_ms: number;
}

export interface Past {
  commit: CommitPoint;
  unknown: { key: string; window_start?: number; window_end?: number }[];
}

export interface Page {
  rows: Row[];
  truncated: boolean;
  next: string | null;
  past?: Past;
}

export interface DifferenceRow {
  partition: number;
  key: unknown;
  before: unknown;
  after: unknown;
  is_known?: boolean;
  timestamp?: number;
  window_start?: number;
  window_end?: number;
}

export interface Difference {
  first: CommitPoint;
  second: CommitPoint;
  rows: DifferenceRow[];
  truncated: boolean;
}

export interface KeyChange {
  partition: number;
  offset: number;
  value: unknown;
  timestamp?: number;
  window_start?: number;
  window_end?: number;
  commit?: number;
}

export interface Change {
  partition: number;
  offset: number;
  key: unknown;
  value: unknown;
  timestamp?: number;
  window_start?: number;
  window_end?: number;
}

const KINDS: Record<string, string> = {
  kv: "key-value",
  timestamped_kv: "key-value",
  versioned_kv: "versioned",
  window: "windows",
  timestamped_window: "windows",
  session: "sessions",
};

export function kindOf(store: StoreInfo): string {
  return KINDS[store.kind] ?? store.kind.replaceAll("_", " ");
}

export const isWindowed = (store: StoreInfo) => /window|session/.test(store.kind);
export const isVersioned = (store: StoreInfo) => store.kind.includes("versioned");

/** A key as it stands in a URL. */
export function keyText(store: StoreInfo, key: unknown): string {
  if (store.key_form !== "json") return typeof key === "string" ? key : JSON.stringify(key);
  if (store.key_serde === "RowSerde" && typeof key === "object" && key !== null) {
    // A row of SQL is an object in answers, and its columns in order in a URL.
    const columns = Object.values(key);
    return JSON.stringify(columns.length === 1 ? columns[0] : columns);
  }
  return JSON.stringify(key);
}

/** What tells rows of a store apart. */
export function rowId(row: { key: unknown; window_start?: number | null; window_end?: number | null }) {
  return `${JSON.stringify(row.key)} ${row.window_start ?? ""} ${row.window_end ?? ""}`;
}
