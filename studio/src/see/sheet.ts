// An answer as a table: the heads and the digits of the command line's table, a bar for each row.
import type { Answer } from "../api";
import { constant, end, fixed, numberOf, signed, weight } from "../numbers";

export interface Row {
  cells: string[];
  /** What the cells are sorted by, where it is not their text. */
  keys: (string | number)[];
  /** Where the bar begins and ends, from 0 to 1. */
  bar: [number, number] | null;
  /** The atom or query that can be explained, or be made evidence. */
  subject: string | null;
  /** Whether the subject is one ground atom, so that it can be evidence. */
  atom: boolean;
}
export interface Sheet {
  title: string;
  heads: string[];
  /** The column that bars stand in. */
  barred: number;
  rows: Row[];
}

interface Marginal {
  atom: string;
  predicate: string | null;
  probability: number;
  value: unknown;
}
interface Interval {
  query: string;
  lower: unknown;
  upper: unknown;
  certified: boolean;
  gap?: number | null;
}
interface Learned {
  statement: string;
  constants: Record<string, unknown>;
  weight: unknown;
  standard_error: unknown;
  effect: unknown;
}
type Compared = { atom: string } & Record<string, number | string>;

const list = <T>(answer: Answer, key: string): T[] => (Array.isArray(answer[key]) ? (answer[key] as T[]) : []);
const row = (cells: string[], keys: (string | number)[], bar: Row["bar"], subject: string | null, atom = false): Row =>
  ({ cells, keys, bar, subject, atom });

export function sheetOf(answer: Answer): Sheet | null {
  if (Array.isArray(answer["engines"])) return compared(answer);
  if (Array.isArray(answer["marginals"])) return answer["map"] ? world(answer) : marginals(answer);
  if (Array.isArray(answer["bounds"])) return bounds(answer);
  if (Array.isArray(answer["answers"])) return bindings(answer);
  if (Array.isArray(answer["weights"])) return weights(answer);
  if (answer["metrics"] !== undefined) return metrics(answer);
  return null;
}

/** `engine; guarantee`, once where they are the same word. */
export function credit(answer: Answer): string {
  const engine = String(answer["engine"] ?? "");
  const guarantee = String(answer["guarantee"] ?? "");
  return engine === guarantee || !guarantee ? engine : `${engine}; ${guarantee}`;
}

const textOf = (one: Marginal) =>
  one.value === null || one.value === undefined ? one.atom : `${one.atom} = ${constant(one.value)}`;

function marginals(answer: Answer): Sheet {
  const rows = list<Marginal>(answer, "marginals").map((one) => {
    const text = textOf(one);
    return row([text, fixed(one.probability)], [text, one.probability], [0, one.probability], text, one.predicate !== null);
  });
  return { title: "marginals", heads: ["atom", "probability"], barred: 1, rows };
}

function world(answer: Answer): Sheet {
  const rows = list<Marginal>(answer, "marginals")
    .filter((one) => one.value === null || one.value === undefined || one.probability === 1)
    .map((one) => {
      const text = textOf(one);
      return row([text, one.probability === 1 ? "true" : "false"], [text, one.probability], [0, one.probability], text, one.predicate !== null);
    });
  return { title: "most probable world", heads: ["atom", "truth"], barred: 1, rows };
}

const SEEN = 1e-6;

function remark(one: Interval): string {
  if (Number.isNaN(numberOf(one.lower))) return "what is given is impossible";
  if (!one.certified) return "not certified";
  const gap = one.gap ?? 0;
  return gap && gap > SEEN * numberOf(one.upper) ? `within ${gap.toExponential(1).replace(/e([+-])(\d)$/, "e$10$2")}` : "";
}

function bounds(answer: Answer): Sheet {
  const found = list<Interval>(answer, "bounds");
  const remarkable = found.some((one) => !one.certified || (one.gap ?? 0) > SEEN * numberOf(one.upper));
  const rows = found.map((one) => {
    const [lower, upper] = [numberOf(one.lower), numberOf(one.upper)];
    const cells = [one.query, end(lower), end(upper), ...(remarkable ? [remark(one)] : [])];
    return row(cells, [one.query, lower, upper, remark(one)], [lower || 0, upper || 0], `P(${one.query})`);
  });
  return { title: "bounds", heads: ["query", "lower", "upper", ...(remarkable ? ["remark"] : [])], barred: 2, rows };
}

