// What the person at the page can do. Each action reads the state, asks the server, and sets the state.
import * as api from "./api";
import type { TheoryEditor } from "./write/editor";
import { credit, sheetOf } from "./see/sheet";
import { isTheory, latest, now, set, textOf, unsaved, type Finished, type Ongoing, type Tab } from "./store";

let editor: TheoryEditor | null = null;
export const setEditor = (made: TheoryEditor | null): void => void (editor = made);
export const getEditor = (): TheoryEditor | null => editor;

const KEPT_RUNS = 12;
const CHECK_AFTER = 90;
const EMPTY = "theory.hb";

const count = (many: number, one: string) => `${many.toLocaleString("en")} ${one}${many === 1 ? "" : "s"}`;
const troubleOf = (error: unknown): api.Trouble =>
  error instanceof api.ServerError ? error.trouble : { message: String(error), where: null, hint: null };

function fail(error: unknown): void {
  const trouble = troubleOf(error);
  set({ trouble, status: `Error: ${trouble.message.split("\n")[0]}` });
}

/** The theory files that a question reads: the first is the one in the editor. */
const theoriesInUse = () => {
  const { files, unused, current } = now();
  const used = files.filter((file) => isTheory(file) && (file.name === current || !unused.includes(file.name)));
  return used.map(({ name }) => name).sort((a, b) => Number(b === current) - Number(a === current));
};
const factFiles = () => {
  const { files, unused, outside } = now();
  const used = files.filter((file) => file.kind === "facts" && !unused.includes(file.name)).map(({ name }) => name);
  return [...outside.filter((name) => !unused.includes(name)), ...used];
};
/** Texts that the server cannot read for itself: those that differ from the folder's. */
const texts = (names: string[]) => {
  const { files, saved } = now();
  const sent = files.filter(({ name, text }) => text !== null && (names.includes(name) || saved[name] !== text));
  return Object.fromEntries(sent.map(({ name, text }) => [name, text!]));
};
const checkable = (): api.Checkable => {
  const main = theoriesInUse();
  return { files: texts(main), main, facts: factFiles() };
};
/** Tables of a folder are in use where nobody else was named, at its top or in its folder `facts`. */
const usedAtFirst = (name: string, main: string | null, given: string[]) =>
  kindOf(name) === "theory" ? name === main : given.length === 0 && /^(facts\/)?[^/]+$/.test(name);
/** Whether the command line named a file, or the folder that it is in. */
const named = (name: string, given: string[]) => given.includes(name) || given.includes(name.replace(/\/[^/]*$/, ""));
const kindOf = (name: string): api.Kind =>
  /\.(hb|mln|pl|lcn|ppr|tlog|bif|uai)$/i.test(name) ? "theory"
  : /\.(csv|tsv|jsonl|parquet|pq|arrow|duckdb|db|cfacts)(\.gz)?$/i.test(name) ? "facts" : "other";

// ---- the project

let line = Promise.resolve();

/** Begin what changes the folder, or opens another project, once all such work before it has ended: of two at
 * once, neither would know what the other has changed. */
function inLine(work: () => Promise<void>): Promise<void> {
  line = line.then(work).catch(fail);
  return line;
}

/** The files with the one that is shown first; where none is a theory, an empty one is begun. */
function begun(files: api.ProjectFile[], main: string | null = null): { files: api.ProjectFile[]; current: string } {
  const theory = files.find(({ name }) => name === main) ?? files.find(isTheory);
  if (theory) return { files, current: theory.name };
  return { files: [...files, { name: EMPTY, text: "", kind: "theory" }], current: EMPTY };
}

export async function open(): Promise<void> {
  void loadOptions();
  void loadExamples();
  try {
    show(await api.project());
  } catch (error) {
    fail(error);
  }
}

function show(project: api.Project): void {
  const given = project.given ?? [];
  const { files, current } = begun(project.files, project.main);
  editor?.forget();
  leave();
  set({
    opened: true,
    revision: now().revision + 1,
    files,
    saved: Object.fromEntries(project.files.map((file) => [file.name, file.text])),
    folder: project.folder ?? null,
    outside: given.filter((name) => !project.files.some((file) => named(file.name, [name]))),
    tables: project.facts ?? [],
    tablesMistake: project.mistake ?? null,
    current,
    unused: files.map(({ name }) => name).filter((name) => !named(name, given) && !usedAtFirst(name, current, given)),
    checked: null,
    ongoing: null,
    finished: [],
    why: null,
    selected: null,
    given: [],
    question: "",
    trouble: null,
  });
  scheduleCheck(0);
}

