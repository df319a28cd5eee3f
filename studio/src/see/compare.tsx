// Compare: engines side by side, two runs side by side, and an answer beside what is true.
import { useMemo, useState } from "preact/hooks";
import { fixed, numberOf } from "../numbers";
import { latest, useStore, type Finished } from "../store";
import { Table } from "./answers";
import { Calibration } from "./calibration";
import { Rows } from "./rows";
import { sheetOf } from "./sheet";

interface EngineRow {
  engine: string;
  guarantee: string;
  converged: boolean;
  seconds: number;
  log_partition: number | null;
  largest_difference: number | null;
}

export function Compare() {
  const last = useStore(latest);
  const finished = useStore((state) => state.finished);
  return (
    <div class="compare">
      {last && Array.isArray(last.answer["engines"]) ? <Engines run={last} /> : (
        <p class="soft">The command compare puts engines side by side; runs of the same command stand beside each other below.</p>
      )}
      <TwoRuns runs={finished} />
      <Calibration />
    </div>
  );
}

function Engines({ run: { answer } }: { run: Finished }) {
  const engines = answer["engines"] as EngineRow[];
  const failures = (answer["failures"] ?? []) as { engine: string; reason: string }[];
  const sheet = useMemo(() => sheetOf(answer)!, [answer]);
  return (
    <>
      <table aria-label="Engines">
        <thead>
          <tr>{["engine", "guarantee", "seconds", "log partition", "largest difference"].map((head, at) => <th key={head} scope="col" class={at > 1 ? "number" : ""}>{head}</th>)}</tr>
        </thead>
        <tbody>
          {engines.map((one) => (
            <tr key={one.engine}>
              <td>{one.engine}</td>
              <td>{one.converged ? one.guarantee : `${one.guarantee}, not converged`}</td>
              <td class="number">{fixed(one.seconds, 3)}</td>
              <td class="number">{one.log_partition === null ? "" : fixed(numberOf(one.log_partition), 6)}</td>
              <td class="number">{one.largest_difference === null ? "" : one.largest_difference.toExponential(1)}</td>
            </tr>
          ))}
          {failures.map(({ engine, reason }) => <tr key={engine}><td>{engine}</td><td colSpan={4}>cannot run: {reason}</td></tr>)}
        </tbody>
      </table>
      <Table sheet={sheet} label="Answers of the engines" />
    </>
  );
}

function named({ number, asked, answer }: Finished): string {
  const given = asked.given.length ? ` given ${asked.given.join(", ")}` : "";
  return `${number}: ${asked.command} ${asked.query.join("; ")}${given} (${String(answer["engine"] ?? "")})`;
}

/** The number that each row of a run is about, by its first cells. */
function numbersOf({ answer }: Finished): Map<string, number> {
  const sheet = sheetOf(answer);
  if (!sheet || sheet.barred < 0) return new Map();
  const column = sheet.barred;
  return new Map(sheet.rows.map((row) => [row.subject ?? row.cells.filter((_, at) => at !== column).join(", "), Number(row.keys[column])]));
}

function TwoRuns({ runs }: { runs: Finished[] }) {
  const usable = runs.filter(({ answer }) => !Array.isArray(answer["engines"]) && sheetOf(answer));
  const [before, setBefore] = useState<number | null>(null);
  const [after, setAfter] = useState<number | null>(null);
  const right = usable.find(({ number }) => number === after) ?? usable[usable.length - 1];
  const left = usable.find(({ number }) => number === before) ?? usable.filter((one) => one !== right).at(-1);
  const rows = useMemo(() => {
    if (!left || !right) return [];
    const [old, fresh] = [numbersOf(left), numbersOf(right)];
    return [...new Set([...fresh.keys(), ...old.keys()])]
      .map((name) => ({ name, old: old.get(name), fresh: fresh.get(name), moved: (fresh.get(name) ?? NaN) - (old.get(name) ?? NaN) }))
      .sort((a, b) => (Math.abs(b.moved) || 0) - (Math.abs(a.moved) || 0));
  }, [left, right]);
  if (!left || !right) return <p class="soft">After two runs, what changed between them stands here.</p>;
  const pick = (label: string, value: Finished, choose: (number: number) => void) => (
    <label><span>{label}</span>
      <select value={value.number} onChange={(event) => choose(Number(event.currentTarget.value))}>
        {usable.map((one) => <option key={one.number} value={one.number}>{named(one)}</option>)}
      </select>
    </label>
  );
  const head = (
    <thead><tr><th scope="col">what</th><th scope="col" class="number">before</th><th scope="col" class="number">after</th><th scope="col" class="number">change</th></tr></thead>
  );
  const number = (value: number | undefined) => (value === undefined ? "" : fixed(value));
  return (
    <>
      <h2>Two runs</h2>
      <div class="bar">{pick("Before", left, setBefore)}{pick("After", right, setAfter)}</div>
      {left.theory !== right.theory && <p class="soft">The theory changed between them.</p>}
      <Rows
        label="Two runs" head={head} count={rows.length} columns={4}
        row={(at) => {
          const { name, old, fresh, moved } = rows[at]!;
          return (
            <tr key={name} aria-rowindex={at + 2}>
              <td><code>{name}</code></td><td class="number">{number(old)}</td><td class="number">{number(fresh)}</td>
              <td class={`number ${moved > 0 ? "up" : moved < 0 ? "down" : ""}`}>{Number.isNaN(moved) ? "" : (moved >= 0 ? "+" : "") + fixed(moved)}</td>
            </tr>
          );
        }}
      />
    </>
  );
}
