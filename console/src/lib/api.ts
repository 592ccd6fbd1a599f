// Questions to the server this page came from. Every address is relative to the page.
import { signal } from "@preact/signals";

const KEY = "penstock.credentials";
const ROOT = new URL("../", location.href);

/** Whether the server has refused the credentials, or wants some. */
export const needsLogin = signal(false);

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly fix: string | null = null,
    readonly body: unknown = null,
  ) {
    super(message);
  }
}

/** The server did not answer at all. */
export class GoneError extends Error {}

takeToken();

/** A link that `penstock run --console` prints has a token behind the #, which no server sees. */
function takeToken() {
  const found = /[#&]token=([^&]+)/.exec(location.hash);
  if (!found) return;
  sessionStorage.setItem(KEY, `Bearer ${decodeURIComponent(found[1]!)}`);
  history.replaceState(null, "", location.pathname + location.search);
}

export function logIn(authorization: string) {
  sessionStorage.setItem(KEY, authorization);
  needsLogin.value = false;
}

export function address(path: string): URL {
  return new URL(path, ROOT);
}

export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  const credentials = sessionStorage.getItem(KEY);
  if (credentials) headers.set("authorization", credentials);
  let answer: Response;
  try {
    answer = await fetch(address(path), { ...init, headers });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new GoneError(String(error));
  }
  if (answer.status === 401) needsLogin.value = true;
  return answer;
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const answer = await request(path, signal ? { signal } : {});
  if (!answer.ok) throw await problem(answer);
  return (await answer.json()) as T;
}

export async function post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  const answer = await request(path, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json" },
    ...(signal ? { signal } : {}),
  });
  if (!answer.ok) throw await problem(answer);
  const text = await answer.text();
  return (text ? JSON.parse(text) : null) as T;
}

export async function problem(answer: Response): Promise<ApiError> {
  let body: Record<string, unknown> = {};
  try {
    body = (await answer.json()) as Record<string, unknown>;
  } catch {
    // Whatever stands between the page and the server may answer something else.
  }
  const code = String(body["code"] ?? body["error_code"] ?? answer.status);
  const text = String(body["message"] ?? answer.statusText);
  const fix = typeof body["fix"] === "string" ? body["fix"] : null;
  return new ApiError(answer.status, code, text, fix, body);
}

export interface ServerEvent {
  kind: string;
  data: string;
  id: string;
}

/** Read server-sent events. EventSource cannot send a token. */
export async function* events(path: string, signal: AbortSignal): AsyncGenerator<ServerEvent> {
  const answer = await request(path, { signal, headers: { accept: "text/event-stream" } });
  if (!answer.ok || !answer.body) throw await problem(answer);
  for await (const block of blocks(answer.body)) {
    const event: ServerEvent = { kind: "message", data: "", id: "" };
    for (const line of block.split("\n")) {
      const colon = line.indexOf(": ");
      if (colon <= 0) continue;
      const text = line.slice(colon + 2);
      if (line.startsWith("event")) event.kind = text;
      else if (line.startsWith("data")) event.data += text;
      else if (line.startsWith("id")) event.id = text;
    }
    yield event;
  }
}

async function* blocks(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
    .getReader();
  let left = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      left += value;
      const parts = left.split("\n\n");
      left = parts.pop()!;
      yield* parts;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
