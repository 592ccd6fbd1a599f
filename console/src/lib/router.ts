// The part behind the #: a page, and what is chosen on it. The server never sees it.
// On an SQL server the pages of an application are those of one query: #/@CTAS_VIEWS_6/topology.
import { signal } from "@preact/signals";

export interface Place {
  /** The query whose pages are shown; null for the application, or for the server's own pages. */
  scope: string | null;
  page: string;
  parts: string[];
  query: URLSearchParams;
}

/** Pages of a server itself, which belong to no query. */
const OWN = new Set(["sql", "queries"]);

function read(): Place {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").map(decodeURIComponent);
  const scope = parts[0]?.startsWith("@") ? parts.shift()!.slice(1) : null;
  const [page = "", ...rest] = parts;
  return { scope, page, parts: rest, query: new URLSearchParams(query) };
}

export const place = signal(read());

addEventListener("hashchange", () => (place.value = read()));

export function link(
  page: string,
  parts: string[] = [],
  query: Record<string, string> = {},
  scope: string | null = OWN.has(page) ? null : place.value.scope,
) {
  const path = [...(scope === null ? [] : [`@${scope}`]), page, ...parts];
  const text = new URLSearchParams(query).toString();
  return `#/${path.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

/** Go to another place; `replace` leaves no entry behind for the Back button. */
export function go(target: string, replace = false) {
  if (replace) {
    history.replaceState(null, "", target);
    place.value = read();
  } else {
    location.hash = target;
  }
}
