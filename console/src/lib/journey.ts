// The JSON of journeys: see /openapi.json, and serving/journey/models.py in the package.

export interface Picked {
  topic: string;
  partition: number;
  offset: number;
  timestamp: number;
  key: unknown;
  value: unknown;
  is_decoded: boolean;
}

export interface PickedRecords {
  topics: string[];
  records: Picked[];
  is_whole: boolean;
}

export interface Access {
  store: string;
  operation: string;
  key: unknown;
  value: unknown;
  before: unknown;
  is_write: boolean;
  window_start: number | null;
  is_known: boolean;
}

export interface Sending {
  topic: string;
  key: unknown;
  value: unknown;
  timestamp: number;
  is_internal: boolean;
}

export interface Step {
  id: number;
  parent: number | null;
  node: string;
  site: string | null;
  key: unknown;
  value: unknown;
  timestamp: number;
  forwarded: number;
  is_skipped: boolean;
  accesses: Access[];
  sent: Sending[];
  dropped: string[];
  error: string | null;
}

export interface Journey {
  record: Picked;
  commit: { number: number; at_ms: number } | null;
  run_before: number;
  is_processed: boolean | null;
  steps: Step[];
  dropped: { node: string; reason: string }[];
  error: string | null;
  is_cut: boolean;
  notes: string[];
}

/** What one task did with a watched record, or with what became of it. */
export interface LiveTrace {
  origin: { topic: string; partition: number; offset: number };
  task: string;
  /** null behind a repartition topic */
  record: Picked | null;
  steps: Step[];
  dropped: { node: string; reason: string }[];
  is_cut: boolean;
  notes: string[];
}

export interface LiveTraces {
  traces: LiveTrace[];
  missed: number;
}
