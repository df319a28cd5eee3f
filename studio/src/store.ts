// Everything that the page knows, in one immutable value; views read it, actions replace it.
import { useLayoutEffect, useState } from "preact/hooks";
import type * as api from "./api";

export type Tab = "Facts" | "Answers" | "Graph" | "Why" | "Trace" | "Compare";
export const TABS: readonly Tab[] = ["Facts", "Answers", "Graph", "Why", "Trace", "Compare"];
export const COMMANDS: readonly api.Command[] = ["infer", "bound", "query", "learn", "induce", "compare"];

/** A run that gave an answer: what was asked, and of which theory. */
export interface Finished {
  number: number;
  asked: api.RunRequest;
  answer: api.Answer;
  theory: string;
  trace: api.TracePoint[];
}
export interface Ongoing {
  running: api.Running;
  asked: api.RunRequest;
  progress: api.Progress | null;
  cost: string | null;
  notes: string[];
  trace: api.TracePoint[];
}
export interface Why {
  subject: string;
  explanation: api.Answer | null;
  trouble: api.Trouble | null;
}
export interface State {
  /** Whether the project has been read; nothing can be typed before, so that nothing is overwritten. */
  opened: boolean;
  files: api.ProjectFile[];
  /** The text of each file as the folder has it; another text in `files` is not saved yet. */
  saved: Record<string, string | null>;
  folder: string | null;
  current: string;
  /** Counts the changes of texts that did not come from the editor, so that it shows them. */
  revision: number;
  /** Tables that the command line named; they are not files of the folder. */
  outside: string[];
  unused: string[];
  tables: api.FactTable[];
  tablesMistake: string | null;
  checked: api.Checked | null;
  checkedIn: number | null;
  command: api.Command;
  question: string;
  given: string[];
  options: api.Option[] | null;
  allOptions: Record<string, api.Option[]>;
  chosen: Record<string, Record<string, string>>;
  ongoing: Ongoing | null;
  finished: Finished[];
  trouble: api.Trouble | null;
  status: string;
  tab: Tab;
  selected: { subject: string; atom: boolean } | null;
  why: Why | null;
  examples: api.Example[];
}

let state: State = {
  opened: false,
  files: [],
  saved: {},
  folder: null,
  current: "",
  revision: 0,
  outside: [],
  unused: [],
  tables: [],
  tablesMistake: null,
  checked: null,
  checkedIn: null,
  command: "infer",
  question: "",
  given: [],
  options: null,
  allOptions: {},
  chosen: {},
  ongoing: null,
  finished: [],
  trouble: null,
  status: "Ready.",
  tab: "Answers",
  selected: null,
  why: null,
  examples: [],
};
const listeners = new Set<() => void>();

export const now = (): State => state;

export function set(change: Partial<State>): void {
  state = { ...state, ...change };
  for (const listener of listeners) listener();
}

/** The part of the state that a view reads; the view is drawn again when that part is another value. */
export function useStore<T>(read: (state: State) => T): T {
  const [value, setValue] = useState(() => read(state));
  useLayoutEffect(() => {
    const listen = () => setValue(() => read(state));
    listeners.add(listen);
    listen();
    return () => void listeners.delete(listen);
  }, []);
  return value;
}

export const latest = (state: State): Finished | null => state.finished[state.finished.length - 1] ?? null;
export const isTheory = (file: api.ProjectFile): boolean => file.kind === "theory";
export const textOf = (state: State, name: string): string => state.files.find((file) => file.name === name)?.text ?? "";
export const unsaved = (state: State): string[] =>
  state.files.filter((file) => file.text !== null && state.saved[file.name] !== file.text).map((file) => file.name);
