// The server's addresses, typed. Every call carries the token of the page's own address; nothing else is
// ever asked.

export type Kind = "theory" | "facts" | "other";
export interface ProjectFile {
  name: string;
  text: string | null;
  kind: Kind;
}
export interface Project {
  files: ProjectFile[];
  /** The theory that is opened first. */
  main: string | null;
  /** Tables that the command line named: files or folders. An example has neither these nor a folder. */
  given?: string[];
  facts?: FactTable[];
  mistake?: string | null;
  folder?: string;
}
export interface FactTable {
  predicate: string;
  arguments: { name: string; type: string }[];
  rows: number;
  world: string;
}
export interface Mistake {
  message: string;
  hint: string;
  line: number | null;
  column: number | null;
  end_line: number | null;
  end_column: number | null;
  severity: string;
  file: string | null;
}
export interface Checked {
  mistakes: Mistake[];
  outline: { name: string; kind: string; line: number; file: string }[];
  predicates: { name: string; arguments: string[]; values: string | null }[];
  constants: unknown[];
}
export interface Option {
  name: string;
  flag: string;
  type: string;
  choices: string[] | null;
  help: string;
  engines: string[] | null;
  default: unknown;
  /** Who takes it: a call, the model, or the command line alone. */
  taken_by: string;
  required: boolean;
}
export interface Options {
  commands: Record<string, Option[]>;
}
export type Command = "infer" | "bound" | "query" | "learn" | "induce" | "compare";
export interface Source {
  predicate: string | null;
  file: string;
}
export interface RunRequest {
  command: Command | "explain";
  files: Record<string, string>;
  main: string[];
  facts: Source[];
  query: string[];
  given: string[];
  options: Record<string, unknown>;
}
export interface RowsPage {
  columns: string[];
  rows: unknown[][];
  /** The atom of each row, as a theory has it. */
  atoms: string[];
  total: number;
}
/** What an atom says of its constants; a fact is certain and has no probability. */
export interface Mark {
  predicate: string;
  probability: number | null;
  value?: unknown;
}
export interface Graph {
  nodes: { id: string; label: string; type: string; marks: Mark[] }[];
  edges: ({ source: string; target: string } & Mark)[];
  left_out: { nodes: number; edges: number };
}
/** The ground network around an atom, the nearest atoms first. */
export interface Surroundings {
  atoms: { atom: string; steps: number }[];
  groundings: { statement: string; where: string; atoms: string[]; heads: string[] }[];
  left_out: number;
}
/** A compiled circuit, the root first; `parts` are numbers of nodes. */
export interface Circuit {
  nodes: { kind: "and" | "or" | "literal"; text: string; share: number; row: number; parts: number[] }[];
}
export interface Bin {
  lower: number;
  upper: number;
  rows: number;
  probability: number;
  truth: number;
}
export interface Score {
  rows: number;
  true: number;
  unlabelled: number;
  missing: number;
  average_precision: number | null;
  roc_area: number | null;
  log_loss: number | null;
  brier: number | null;
  calibration_error: number | null;
  accuracy: number | null;
  calibration: Bin[];
}
export interface Trouble {
  message: string;
  where: string | null;
  hint: string | null;
}
export interface Example {
  name: string;
  title: string;
}
export interface Progress {
  text?: string;
  fraction?: number | null;
  step?: number | null;
  bound?: number | null;
}
export interface TracePoint {
  step: number;
  value: number | null;
}
/** The report of sizes, as `herbrand check` gives it. */
export interface Cost {
  auto?: string | null;
  engines?: { engine: string; possible: boolean; operations: number | null; bytes: number | null }[];
}
// Answers are the JSON objects of the command line; each view reads the keys that it knows.
export type Answer = Record<string, unknown>;

const token = new URLSearchParams(location.search).get("token") ?? "";

export class ServerError extends Error {
  readonly trouble: Trouble;
  readonly status: number | null;
  constructor(trouble: Trouble, status: number | null = null) {
    super(trouble.message);
    this.trouble = trouble;
    this.status = status;
  }
}

/** A server that has not ended a run after so many milliseconds hangs, and would be waited for without end. */
const PATIENCE = 10_000;

async function call(
  method: string,
  path: string,
  body?: BodyInit,
  type?: string,
  signal: AbortSignal | null = null,
): Promise<Response> {
  const headers: Record<string, string> = { "X-Herbrand-Token": token };
  if (type) headers["Content-Type"] = type;
  let response: Response;
  try {
    // What ends a run is sent also where the page is left.
    const keepalive = method === "DELETE" && body === undefined;
    response = await fetch(`api/${path}`, { method, headers, signal, keepalive, ...(body === undefined ? {} : { body }) });
  } catch {
    throw new ServerError({
      message: "the studio's server does not answer",
      where: null,
      hint: "start `herbrand studio` again and open the address that it prints",
    });
  }
  if (!response.ok) throw new ServerError(await troubleOf(response), response.status);
  return response;
}

async function troubleOf(response: Response): Promise<Trouble> {
  const none = { message: `the server answered ${response.status}`, where: null, hint: null };
  try {
    const said = (await response.json()) as { error?: Partial<Trouble> };
    return { ...none, ...said.error };
  } catch {
    return none;
  }
}

