// The JSON of dead letters: see /openapi.json, and serving/failed/models.py in the package.

export interface Part {
  form: "text" | "value" | "base64";
  text: string;
}

export interface FailedRecord {
  partition: number;
  offset: number;
  timestamp: number;
  topic: string;
  source_partition: number;
  source_offset: number;
  key: unknown;
  value: unknown;
  is_decoded: boolean;
  is_cut: boolean;
  message: string;
  redriven: { count: number; by: string; at: string; note: string } | null;
  sent: { partition: number; offset: number; by: string; at: string } | null;
}

export interface FailedGroup {
  error: string;
  node: string;
  site: string | null;
  message: string;
  count: number;
  left: number;
  first_ms: number;
  last_ms: number;
  topics: string[];
  records: FailedRecord[];
}

export interface FailedRecords {
  application: string;
  topic: string | null;
  count: number;
  is_whole: boolean;
  through: Record<string, number>;
  groups: FailedGroup[];
}

export interface FailedDetail {
  record: FailedRecord;
  error: string;
  code: string;
  node: string;
  site: string | null;
  stacktrace: string;
  headers: { name: string; value: unknown }[];
  edit_key: Part | null;
  edit_value: Part | null;
  refused: string | null;
}

export interface Delivery {
  partition: number;
  offset: number;
  topic: string;
  to_partition: number | null;
  to_offset: number | null;
  code: string | null;
  message: string | null;
}

export interface Redriven {
  sent: number;
  refused: number;
  records: Delivery[];
}

export function placeOf(record: { partition: number; offset: number }): string {
  return `${record.partition}:${record.offset}`;
}
