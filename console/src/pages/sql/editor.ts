// The editor of statements: CodeMirror, in a shadow root, so that the page's policy needs no
// exception for its styles: there they are style sheets of the root, and no elements.
import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { SQLDialect, sql } from "@codemirror/lang-sql";
import { bracketMatching, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { setDiagnostics } from "@codemirror/lint";
import { Compartment, EditorState, Prec } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  keymap,
  lineNumbers,
  placeholder,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Mistake } from "../../lib/sql";

const KEYWORDS =
  "select from where group by having emit changes final limit as create or replace if not exists " +
  "stream table source insert into values with partition within grace period window tumbling " +
  "hopping session size advance retention join left right full outer inner on and between like " +
  "in is null case when then else end cast drop delete topic describe extended explain show list " +
  "streams tables topics queries functions properties types connectors print beginning interval " +
  "set unset define undefine terminate pause resume all alter system assert add column key " +
  "primary headers header latest earliest days hours minutes seconds milliseconds day hour minute " +
  "second escape distinct variables schema timeout milliseconds union";
const TYPES =
  "boolean int integer bigint double decimal varchar string bytes time date timestamp array map struct";

const dialect = SQLDialect.define({
  keywords: KEYWORDS,
  types: TYPES,
  identifierQuotes: "`\"",
  slashComments: false,
  hashComments: false,
  doubleQuotedStrings: false,
});

const look = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--panel)", fontSize: "13.5px", height: "100%" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6" },
  ".cm-content": { padding: "10px 0", caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--muted)", border: "0" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--accent) 6%, transparent)" },
  ".cm-selectionBackground, &.cm-focused .cm-selectionBackground": {
    backgroundColor: "color-mix(in srgb, var(--accent) 24%, transparent) !important",
  },
  ".cm-tooltip": {
    backgroundColor: "var(--panel)",
    color: "var(--text)",
    border: "1px solid var(--line-strong)",
    borderRadius: "7px",
    overflow: "hidden",
  },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": {
    backgroundColor: "var(--accent)",
    color: "var(--panel)",
  },
  // The pictures of the base theme are data, which the policy of the page refuses.
  ".cm-lintRange-error": {
    backgroundImage: "none",
    borderBottom: "2px solid var(--bad)",
  },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
  ".cm-placeholder": { color: "var(--muted)" },
});

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--accent)", fontWeight: "600" },
  { tag: [tags.typeName, tags.standard(tags.name)], color: "var(--second)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--warn)" },
  { tag: tags.comment, color: "var(--muted)", fontStyle: "italic" },
]);

/** Names that are offered while one types: sources with their columns, and functions. */
export interface Names {
  sources: Record<string, string[]>;
  functions: string[];
}

export interface Editor {
  text: () => string;
  /** What is selected; everything if nothing is. `start` is where it begins. */
  chosen: () => { text: string; start: number };
  replace: (text: string) => void;
  names: (names: Names) => void;
  mark: (mistakes: Mistake[]) => void;
  focus: () => void;
  destroy: () => void;
}

export function open(holder: HTMLElement, text: string, run: () => void, changed: (text: string) => void): Editor {
  const root = holder.shadowRoot ?? holder.attachShadow({ mode: "open" });
  const language = new Compartment();
  const speak = (names: Names) => {
    const support = sql({ dialect, schema: names.sources, upperCaseKeywords: true });
    const functions = names.functions.map((label) => ({ label, type: "function", apply: `${label}(` }));
    const offered = dialect.language.data.of({
      autocomplete: (context: { matchBefore: (p: RegExp) => { from: number } | null; explicit: boolean }) => {
        const word = context.matchBefore(/\w+/);
        return word ? { from: word.from, options: functions, validFor: /^\w*$/ } : null;
      },
    });
    return [support, offered];
  };
  const view = new EditorView({
    parent: root,
    root,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        history(),
        drawSelection(),
        bracketMatching(),
        closeBrackets(),
        highlightActiveLine(),
        autocompletion(),
        syntaxHighlighting(colours),
        look,
        language.of(speak({ sources: {}, functions: [] })),
        placeholder("SELECT * FROM …;   Ctrl-Enter runs what is selected, or everything"),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ "aria-label": "Statements" }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) changed(update.state.doc.toString());
        }),
        Prec.highest(keymap.of([{ key: "Mod-Enter", run: () => (run(), true) }])),
        keymap.of([
          ...closeBracketsKeymap,
          ...completionKeymap,
          ...historyKeymap,
          ...defaultKeymap,
        ]),
      ],
    }),
  });
  return {
    text: () => view.state.doc.toString(),
    chosen: () => {
      const { from, to } = view.state.selection.main;
      if (from === to) return { text: view.state.doc.toString(), start: 0 };
      return { text: view.state.sliceDoc(from, to), start: from };
    },
    replace: (next) =>
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } }),
    names: (names) => view.dispatch({ effects: language.reconfigure(speak(names)) }),
    mark: (mistakes) => {
      const most = view.state.doc.length;
      const found = mistakes.map((each) => ({
        from: Math.min(each.from, most),
        to: Math.min(Math.max(each.to, each.from), most),
        severity: "error" as const,
        message: each.message,
      }));
      view.dispatch(setDiagnostics(view.state, found));
    },
    focus: () => view.focus(),
    destroy: () => view.destroy(),
  };
}
