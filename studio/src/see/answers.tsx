// Answers: the command line's table, sortable, with bars; a row can be explained or become evidence.
import { useMemo, useState } from "preact/hooks";
import { evidenceFor, explain, exportTable, openResult, setEvidence } from "../actions";
import { latest, set, useStore, type Finished } from "../store";
import { Bar, Rows } from "./rows";
import { credit, sheetOf, sorted, type Sheet } from "./sheet";

export function Answers() {
  const last = useStore(latest);
  const sheet = useMemo(() => last && sheetOf(last.answer), [last]);
  if (!last || !sheet) return <p class="soft">Press Run, and the answers stand here.</p>;
  return (
    <div class="answers">
      <Summary run={last} />
      <Theory run={last} />
      <Table key={last.number} sheet={sheet} label="Answers" />
      <Chosen />
    </div>
  );
}

function Summary({ run: { answer } }: { run: Finished }) {
  const partition = answer["log_partition"];
  const seconds = answer["seconds"];
  const parts = [
    credit(answer),
    answer["converged"] === false ? "not converged" : "",
    typeof partition === "number" ? `log partition ${partition.toFixed(6).replace(/^-(?=0\.0+$)/, "")} (${String(answer["log_partition_guarantee"])})` : "",
    typeof seconds === "number" ? `${seconds.toFixed(3)} s` : "",
  ].filter(Boolean);
  return (
    <p class="bar soft">
      {parts.join(" · ")}
      <span class="gap" />
      <button type="button" class="link" onClick={exportTable}>Save as CSV</button>
    </p>
  );
}

/** What learn and induce give: a theory. */
function Theory({ run: { answer, asked } }: { run: Finished }) {
  const theory = answer["theory"];
  if (typeof theory !== "string") return null;
  return (
    <details open>
      <summary>The theory</summary>
      <pre class="theory" tabIndex={0}>{theory}</pre>
      <button type="button" onClick={() => openResult(asked.command === "learn" ? "learned" : "induced", theory)}>
        Open as a file
      </button>
    </details>
  );
}

export function Table({ sheet, label }: { sheet: Sheet; label: string }) {
  const [order, setOrder] = useState<{ column: number; down: boolean } | null>(null);
  const [part, setPart] = useState("");
  const selected = useStore((state) => state.selected?.subject);
  const given = useStore((state) => state.given);
  const rows = useMemo(() => {
    const found = part ? sheet.rows.filter((row) => row.cells.some((cell) => cell.includes(part))) : sheet.rows;
    return order ? sorted(found, order.column, order.down) : found;
  }, [sheet, order, part]);
  const sort = (column: number) =>
    setOrder(order?.column !== column ? { column, down: column > 0 } : order.down === column > 0 ? { column, down: !order.down } : null);
  const head = (
    <thead>
      <tr>
        {sheet.heads.map((name, column) => (
          <th
            key={name} scope="col" class={column === 0 ? "" : "number"}
            aria-sort={order?.column === column ? (order.down ? "descending" : "ascending") : "none"}
          >
            <button type="button" class="link" onClick={() => sort(column)}>{name}</button>
          </th>
        ))}
      </tr>
    </thead>
  );
  const line = (place: number) => {
    const { cells, bar, subject, atom } = rows[place]!;
    const evidence = subject === null ? null : evidenceFor(given, subject);
    const chosen = subject !== null && subject === selected;
    const choose = () => subject !== null && set({ selected: chosen ? null : { subject, atom } });
    return (
      <tr key={place} aria-rowindex={place + 2} class={chosen ? "chosen" : ""} onClick={choose}>
        {cells.map((cell, column) => (
          <td key={column} class={column > 0 && /^[-+\d]/.test(cell) ? "number" : ""}>
            {column === 0 && subject !== null ? (
              <button
                type="button" class="link atom" aria-pressed={chosen} data-evidence={evidence}
                onClick={(event) => (event.stopPropagation(), choose())}
              >
                {cell}
              </button>
            ) : cell}
            {column === sheet.barred && bar && <Bar from={bar[0]} to={bar[1]} />}
          </td>
        ))}
      </tr>
    );
  };
  const sight = rows.findIndex((row) => row.subject !== null && row.subject === selected);
  return (
    <>
      {sheet.rows.length > 12 && (
        <label class="bar"><span>Show only</span>
          <input value={part} onInput={(event) => setPart(event.currentTarget.value)} placeholder="rows that contain this" />
        </label>
      )}
      <Rows label={label} head={head} count={rows.length} row={line} columns={sheet.heads.length} sight={sight < 0 ? null : sight} />
    </>
  );
}

/** What can be done with the chosen row. */
export function Chosen() {
  const selected = useStore((state) => state.selected);
  const given = useStore((state) => state.given);
  if (!selected) return <p class="soft">Choose a row to explain it, or to give it as true or false.</p>;
  const { subject, atom } = selected;
  const said = evidenceFor(given, subject);
  const choices = [["True", true], ["False", false], ["Unknown", null]] as const;
  return (
    <div class="bar chosen-row" role="group" aria-label={`The chosen row: ${subject}`}>
      <code>{subject}</code>
      <button type="button" onClick={() => void explain(subject)}>Explain</button>
      {atom && choices.map(([name, truth]) => (
        <button key={name} type="button" aria-pressed={said === truth} onClick={() => setEvidence(subject, truth)}>{name}</button>
      ))}
    </div>
  );
}
