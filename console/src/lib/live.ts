// What the whole page shows: the newest status, the last hour, and whether the server answers.
import { batch, computed, signal } from "@preact/signals";
import { ApiError, address, events, get, needsLogin } from "./api";
import type { About, NodeFigures, Point, Program, Status, Topology } from "./types";

/** Seconds between attempts to reach an application that does not answer. */
const AGAIN_MS = [500, 1000, 2000, 3000];
/** Without any sign of life for so long, the connection is taken for broken. */
const SILENCE_MS = 25_000;
const KEPT_MS = 60 * 60_000;

export const about = signal<About | null>(null);
export const status = signal<Status | null>(null);
/** The last hour, oldest first; replaced, never changed in place. */
export const points = signal<Point[]>([]);
export const topology = signal<Topology | null>(null);
export const program = signal<Program | null>(null);
/** Since when the server has not answered; null while it does. */
export const goneSince = signal<number | null>(null);

/** The part of the server that is looked at: a query of an SQL server, or the application. */
export const base = signal("");

export const nodeFigures = computed(() => {
  const found = new Map<string, NodeFigures>();
  for (const node of status.value?.nodes ?? []) found.set(node.name, node);
  return found;
});

/** What nodes did since the page was opened: the server keeps no series for each of them. */
export const nodePast = signal<Map<string, { at: number[]; rate: number[] }>>(new Map());
const NODE_POINTS = 300;

let following: AbortController | null = null;

/** Follow an application until another one is followed. */
export function follow(path: string) {
  following?.abort();
  const controller = (following = new AbortController());
  batch(() => {
    base.value = path;
    status.value = null;
    points.value = [];
    topology.value = null;
    program.value = null;
    nodePast.value = new Map();
  });
  void loop(path, controller);
}

/** Follow none: the pages of a server itself ask for what they need. */
export function unfollow() {
  following?.abort();
  following = null;
  batch(() => {
    status.value = null;
    goneSince.value = null;
    topology.value = null;
    program.value = null;
  });
}

async function loop(path: string, controller: AbortController) {
  let failures = 0;
  while (!controller.signal.aborted) {
    try {
      await once(path, controller.signal, () => (failures = 0));
    } catch (error) {
      if (controller.signal.aborted) return;
      if (error instanceof ApiError && error.status === 401) {
        await new Promise<void>((done) => {
          const stop = needsLogin.subscribe((needs) => {
            if (!needs) queueMicrotask(() => (stop(), done()));
          });
        });
        continue;
      }
    }
    if (controller.signal.aborted) return;
    goneSince.value ??= Date.now();
    const pause = AGAIN_MS[Math.min(failures++, AGAIN_MS.length - 1)]!;
    await new Promise((done) => setTimeout(done, pause));
  }
}

async function once(path: string, signal: AbortSignal, onLife: () => void) {
  const [shape, code, past] = await Promise.all([
    get<{ topology: Topology }>(`${path}topology`, signal).catch(passing),
    get<Program>(`${path}topology/program`, signal).catch(passing),
    get<{ points: Point[] }>(`${path}status/history`, signal),
  ]);
  batch(() => {
    if (shape) topology.value = same(topology.value, shape.topology);
    if (code) program.value = same(program.value, code);
    points.value = past.points;
  });
  const silence = new AbortController();
  const both = AbortSignal.any([signal, silence.signal]);
  let timer = 0;
  const heard = () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => silence.abort(), SILENCE_MS);
  };
  heard();
  try {
    for await (const event of events(`${path}status/feed`, both)) {
      heard();
      onLife();
      if (event.kind === "status") take(JSON.parse(event.data) as Status);
    }
  } finally {
    clearTimeout(timer);
  }
}

/** An application that starts has no topology to tell yet: the page goes on without. */
function passing(error: unknown): null {
  if (error instanceof ApiError && error.status !== 401) return null;
  throw error;
}

/** Keep the old object if nothing has changed, so that nothing is drawn again. */
function same<T>(before: T | null, after: T): T {
  return before !== null && JSON.stringify(before) === JSON.stringify(after) ? before : after;
}

function take(next: Status) {
  batch(() => {
    goneSince.value = null;
    status.value = next;
    remember(next);
    const last = points.value.at(-1);
    if (!last || next.at_ms > last.at_ms) {
      const from = next.at_ms - KEPT_MS;
      points.value = [
        ...points.value.filter((point) => point.at_ms >= from),
        {
          at_ms: next.at_ms,
          records: next.rates.records,
          sent: next.rates.sent,
          lag: next.lag.total,
          p50_ms: next.latency.p50_ms,
          p99_ms: next.latency.p99_ms,
          commit_ms: next.commits.at(-1)?.took_ms ?? null,
        },
      ];
    }
  });
}

function remember(next: Status) {
  const past = new Map(nodePast.value);
  for (const node of next.nodes) {
    const before = past.get(node.name);
    past.set(node.name, {
      at: [...(before?.at ?? []), next.at_ms / 1000].slice(-NODE_POINTS),
      rate: [...(before?.rate ?? []), node.rate].slice(-NODE_POINTS),
    });
  }
  nodePast.value = past;
}

export async function findOut() {
  about.value = await get<About>("about");
  document.title = `${about.value.name} · Penstock`;
}

export { address };