function bindings(answer: Answer): Sheet {
  const found = list<{ bindings: Record<string, unknown>; weight: unknown }>(answer, "answers");
  const names = Object.keys(found[0]?.bindings ?? {});
  const heaviest = Math.max(0, ...found.slice(0, 1).map((one) => numberOf(one.weight)));
  const rows = found.map((one) => {
    const heavy = numberOf(one.weight);
    const values = names.map((name) => constant(one.bindings[name]));
    const share = heaviest > 0 && heavy >= 0 ? Math.min(heavy / heaviest, 1) : 0;
    const keys = names.map((name) => (typeof one.bindings[name] === "number" ? (one.bindings[name] as number) : String(one.bindings[name])));
    return row([...values, weight(heavy)], [...keys, heavy], [0, share], goalOf(answer, one.bindings));
  });
  return { title: "answers", heads: [...names, "weight"], barred: names.length, rows };
}

/** The goal with an answer's values in the places of its variables. */
function goalOf(answer: Answer, bindings: Record<string, unknown>): string | null {
  const goal = answer["goal"];
  if (typeof goal !== "string") return null;
  return goal.replace(/"(?:[^"\\]|\\.)*"|`[^`]*`|[\p{L}_][\p{L}\p{N}_]*/gu, (word) =>
    Object.hasOwn(bindings, word) ? constant(bindings[word]) : word);
}

function weights(answer: Answer): Sheet {
  const found = list<Learned>(answer, "weights");
  const strongest = Math.max(1e-9, ...found.map((one) => Math.abs(numberOf(one.weight))));
  const shown = (value: unknown) => (value === null || value === undefined ? "" : fixed(numberOf(value)));
  const rows = found.map((one) => {
    const heavy = numberOf(one.weight);
    const where = Object.entries(one.constants ?? {}).map(([name, value]) => `${name} = ${constant(value)}`).join(", ");
    const share = Math.min(Math.abs(heavy) / strongest, 1) / 2;
    const cells = [signed(heavy), shown(one.standard_error), shown(one.effect), one.statement, where];
    const keys = [heavy, numberOf(one.standard_error), numberOf(one.effect), one.statement, where];
    return row(cells, keys, heavy >= 0 ? [0.5, 0.5 + share] : [0.5 - share, 0.5], null);
  });
  return { title: "learned weights", heads: ["weight", "standard error", "effect", "statement", "where"], barred: 0, rows };
}

function metrics(answer: Answer): Sheet {
  const rows = Object.entries(answer["metrics"] as Record<string, unknown>).map(([name, value]) => {
    const text = typeof value === "number" ? String(value) : JSON.stringify(value);
    return row([name, text], [name, text], null, null);
  });
  return { title: "metrics", heads: ["metric", "value"], barred: -1, rows };
}

function compared(answer: Answer): Sheet {
  const engines = list<{ engine: string }>(answer, "engines").map(({ engine }) => engine);
  const rows = list<Compared>(answer, "marginals").map((one) => {
    const numbers = engines.map((engine) => numberOf(one[engine]));
    const range: [number, number] = [Math.min(...numbers), Math.max(...numbers)];
    return row([one.atom, ...numbers.map((n) => fixed(n))], [one.atom, ...numbers], range, one.atom);
  });
  return { title: "engines side by side", heads: ["atom", ...engines], barred: engines.length, rows };
}

/** Rows by a column, equal ones as they stood. */
export function sorted(rows: Row[], column: number, down: boolean): Row[] {
  const sign = down ? -1 : 1;
  return rows
    .map((one, place) => ({ one, place }))
    .sort((a, b) => {
      const [left, right] = [a.one.keys[column] ?? "", b.one.keys[column] ?? ""];
      const order = typeof left === "number" && typeof right === "number"
        ? (Number.isNaN(left) ? 1 : 0) - (Number.isNaN(right) ? 1 : 0) || left - right
        : String(left).localeCompare(String(right), "en", { numeric: true });
      return sign * order || a.place - b.place;
    })
    .map(({ one }) => one);
}
