// The JSON of the server: see /openapi.json, and serving/status/models.py in the package.

export interface Verdict {
  level: "well" | "busy" | "warning" | "bad";
  headline: string;
  detail: string;
  fix: string;
}

export interface Failure {
  at_ms: number;
  code: string;
  message: string;
  fix: string | null;
  site: string | null;
  count: number;
}

export interface Restoring {
  store: string;
  partition: number;
  start: number;
  position: number;
  end: number;
}

export interface Instance {
  id: string;
  address: string | null;
  is_leader: boolean;
  tags: Record<string, string>;
  owned: Record<string, number[]>;
  copies: Record<string, number[]>;
}

export interface Thread {
  name: string;
  host: string | null;
  executor: string | null;
  is_alive: boolean;
  share: number;
  tasks: string[];
}

export interface Task {
  id: string;
  thread: string | null;
  records: number;
  rate: number;
  share: number;
  dropped: number;
  restored: number;
  column_batches: number;
  record_batches: number;
}

export interface NodeFigures {
  name: string;
  records: number;
  rate: number;
  share: number;
  dropped: Record<string, number>;
  drop_rate: number;
}

export interface StoreSize {
  name: string;
  partition: number;
  entries: number | null;
  size_bytes: number | null;
}

export interface Copy {
  store: string;
  partition: number;
  instance: string;
  role: string;
  lag: number | null;
}

export interface Commit {
  number: number;
  at_ms: number;
  records: number;
  took_ms: number;
  working_ms: number;
  threads: Record<string, number>;
}

export interface Happening {
  at_ms: number;
  kind: string;
  text: string;
}

export interface Status {
  application: string;
  instance: string;
  version: string;
  at_ms: number;
  state: string;
  since_ms: number;
  started_ms: number | null;
  is_ready: boolean;
  is_leader: boolean;
  is_paused: boolean;
  verdict: Verdict;
  waiting: { what: string; fix: string | null; since_ms: number | null } | null;
  error: Failure | null;
  failures: Failure[];
  totals: Record<
    "records" | "sent" | "logged" | "restored" | "commits" | "reruns" | "dropped",
    number
  >;
  rates: { records: number; sent: number; arriving: number; consumed: Record<string, number> };
  lag: {
    total: number | null;
    clear_s: number | null;
    is_backlog: boolean;
    topics: Record<string, Record<string, number>>;
  };
  latency: { p50_ms: number | null; p99_ms: number | null };
  restoring: Restoring[];
  instances: Instance[];
  threads: Thread[];
  tasks: Task[];
  nodes: NodeFigures[];
  stores: StoreSize[];
  copies: Copy[];
  commits: Commit[];
  events: Happening[];
  column_errors: Record<string, number>;
}

export interface Point {
  at_ms: number;
  records: number | null;
  sent: number | null;
  lag: number | null;
  p50_ms: number | null;
  p99_ms: number | null;
  commit_ms: number | null;
}

export interface About {
  kind: "application" | "sql-server";
  name: string;
  version: string;
  access: "read" | "write" | "full";
  pages: string[];
}

export interface TopologyNode {
  kind: string;
  name: string;
  parents: string[];
  stores: string[];
  site: string | null;
  topics?: string[];
  topic?: string;
  pattern?: unknown;
  [field: string]: unknown;
}

export interface SubTopology {
  id: number;
  is_global: boolean;
  nodes: TopologyNode[];
}

export interface Topology {
  subtopologies: SubTopology[];
  stores: Record<string, { kind: string; name: string }>;
  global_stores: Record<string, unknown>;
  internal_topics: Record<string, unknown>;
}

export interface Program {
  sources: Record<string, { file: string; first: number; lines: string[] }>;
  why_records: Record<string, string>;
  columnar: number[];
}

export interface Heat {
  at_ms: number[];
  lags: Record<string, (number | null)[]>;
  busy: Record<string, (number | null)[]>;
}