async function loadOptions(): Promise<void> {
  const { commands } = await api.options().catch(() => ({ commands: {} as Record<string, api.Option[]> }));
  set({ allOptions: commands });
}

async function loadExamples(): Promise<void> {
  set(await api.examples().catch(() => ({ examples: [] })));
}

export const openExample = (name: string): Promise<void> => inLine(async () => {
  const found = await api.example(name);
  const lost = unsaved(now()).filter((file) => file in now().saved); // by now: there was time to type
  if (lost.length && !confirm(`${lost.join(", ")} is not saved. Open the example?`)) return;
  show(found);
  // An example is a copy: none of its files is in the person's folder yet.
  set({ saved: {}, status: `Opened the example ${found.title ?? name}. Save writes its files into your folder.` });
  void refreshTables();
});

export function openFile(name: string): void {
  const { unused, current } = now();
  // Opening another theory turns to it; the two are one theory only where both boxes are ticked.
  const turned = kindOf(name) === "theory" && unused.includes(name) ? [...unused.filter((one) => one !== name), current] : unused;
  set({ current: name, unused: turned });
  scheduleCheck(0);
}

/** A new file; a theory stands alone until the boxes of others are ticked too. */
export function addFile(name: string, text = ""): void {
  const clean = name.trim();
  if (!clean) return;
  if (now().files.some((file) => file.name === clean)) return openFile(clean);
  const kind = kindOf(clean);
  const aside = kind === "theory" ? theoriesInUse() : [];
  const unused = [...new Set([...now().unused, ...aside])].filter((one) => one !== clean);
  set({ files: [...now().files, { name: clean, text, kind }], current: clean, unused });
  scheduleCheck(0);
}

/** What learn or induce gave as a file of its own: what another run gave keeps its name. */
export function openResult(stem: string, text: string): void {
  const isTaken = (name: string) => now().files.some((file) => file.name === name && file.text !== text);
  let name = `${stem}.hb`;
  for (let next = 2; isTaken(name); next++) name = `${stem}-${next}.hb`;
  addFile(name, text);
}

export const removeFile = (name: string): Promise<void> => inLine(async () => {
  if (name in now().saved) await unlessChanged(name, (before) => api.deleteFile(name, before));
  const { files, saved: { [name]: _, ...saved }, current, revision } = now();
  const left = files.filter((file) => file.name !== name);
  set({ ...(current === name ? begun(left) : { files: left }), saved, revision: revision + 1, status: `Removed ${name}.` });
  scheduleCheck(0);
});

export const save = (): Promise<void> => inLine(async () => {
  const names = unsaved(now());
  for (const name of names) {
    const text = textOf(now(), name);
    await unlessChanged(name, (before) => api.saveFile(name, text, before));
    set({ saved: { ...now().saved, [name]: text } });
  }
  set({ status: names.length ? `Saved ${names.join(", ")}.` : "All files are saved." });
  if (names.length) void refreshTables();
});

/** Change a file of the folder; where that has another text by now, the same once more goes on all the same. */
async function unlessChanged(name: string, change: (before: api.Before) => Promise<unknown>): Promise<void> {
  const { saved } = now();
  try {
    await change(name in saved ? (saved[name] ?? undefined) : null);
  } catch (error) {
    if (error instanceof api.ServerError && error.status === api.CHANGED) {
      const { files } = await api.project();
      const found = files.find((file) => file.name === name);
      const { [name]: _, ...others } = now().saved;
      set({ saved: found ? { ...others, [name]: found.text } : others });
    }
    throw error;
  }
}

/** Questions of one kind: each gets a word on whether it is still the last one, as answers come in any order. */
function inTurn(): () => () => boolean {
  let asked = 0;
  return () => {
    const number = ++asked;
    return () => number === asked;
  };
}

const tablesAsked = inTurn();

/** Counts and types of the tables, as the editor has theory and tables now. */
export async function refreshTables(): Promise<void> {
  const isLast = tablesAsked();
  try {
    const { facts = [], mistake = null } = await api.tables(checkable());
    if (isLast()) set({ tables: facts, tablesMistake: mistake });
  } catch (error) {
    if (isLast()) set({ tables: [], tablesMistake: troubleOf(error).message });
  }
}

