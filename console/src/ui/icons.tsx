// Drawn with strokes of the text's colour; each is decoration beside a word.
import type { JSX } from "preact";

const PATHS: Record<string, string> = {
  now: "M3 12h4l2.5-7 5 14 2.5-7h4",
  topology: "M6 4h5v4H6zM13 16h5v4h-5zM4 16h5v4H4zM8.5 8v4M6.5 16v-4h9v4",
  stores: "M5 6c0-1.7 3.1-3 7-3s7 1.3 7 3-3.1 3-7 3-7-1.3-7-3zM5 6v12c0 1.7 3.1 3 7 3s7-1.3 7-3V6M5 12c0 1.7 3.1 3 7 3s7-1.3 7-3",
  tasks: "M4 5h7v6H4zM13 5h7v6h-7zM4 13h7v6H4zM13 13h7v6h-7z",
  journey: "M6 19a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM18 9a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM8 17h6a3 3 0 0 0 0-6h-4a3 3 0 0 1 0-6h6",
  failed: "M12 4 3 20h18zM12 10v4.5M12 17.2v.1",
  changes: "M7 4v12M7 20a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM17 8a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM17 8v3a4 4 0 0 1-4 4H9",
  sql: "M4 6l5 6-5 6M12 18h8",
  queries: "M4 6h16M4 12h16M4 18h10",
  search: "M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM15.5 15.5 20 20",
  plus: "M12 5v14M5 12h14",
  minus: "M5 12h14",
  fit: "M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5",
  close: "M6 6l12 12M18 6 6 18",
  sun: "M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6 19 19M5 19l1.4-1.4M17.6 6.4 19 5",
  moon: "M20 14.5A8 8 0 0 1 9.5 4 8 8 0 1 0 20 14.5z",
  auto: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 3v18M12 7l5 5M12 12l3.5 3.5",
  left: "M15 5l-7 7 7 7",
  right: "M9 5l7 7-7 7",
  down: "M5 9l7 7 7-7",
  arrow: "M5 12h14M13 6l6 6-6 6",
  play: "M7 5l12 7-12 7z",
  stop: "M6 6h12v12H6z",
  pause: "M8 5v14M16 5v14",
  send: "M4 12 20 4l-5 16-4-6zM11 14l9-10",
};

export function Icon({ name, size = 18 }: { name: string; size?: number }): JSX.Element {
  return (
    <svg
      class="icon"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      stroke-width="1.7"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[name] ?? PATHS["now"]!} />
    </svg>
  );
}
