// The editor of a theory: one CodeMirror view; each file keeps its own state, with its own history.
import { autocompletion, completionKeymap, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching } from "@codemirror/language";
import { forEachDiagnostic, lintKeymap, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState, type Text } from "@codemirror/state";
import {
  drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, highlightSpecialChars, keymap, lineNumbers,
} from "@codemirror/view";
import type { Mistake } from "../api";
import { changeOf } from "./advice";
import { colours, herbrand, KEYWORDS } from "./language";

export interface Words {
  predicates: string[];
  constants: string[];
}
export interface EditorCalls {
  changed(text: string): void;
  /** The text that the page has now. */
  text(): string;
  words(): Words;
  run(): void;
  save(): void;
}

const theme = EditorView.theme({
  "&": { height: "100%", color: "var(--text)", backgroundColor: "var(--page)", fontSize: "0.92rem" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--text)", padding: "0.5rem 0" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--page)", color: "var(--soft)", border: "none" },
  ".cm-activeLine": { backgroundColor: "var(--line)" },
  ".cm-activeLineGutter": { backgroundColor: "var(--line)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--selection)",
  },
  ".cm-matchingBracket": { backgroundColor: "var(--selection)", outline: "none" },
  // The lint package draws its underlines from data: images, which the content policy forbids.
  ".cm-lintRange": { backgroundImage: "none", textDecoration: "underline wavy var(--bad)", textUnderlineOffset: "3px" },
  ".cm-lintRange-error, .cm-lintRange-info, .cm-lintRange-hint": { backgroundImage: "none" },
  ".cm-lintRange-warning": { backgroundImage: "none", textDecorationColor: "var(--warn)" },
  ".cm-lintRange-active": { backgroundColor: "var(--selection)" },
  ".cm-tooltip": { backgroundColor: "var(--raised)", color: "var(--text)", border: "1px solid var(--edge)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-diagnosticAction": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-panels": { backgroundColor: "var(--raised)", color: "var(--text)" },
  ".cm-searchMatch": { backgroundColor: "var(--selection)" },
  ".cm-textfield": { backgroundColor: "var(--page)", color: "var(--text)" },
  ".cm-button": { backgroundImage: "none", backgroundColor: "var(--raised)", color: "var(--text)" },
});

/** The place of a line and column, both counted from 1, inside the text. The server counts characters, and the
 * editor units of 16 bits, of which some characters have two. */
function placeOf(doc: Text, line: number | null, column: number | null): number {
  if (line === null) return 0;
  const found = doc.line(Math.min(Math.max(line, 1), doc.lines));
  return found.from + [...found.text].slice(0, Math.max((column ?? 1) - 1, 0)).join("").length;
}

/** The text with the ends of lines that the editor works with. */
const lines = (text: string) => text.replace(/\r\n?/g, "\n");

export class TheoryEditor {
  readonly view: EditorView;
  private readonly states = new Map<string, EditorState>();
  private marked = new Map<Mistake, Diagnostic>();
  private name: string;
  private readonly calls: EditorCalls;

  constructor(parent: HTMLElement, name: string, text: string, calls: EditorCalls) {
    this.calls = calls;
    this.name = name;
    this.view = new EditorView({ parent, state: this.stateOf(text) });
  }