export function upload(files: Iterable<File>): Promise<void> {
  const given = [...files]; // taken at once: the list is empty when the field is
  const names = given.map(({ name }) => name);
  return inLine(async () => {
    for (const file of given) await unlessChanged(file.name, (before) => api.upload(file, before));
    if (!names.length) return;
    const project = await api.project();
    const arrived = project.files.filter((file) => names.includes(file.name));
    const kept = now().files.filter((file) => !names.includes(file.name));
    const saved = { ...now().saved, ...Object.fromEntries(arrived.map((file) => [file.name, file.text])) };
    const unused = now().unused.filter((name) => !names.includes(name));
    set({ revision: now().revision + 1, files: [...kept, ...arrived], saved, unused, tab: "Facts", status: `Added ${names.join(", ")}.` });
    scheduleCheck(0);
    void refreshTables();
  });
}

export function setText(name: string, text: string): void {
  set({ files: now().files.map((file) => (file.name === name ? { ...file, text } : file)) });
  scheduleCheck();
}

/** Another text for a file, from elsewhere than the editor; the editor shows it before any status tells of it. */
export function replaceText(name: string, text: string): void {
  setText(name, text);
  if (name === now().current) editor?.show(name, text);
}

export function use(name: string, used: boolean): void {
  const others = now().unused.filter((other) => other !== name);
  set({ unused: used ? others : [...others, name] });
  scheduleCheck(0);
  void refreshTables();
}

// ---- checking

let timer: ReturnType<typeof setTimeout> | undefined;
let tell = false;
const checkAsked = inTurn();
let checking = new AbortController();

export function scheduleCheck(after = CHECK_AFTER): void {
  clearTimeout(timer);
  timer = setTimeout(() => void check(), after);
}

/** Check the theory as it stands; an answer that a later check has overtaken is dropped. */
async function check(): Promise<void> {
  clearTimeout(timer);
  timer = undefined;
  const isLast = checkAsked();
  checking.abort();
  checking = new AbortController();
  const began = performance.now();
  try {
    const checked = await api.check(checkable(), checking.signal);
    if (!isLast()) return;
    set({ checked, checkedIn: performance.now() - began });
    if (timer !== undefined) return; // the text is another by now, and its own check is about to begin
    const { current } = now();
    editor?.mark(checked.mistakes.filter((one) => one.line !== null && (one.file === null || one.file === current)));
    if (tell) set({ status: countOf(checked.mistakes), trouble: null });
    tell = false;
  } catch (error) {
    if (isLast()) fail(error);
  }
}

/** Check, and have the status tell of it: it tells of the last check, also where that has overtaken this one. */
export function checkNow(): void {
  tell = true;
  void check();
}

function countOf(mistakes: api.Mistake[]): string {
  const { length } = mistakes.filter((one) => one.severity !== "warning");
  const warnings = mistakes.length - length;
  const also = warnings ? ` ${count(warnings, "warning")}.` : "";
  return (length ? `${count(length, "mistake")}.` : "No mistakes.") + also;
}

export async function format(): Promise<void> {
  const { current } = now();
  const sent = textOf(now(), current);
  try {
    const { text } = await api.format(sent);
    if (textOf(now(), current) !== sent) {
      set({ status: "The text changed while it was formatted; press Format again.", trouble: null });
      return;
    }
    replaceText(current, text);
    set({ status: "Formatted.", trouble: null });
  } catch (error) {
    fail(error);
  }
}

// ---- asking

/** Questions stand one a line. */
const questions = () => now().question.split("\n").map((line) => line.trim()).filter(Boolean);

function optionsOf(command: string): Record<string, unknown> {
  const table = new Map((now().allOptions[command] ?? []).map((option) => [option.name, option]));
  const chosen = Object.entries(now().chosen[command] ?? {}).filter(([, value]) => value.trim() !== "");
  return Object.fromEntries(chosen.map(([name, value]) => [name, valueOf(table.get(name), value)]));
}

function valueOf(option: api.Option | undefined, value: string): unknown {
  const type = option?.type ?? "text";
  if (type === "flag") return value === "true";
  if (type === "texts" || (option?.name === "engine" && value.includes(","))) {
    return value.split(",").map((text) => text.trim()).filter(Boolean);
  }
  const numeric = type === "whole" || type === "number" || type === "depth";
  return numeric && Number.isFinite(Number(value)) ? Number(value) : value; // JSON has no infinity
}

