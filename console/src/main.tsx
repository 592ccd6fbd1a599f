// The frame around all pages: navigation, the state in one line, login, and who is gone.
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { effect } from "@preact/signals";
import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { logIn, needsLogin } from "./lib/api";
import { compact, duration, milliseconds } from "./lib/format";
import { about, findOut, follow, goneSince, status, unfollow } from "./lib/live";
import { link, place } from "./lib/router";
import { theme, type Theme } from "./lib/theme";
import { ChangesPage } from "./pages/changes";
import { FailedPage } from "./pages/failed";
import { JourneyPage } from "./pages/journey";
import { NowPage, TONES } from "./pages/now";
import { QueriesPage } from "./pages/queries";
import { SqlPage } from "./pages/sql";
import { StoresPage } from "./pages/stores";
import { TasksPage } from "./pages/tasks";
import { TopologyPage } from "./pages/topology";
import { Icon } from "./ui/icons";
import { useNow } from "./ui/parts";

interface Page {
  id: string;
  name: string;
  view: () => preact.JSX.Element;
}

const PAGES: Page[] = [
  { id: "sql", name: "SQL", view: SqlPage },
  { id: "queries", name: "Queries", view: QueriesPage },
  { id: "now", name: "Now", view: NowPage },
  { id: "topology", name: "Topology", view: TopologyPage },
  { id: "stores", name: "Stores", view: StoresPage },
  { id: "tasks", name: "Tasks", view: TasksPage },
  { id: "journey", name: "Journey", view: JourneyPage },
  { id: "changes", name: "Changes", view: ChangesPage },
  { id: "failed", name: "Failed records", view: FailedPage },
];

/** Pages of a server itself; all others are shown for each of its queries. */
const SERVER_PAGES = new Set(["sql", "queries"]);

function App() {
  const offered = about.value?.pages ?? [];
  const isServer = about.value?.kind === "sql-server";
  const { scope, page: wanted } = place.value;
  const all = PAGES.filter((page) => offered.includes(page.id));
  // The pages of an application are those of one query on a server.
  const own = all.filter((page) => isServer && SERVER_PAGES.has(page.id));
  const pages = isServer && scope === null ? [] : all.filter((page) => !own.includes(page));
  const current =
    [...own, ...pages].find((page) => page.id === wanted) ?? (scope === null ? own[0] : undefined) ?? pages[0];
  const isOwn = current !== undefined && own.includes(current);
  if (needsLogin.value) return <Login />;
  return (
    <>
      <a class="skip" href="#main">
        To the page
      </a>
      <aside class="side">
        <div class="brand">
          <Logo />
          <div>
            <b>{about.value?.name ?? "Penstock"}</b>
            <span>Penstock {about.value?.version}</span>
          </div>
        </div>
        <nav aria-label="Pages">
          {own.map((page) => (
            <PageLink key={page.id} page={page} isCurrent={page === current} />
          ))}
          {isServer && scope !== null && (
            <p class="scope">
              <span>{scope}</span>
              <a href={link("queries")} aria-label="Back to all queries">
                <Icon name="close" size={14} />
              </a>
            </p>
          )}
          {pages.map((page) => (
            <PageLink key={page.id} page={page} isCurrent={page === current} />
          ))}
        </nav>
        <ThemeChoice />
      </aside>
      <div class="content">
        <Strip hasState={current?.id !== "now" && !isOwn} name={current?.name ?? ""} />
        <Gone />
        <main id="main" tabIndex={-1} class={goneSince.value === null ? "" : "stale"}>
          {current ? <current.view key={`${scope} ${current.id}`} /> : null}
        </main>
      </div>
    </>
  );
}

