// Light, dark, or as the system has it. The choice stays in this browser.
import { computed, effect, signal } from "@preact/signals";

export type Theme = "auto" | "light" | "dark";

const KEY = "penstock.theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const systemIsDark = signal(system.matches);
system.addEventListener("change", (event) => (systemIsDark.value = event.matches));

export const theme = signal<Theme>((localStorage.getItem(KEY) as Theme | null) ?? "auto");
export const isDark = computed(() =>
  theme.value === "auto" ? systemIsDark.value : theme.value === "dark",
);

effect(() => {
  document.documentElement.dataset["theme"] = isDark.value ? "dark" : "light";
  if (theme.value === "auto") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, theme.value);
});

/** A colour of the style sheet, for what is drawn on a canvas. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