export function request(command: api.RunRequest["command"], query = questions()): api.RunRequest {
  const facts = factFiles().map((file) => ({ predicate: null, file }));
  const { files, main } = checkable();
  const options = optionsOf(command);
  const asking = { command, files, main, facts, given: now().given, options };
  // induce asks for a predicate, which the command line calls its target; learn asks for nothing.
  if (command === "induce" && query[0]) return { ...asking, query: [], options: { target: query[0], ...options } };
  return { ...asking, query: command === "learn" || command === "induce" ? [] : query };
}

let runs = 0;

export async function run(): Promise<void> {
  if (now().ongoing) return;
  const asking = request(now().command);
  const began = performance.now();
  const theory = asking.main.map((name) => textOf(now(), name)).join("\n");
  /** This run, unless another project was opened since. */
  const here = () => (now().ongoing?.running === running ? now().ongoing : null);
  const note = (change: (before: Ongoing) => Partial<Ongoing>) => {
    const before = here();
    if (before) set({ ongoing: { ...before, ...change(before) } });
  };
  const running: api.Running = api.run(asking, {
    progress: (progress) => note(() => ({ progress })),
    cost: (cost) => note(() => ({ cost: spoken(cost, String(asking.options["engine"] ?? "")) })),
    note: (text) => note(({ notes }) => ({ notes: [...notes, text] })),
    trace: (point) => note(({ trace }) => ({ trace: [...trace, point] })),
  });
  set({
    ongoing: { running, asked: asking, progress: null, cost: null, notes: [], trace: [] },
    trouble: null,
    status: `Running ${asking.command}.`,
  });
  try {
    const answer = await running.done;
    const ended = here();
    if (!ended) return;
    if (answer === null) {
      set({ ongoing: null, status: "Cancelled." });
      return;
    }
    const seconds = (performance.now() - began) / 1000;
    const goal = asking.command === "query" ? { goal: asking.query[0] } : {};
    const done: Finished = { number: ++runs, asked: asking, answer: { ...goal, ...answer }, theory, trace: ended.trace };
    const tab: Tab = asking.command === "compare" ? "Compare" : "Answers";
    set({
      ongoing: null,
      finished: [...now().finished, done].slice(-KEPT_RUNS),
      status: statusOf(done, seconds),
      tab,
      why: null,
      selected: null,
    });
  } catch (error) {
    if (!here()) return;
    set({ ongoing: null });
    fail(error);
  }
}

/** What the run will cost, by the engine that is asked for. */
function spoken({ auto, engines = [] }: api.Cost, wanted: string): string {
  const name = wanted && wanted !== "auto" ? wanted : auto;
  const found = engines.find(({ engine }) => engine === name);
  if (!found?.operations) return "";
  const memory = found.bytes ? `, ${found.bytes < 1e6 ? "under 1 MB" : `${Math.ceil(found.bytes / 1e6).toLocaleString("en")} MB`}` : "";
  return `${found.engine}: about ${found.operations.toExponential(1)} operations${memory}`;
}

function statusOf({ answer, asked: { command } }: Finished, seconds: number): string {
  const sheet = sheetOf(answer);
  const what = [credit(answer), sheet?.title ?? command].filter(Boolean).join(" ");
  const rows = sheet ? `, ${count(sheet.rows.length, "row")}` : "";
  const unsure = answer["converged"] === false ? " Not converged." : "";
  const cut = answer["truncated"] === true ? " Some calls were cut by the depth." : "";
  return `Done: ${what}${rows}, in ${seconds.toFixed(2)} s.${unsure}${cut}`;
}

export function cancel(): void {
  now().ongoing?.running.cancel();
  if (now().ongoing) set({ status: "Cancelling." });
}

// ---- evidence

const negated = (literal: string) => /^not\s/.test(literal);
const atomOf = (literal: string) => literal.replace(/^not\s+/, "");

/** What the evidence says of an atom. */
export const evidenceFor = (given: string[], atom: string): boolean | null => {
  const said = given.find((literal) => atomOf(literal) === atom);
  return said === undefined ? null : !negated(said);
};

export function setEvidence(atom: string, truth: boolean | null): void {
  const others = now().given.filter((literal) => atomOf(literal) !== atom);
  const given = truth === null ? others : [...others, truth ? atom : `not ${atom}`];
  const says = truth === null ? `${atom} is unknown again` : `${atom} is given as ${String(truth)}`;
  set({ given, status: `Evidence: ${says}. Run again to see what changes.` });
}