function PageLink({ page, isCurrent }: { page: Page; isCurrent: boolean }) {
  const own = useRef<HTMLAnchorElement>(null);
  useEffect(() => {
    // On a telephone the links are a row that scrolls.
    if (isCurrent) own.current?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [isCurrent]);
  return (
    <a ref={own} href={link(page.id)} aria-current={isCurrent ? "page" : undefined}>
      <Icon name={page.id} />
      <span>{page.name}</span>
    </a>
  );
}

function Logo() {
  return (
    <svg width="30" height="30" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" class="logo-ground" />
      <path
        d="M7 8h6.5c3 0 4.5 1.6 4.5 4.5v7c0 2.9 1.5 4.5 4.5 4.5H25"
        fill="none"
        stroke="#fff"
        stroke-width="3.4"
        stroke-linecap="round"
      />
      <circle cx="24.5" cy="8.5" r="2.2" fill="#8fdcf4" />
    </svg>
  );
}

/** The state in one line, above every page but the first, which says it in large letters. */
function Strip({ hasState, name }: { hasState: boolean; name: string }) {
  const now = status.value;
  return (
    <header class="strip">
      <h1>{name}</h1>
      {now && hasState && (
        <p class={`state ${TONES[now.verdict.level]}`}>
          <a href={link("now")}>
            <i class="dot" aria-hidden="true" />
            {now.verdict.headline}
          </a>
          <span>
            <b>{compact(now.rates.records)}</b> records/s
          </span>
          <span>
            <b>{compact(now.lag.total)}</b> waiting
          </span>
          <span class="wide">
            p99 <b>{milliseconds(now.latency.p99_ms)}</b>
          </span>
        </p>
      )}
    </header>
  );
}

function Gone() {
  const since = goneSince.value;
  const time = useNow();
  return (
    <div role="status" class={since === null ? "unseen" : "gone"}>
      {since !== null && (
        <>
          <b>It does not answer</b> since {duration(time - since)}: the process has ended, or the
          network is away. What you see is from before. This page comes back by itself.
        </>
      )}
    </div>
  );
}

const THEMES: [Theme, string, string][] = [
  ["auto", "auto", "As the system"],
  ["light", "sun", "Light"],
  ["dark", "moon", "Dark"],
];

function ThemeChoice() {
  return (
    <div class="themes" role="group" aria-label="Colours">
      {THEMES.map(([id, icon, name]) => (
        <button
          key={id}
          aria-pressed={theme.value === id}
          aria-label={name}
          title={name}
          onClick={() => (theme.value = id)}
        >
          <Icon name={icon} size={16} />
        </button>
      ))}
    </div>
  );
}

function Login() {
  const [text, setText] = useState("");
  const submit = (event: Event) => {
    event.preventDefault();
    const given = text.trim();
    // A name and a password have a colon between them; no token has one.
    logIn(given.includes(":") ? `Basic ${base64(given)}` : `Bearer ${given}`);
    void findOut().catch(() => undefined);
  };
  return (
    <form class="login panel" onSubmit={submit}>
      <Logo />
      <h1>Who are you?</h1>
      <p class="note">
        This server wants a token of penstock.server.tokens or read.tokens, or a name and a
        password as name:password.
      </p>
      <label>
        Token, or name:password
        <input
          type="password"
          autocomplete="current-password"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          autofocus
        />
      </label>
      <button class="primary">Go on</button>
    </form>
  );
}

function base64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}

async function start() {
  for (;;) {
    try {
      await findOut();
      break;
    } catch {
      goneSince.value ??= needsLogin.value ? null : Date.now();
      await new Promise((done) => setTimeout(done, 1000));
    }
  }
  goneSince.value = null;
  // On a server, the query that is chosen is followed; else the application.
  effect(() => {
    const { scope } = place.value;
    if (about.value?.kind !== "sql-server") followOnce("");
    else if (scope !== null) followOnce(`applications/${encodeURIComponent(scope)}/`);
    else followOnce(null);
  });
}

let followed: string | null | undefined;

function followOnce(path: string | null) {
  if (path === followed) return;
  followed = path;
  if (path === null) unfollow();
  else follow(path);
}

render(<App />, document.getElementById("app")!);
void start();