  /** Show another file, or the same one with another text. */
  show(name: string, text: string): void {
    if (name !== this.name) {
      if (this.name) this.states.set(this.name, this.view.state);
      this.name = name;
      const kept = this.states.get(name);
      this.view.setState(kept && kept.doc.toString() === lines(text) ? kept : this.stateOf(text));
    } else if (this.view.state.doc.toString() !== lines(text)) {
      this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } });
    }
  }

  /** Forget the states of all files: another project is open. */
  forget(): void {
    this.states.clear();
    this.name = "";
  }

  mark(mistakes: Mistake[]): void {
    this.marked = new Map(mistakes.map((mistake) => [mistake, this.diagnostic(mistake)]));
    this.view.dispatch(setDiagnostics(this.view.state, [...this.marked.values()]));
  }

  goTo(line: number | null, column: number | null): void {
    this.view.dispatch({ selection: { anchor: placeOf(this.view.state.doc, line, column) }, scrollIntoView: true });
    this.view.focus();
  }

  /** Whether the advice for a mistake names a change. */
  adviceOf(mistake: Mistake): string | null {
    return this.marked.get(mistake)?.actions?.[0]?.name ?? null;
  }

  apply(mistake: Mistake): void {
    const marked = this.marked.get(mistake);
    this.mend((at) => at === marked);
    this.view.focus();
  }

  /** Tell of another text, with the ends of lines that the file has. */
  private changed(text: string): void {
    const before = this.calls.text();
    if (text !== lines(before)) this.calls.changed(before.includes("\r\n") ? text.replace(/\n/g, "\r\n") : text);
  }

  private diagnostic(mistake: Mistake): Diagnostic {
    const { doc } = this.view.state;
    const from = placeOf(doc, mistake.line, mistake.column);
    const to = Math.max(from, placeOf(doc, mistake.end_line ?? mistake.line, mistake.end_column ?? mistake.column));
    const change = mistake.line === null ? null : changeOf(doc.toString(), from, to, mistake.message, mistake.hint);
    const end = to > from ? to : Math.min(from + 1, doc.length);
    const marked = doc.sliceString(from, end);
    return {
      from,
      to: end,
      severity: mistake.severity === "warning" ? "warning" : "error",
      message: mistake.hint ? `${mistake.message}\n${mistake.hint}` : mistake.message,
      actions: change
        ? [{
            name: change.says,
            apply: (view, start, stop) => {
              if (view.state.sliceDoc(start, stop) !== marked) return; // it was typed over since it was checked
              const changes = { from: change.from + start - from, to: change.to + start - from, insert: change.insert };
              view.dispatch({ changes, scrollIntoView: true });
            },
          }]
        : [],
    };
  }

  private stateOf(text: string): EditorState {
    return EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(), highlightActiveLineGutter(), highlightSpecialChars(), history(), drawSelection(),
        EditorState.allowMultipleSelections.of(true), bracketMatching(), highlightActiveLine(),
        highlightSelectionMatches(), herbrand, colours, theme, EditorView.lineWrapping,
        // Enter must stay a new line while suggestions are open: none is chosen until an arrow key does so.
        autocompletion({ override: [(context) => this.complete(context)], selectOnOpen: false, icons: false }),
        EditorView.contentAttributes.of({ "aria-label": "Theory", spellcheck: "false" }),
        keymap.of([
          { key: "Mod-Enter", run: () => (this.calls.run(), true) },
          { key: "Mod-s", run: () => (this.calls.save(), true), preventDefault: true },
          { key: "Mod-.", run: ({ state }) => this.mend((_, to) => to >= state.selection.main.head) },
          ...completionKeymap, ...lintKeymap, ...searchKeymap, ...historyKeymap, ...defaultKeymap,
        ]),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) this.changed(update.state.doc.toString());
        }),
      ],
    });
  }

  /** Take the advice for the first mistake that is wanted, where that is by now; ``false`` for none. */
  private mend(wanted: (at: Diagnostic, to: number) => boolean): boolean {
    const found: { at: Diagnostic; from: number; to: number }[] = [];
    forEachDiagnostic(this.view.state, (at, from, to) => {
      if (at.actions?.length && wanted(at, to)) found.push({ at, from, to });
    });
    const first = found[0];
    first?.at.actions?.[0]?.apply(this.view, first.from, first.to);
    return first !== undefined;
  }

  private complete(context: CompletionContext): CompletionResult | null {
    const inText = context.matchBefore(/"[^"\n]*$/);
    const line = context.state.doc.lineAt(context.pos);
    const before = line.text.slice(0, context.pos - line.from);
    const quotes = before.replace(/\\./g, "").split('"').length - 1;
    const { predicates, constants } = this.calls.words();
    if (inText && quotes % 2 === 1) {
      const options = constants.filter((name) => name.startsWith('"'))
        .map((name) => ({ label: name, type: "constant", apply: name.slice(0, -1) }));
      return { from: inText.from, options, validFor: /^"[^"\n]*$/ };
    }
    if (before.includes("#") && quotes % 2 === 0 && /#[^"]*$/.test(before)) return null;
    const word = context.matchBefore(/[\p{L}_][\p{L}\p{N}_]*$/u);
    if (!word && !context.explicit) return null;
    const known = new Set(predicates);
    return {
      from: word ? word.from : context.pos,
      options: [
        ...predicates.map((label) => ({ label, type: "function", boost: 2 })),
        ...KEYWORDS.filter((label) => !known.has(label)).map((label) => ({ label, type: "keyword" })),
      ],
      validFor: /^[\p{L}\p{N}_]*$/u,
    };
  }
}