export function addEvidence(literal: string): void {
  const clean = literal.trim();
  if (!clean) return;
  setEvidence(atomOf(clean), !negated(clean));
}

// ---- why

/** What Why explains where nothing is chosen: the question, if it is one thing; else the first answer. */
function subjectAtHand(): string | null {
  const { selected } = now();
  if (selected) return selected.subject;
  const last = latest(now());
  const rows = last ? (sheetOf(last.answer)?.rows ?? []) : [];
  const asking = questions();
  const only = asking.length === 1 ? asking[0]! : null;
  const named = rows.find((row) => row.subject === only);
  return named?.subject ?? rows.find((row) => row.subject !== null)?.subject ?? (only && /[("=]/.test(only) ? only : null);
}

let explaining: api.Running | null = null;

/** Explain a number, and let go of one that nobody waits for any more: a browser has few connections. */
export async function explain(subject = subjectAtHand()): Promise<void> {
  if (subject === null) return set({ tab: "Why" });
  explaining?.cancel();
  const why = { subject, explanation: null, trouble: null };
  set({ tab: "Why", why, status: `Explaining ${subject}.` });
  try {
    const last = latest(now())?.asked;
    const asking = { ...request("explain", [subject]), options: explainOptions(last) };
    explaining = api.run(asking);
    const explanation = await explaining.done;
    if (now().why === why) set({ why: { ...why, explanation }, status: `Explained ${subject}.` });
  } catch (error) {
    const trouble = troubleOf(error);
    if (now().why === why) set({ why: { ...why, trouble }, status: `Error: ${trouble.message.split("\n")[0]}` });
  }
}

/** Options of the run that explain takes too, so that it explains the same number. */
function explainOptions(last: api.RunRequest | undefined): Record<string, unknown> {
  const known = new Set((now().allOptions["explain"] ?? []).map(({ name }) => name));
  const given = Object.entries(last?.options ?? {}).filter(([name]) => known.has(name) && name !== "top");
  return Object.fromEntries(last?.command === "compare" ? [] : given);
}

/** The page is left: nobody will hear what is under way. */
export function leave(): void {
  now().ongoing?.running.cancel();
  explaining?.cancel();
}

export function openTab(tab: Tab): void {
  set({ tab });
  if (tab === "Facts") void refreshTables();
  const { why, selected } = now();
  if (tab === "Why" && latest(now()) && (!why || (selected && selected.subject !== why.subject))) void explain();
}

// ---- keeping

export function download(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export async function exportPage(): Promise<void> {
  const last = latest(now());
  if (!last) return set({ status: "Nothing to show yet: press Run first." });
  try {
    const title = `${(last.asked.main[0] ?? EMPTY).replace(/\.[^.]*$/, "")}: ${last.asked.command}`;
    const { goal: _, ...answer } = last.answer;
    download(await api.exportPage(answer, last.theory, title), `${title.replace(/[^\w-]+/g, "-")}.html`);
    set({ status: "The page is in your downloads." });
  } catch (error) {
    fail(error);
  }
}

/** The rows of the answer as comma-separated values. */
export function exportTable(): void {
  const last = latest(now());
  const sheet = last && sheetOf(last.answer);
  if (!sheet) return;
  const cell = (text: string) => (/[",\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);
  const lines = [sheet.heads, ...sheet.rows.map((row) => row.cells)].map((cells) => cells.map(cell).join(","));
  download(new Blob([lines.join("\n") + "\n"], { type: "text/csv" }), `${last.asked.command}.csv`);
}

// ---- looking at facts

export const rowsOf = (predicate: string, offset: number, limit: number): Promise<api.RowsPage> =>
  api.table({ ...checkable(), predicate, offset, limit });

/** The atoms of the last answer, or of the facts alone, as a graph. */
export function graphOf(): Promise<api.Graph> {
  const marginals = latest(now())?.answer["marginals"] ?? [];
  return api.graph({ ...checkable(), marginals });
}

const around = (atom: string) => ({ ...checkable(), atom, given: latest(now())?.asked.given ?? now().given });

/** The groundings around an atom, under the evidence of the last answer. */
export const surroundingsOf = (atom: string): Promise<api.Surroundings> => api.surroundings(around(atom));

/** The compiled circuit of an atom, under the evidence of the last answer. */
export const circuitOf = (atom: string): Promise<api.Circuit> => api.circuit(around(atom));