const get = async <T>(path: string) => (await (await call("GET", path)).json()) as T;
const post = async <T>(path: string, body: unknown, signal: AbortSignal | null = null) =>
  (await (await call("POST", path, JSON.stringify(body), "application/json", signal)).json()) as T;

export interface Checkable {
  files: Record<string, string>;
  main: string[];
  facts: string[];
}

export const project = () => get<Project>("project?tables=no");
export const options = () => get<Options>("options");
export const check = (asked: Checkable, signal: AbortSignal) => post<Checked>("check", asked, signal);
export const format = (text: string) => post<{ text: string }>("format", { text });
export const tables = (asked: Checkable) => post<Pick<Project, "facts" | "mistake">>("tables", asked);
export const examples = () => get<{ examples: Example[] }>("examples");
export const example = (name: string) => get<Project & { title?: string }>(`examples/${encodeURIComponent(name)}`);
export const table = (asked: Checkable & { predicate: string; offset: number; limit: number }) =>
  post<RowsPage>("table", asked);
export const graph = (asked: Checkable & { marginals: unknown }) => post<Graph>("graph", asked);
type Around = Checkable & { atom: string; given: string[] };
export const surroundings = (asked: Around) => post<Surroundings>("surroundings", asked);
export const circuit = (asked: Around) => post<Circuit>("circuit", asked);
export const score = (asked: { facts: { predicate: string; file: string }[]; marginals: unknown; closed: string[] }) =>
  post<Score>("score", asked);
/** The server's word for a file that is not as it was `before`. */
export const CHANGED = 409;
/** The text that the folder had when a file was opened; null for no file, undefined where it is no text. */
export type Before = string | null | undefined;
export const saveFile = (name: string, text: string, before: Before) =>
  call("PUT", `files/${encodeURIComponent(name)}`, JSON.stringify({ text, before }), "application/json");
export const deleteFile = (name: string, before: Before) =>
  call("DELETE", `files/${encodeURIComponent(name)}`, JSON.stringify({ before }), "application/json");
/** The text before comes first in the body: an address has no place for it. */
export function upload(file: File, before: Before): Promise<Response> {
  const known = new Blob([before ?? ""]);
  const query = before === undefined ? "" : `&before=${before === null ? -1 : known.size}`;
  const body = new Blob([known, file]);
  return call("POST", `upload?name=${encodeURIComponent(file.name)}${query}`, body, "application/octet-stream");
}

export async function exportPage(answer: Answer, theory: string, title: string): Promise<Blob> {
  const body = JSON.stringify({ answer, theory, title });
  return (await call("POST", "export", body, "application/json")).blob();
}

export interface Watching {
  progress?(progress: Progress): void;
  trace?(point: TracePoint): void;
  cost?(cost: Cost): void;
  note?(text: string): void;
}

export interface Running {
  /** The answer; null where the run was cancelled; a ServerError where it failed. */
  done: Promise<Answer | null>;
  cancel(): void;
}

/** Start a run and listen to its events until it ends. */
export function run(asked: RunRequest, watching: Watching = {}): Running {
  let id: string | null = null;
  let wanted = true;
  const [starting, gone] = [new AbortController(), new AbortController()];
  const drop = () => {
    // A run that has ended meanwhile is no trouble; a server that is gone or hangs will never say that it has.
    const refused = (error: ServerError) => void (error.status === null && gone.abort(error));
    const late = AbortSignal.timeout(PATIENCE);
    if (id !== null) call("DELETE", `runs/${id}`, undefined, undefined, late).catch(refused);
    else late.addEventListener("abort", () => id === null && starting.abort());
  };
  const done = (async () => {
    ({ id } = await post<{ id: string }>("runs", asked, starting.signal));
    if (!wanted) drop();
    return listen(id, watching, gone.signal, drop);
  })();
  return {
    done,
    cancel: () => {
      wanted = false;
      drop();
    },
  };
}

function listen(id: string, watching: Watching, gone: AbortSignal, drop: () => void): Promise<Answer | null> {
  const events = new EventSource(`api/runs/${id}/events?token=${encodeURIComponent(token)}`);
  return new Promise((resolve, reject) => {
    const on = (name: string, take: (data: never) => void, last = false) =>
      events.addEventListener(name, (event) => {
        const text = (event as MessageEvent<string | undefined>).data;
        // The browser calls a lost connection "error" too; it has no data.
        if (text === undefined) return;
        if (last) events.close();
        take((text === "" ? null : JSON.parse(text)) as never);
      });
    on("progress", (progress: Progress) => watching.progress?.(progress));
    on("trace", (point: TracePoint) => watching.trace?.(point));
    on("cost", (cost: Cost) => watching.cost?.(cost));
    on("note", ({ text }: { text: string }) => watching.note?.(text));
    on("answer", (answer: Answer) => resolve(answer), true);
    on("cancelled", () => resolve(null), true);
    on("error", (trouble: Trouble) => reject(new ServerError(trouble)), true);
    gone.addEventListener("abort", () => {
      events.close();
      reject(gone.reason as ServerError);
    });
    events.onerror = (event) => {
      if ((event as MessageEvent).data !== undefined || events.readyState !== EventSource.CLOSED) return;
      drop(); // nobody listens to it any more; a browser also says so of a page that is left
      const hint = "start `herbrand studio` again and open the address that it prints";
      reject(new ServerError({ message: "the connection to the run was lost", where: null, hint }));
    };
  });
}
