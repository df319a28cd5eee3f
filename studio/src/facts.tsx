// Facts: tables of the project, their counts, types and worlds; rows to look at, to edit, and to give as evidence.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { RowsPage } from "./api";
import { openFile, rowsOf, replaceText, upload, use } from "./actions";
import { Chosen } from "./see/answers";
import { Rows } from "./see/rows";
import { isTheory, set, useStore } from "./store";

const PAGE = 500;
const EDITABLE = 200;

export function Facts() {
  const [over, setOver] = useState(false);
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    void upload(event.dataTransfer?.files ?? []);
  };
  return (
    <div
      class={over ? "facts over" : "facts"} onDrop={drop} onDragLeave={() => setOver(false)}
      onDragOver={(event) => (event.preventDefault(), setOver(true))}
    >
      <label class="bar">
        <span>Add tables</span>
        <input
          type="file" multiple accept=".csv,.tsv,.parquet,.pq,.jsonl,.arrow,.duckdb,.db,.cfacts,.hb,.mln,.pl,.lcn,.bif,.uai"
          onChange={(event) => {
            void upload(event.currentTarget.files ?? []);
            event.currentTarget.value = "";
          }}
        />
        <small class="soft">or drop them here: CSV, TSV, Parquet, JSON lines, Arrow, DuckDB, .db; one table a predicate</small>
      </label>
      <Files />
      <Predicates />
    </div>
  );
}

function Files() {
  const files = useStore((state) => state.files);
  const unused = useStore((state) => state.unused);
  const current = useStore((state) => state.current);
  const outside = useStore((state) => state.outside);
  return (
    <ul class="files" aria-label="Files in use">
      {outside.map((name) => (
        <li key={name}>
          <label>
            <input type="checkbox" checked={!unused.includes(name)} onChange={(event) => use(name, event.currentTarget.checked)} />
            {name}
          </label>
        </li>
      ))}
      {files.filter(({ kind }) => kind !== "other").map((file) => (
        <li key={file.name}>
          <label>
            <input
              type="checkbox" checked={!unused.includes(file.name) || (isTheory(file) && file.name === current)}
              disabled={isTheory(file) && file.name === current}
              onChange={(event) => use(file.name, event.currentTarget.checked)}
            />
            {file.name}
          </label>
          {file.text !== null && <button type="button" class="link" aria-label={`Edit ${file.name} as text`} onClick={() => openFile(file.name)}>edit</button>}
        </li>
      ))}
    </ul>
  );
}

interface Shown {
  name: string;
  types: string[];
  world: string;
  rows: number | null;
}

function Predicates() {
  const checked = useStore((state) => state.checked);
  const tables = useStore((state) => state.tables);
  const [open, setOpen] = useState<string | null>(null);
  const mistake = useStore((state) => state.tablesMistake);
  const all = useMemo<Shown[]>(() => {
    const found = new Map<string, Shown>();
    for (const { name, arguments: types } of checked?.predicates ?? []) found.set(name, { name, types, world: "", rows: null });
    for (const { predicate, arguments: named, rows, world } of tables) {
      found.set(predicate, { name: predicate, types: named.map(({ type }) => type), world, rows });
    }
    return [...found.values()];
  }, [checked, tables]);
  if (!all.length) return <p class="soft">No predicates yet.</p>;
  return (
    <>
      {mistake && <pre class="trouble">{mistake}</pre>}
      <table aria-label="Predicates">
        <thead><tr><th scope="col">predicate</th><th scope="col">types</th><th scope="col">world</th><th scope="col" class="number">facts</th></tr></thead>
        <tbody>
          {all.map((one) => (
            <tr key={one.name}>
              <td>
                <button type="button" class="link" aria-expanded={open === one.name} onClick={() => setOpen(open === one.name ? null : one.name)}>
                  {one.name}
                </button>
              </td>
              <td>{one.types.join(", ")}</td>
              <td>{one.world}</td>
              <td class="number">{one.rows === null ? "" : one.rows.toLocaleString("en")}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {open && <Rowed key={open} predicate={open} />}
    </>
  );
}

interface Found {
  /** The pages that were asked for together with these. */
  asked: Set<number> | null;
  pages: Record<number, RowsPage>;
  trouble: string | null;
}

/** The rows of a predicate, in pages that are fetched as they come into sight. */
function Rowed({ predicate }: { predicate: string }) {
  const checked = useStore((state) => state.checked);
  const files = useStore((state) => state.files);
  const unused = useStore((state) => state.unused);
  const selected = useStore((state) => state.selected?.subject);
  // What was found stays in sight, and boxes open, until newer rows are there.
  const [{ pages, trouble }, setFound] = useState<Found>({ asked: null, pages: {}, trouble: null });
  const asked = useRef(new Set<number>());
  const fetchPage = (page: number) => {
    const these = asked.current;
    if (these.has(page)) return;
    these.add(page);
    const take = (found: RowsPage | null, trouble: string | null) => {
      if (these !== asked.current) return;
      setFound((before) => ({
        asked: these, pages: { ...(before.asked === these ? before.pages : {}), ...(found && { [page]: found }) }, trouble,
      }));
    };
    rowsOf(predicate, page * PAGE, PAGE).then(
      (found) => take(found, null),
      (error: unknown) => take(null, error instanceof Error ? error.message : String(error)),
    );
  };
  useEffect(() => {
    asked.current = new Set(); // what was asked of other rows is not taken any more
    fetchPage(0);
  }, [predicate, checked]);
  const first = pages[0];
  const used = files.filter(({ kind, text, name }) => kind === "facts" && text !== null && !unused.includes(name));
  const file = used.find((one) => one.name.replace(/^.*\/|\.(csv|tsv)$/gi, "") === predicate && /\.(csv|tsv)$/i.test(one.name));
  if (trouble) return <p class="trouble">{trouble}</p>;
  if (!first) return <p class="soft">Reading…</p>;
  const { columns, total } = first;
  const head = <thead><tr>{columns.map((name, at) => <th key={at} scope="col">{name}</th>)}</tr></thead>;
  return (
    <section aria-label={`Rows of ${predicate}`}>
      <h2>{predicate} <small class="soft">{`${total.toLocaleString("en")} rows`}</small></h2>
      {total > 0 && (
        <Rows
          label={`Rows of ${predicate}`} head={head} count={total} columns={columns.length}
          row={(at) => {
            const page = Math.floor(at / PAGE);
            const values = pages[page]?.rows[at % PAGE];
            const atom = pages[page]?.atoms[at % PAGE];
            if (!values || atom === undefined) {
              setTimeout(() => fetchPage(page));
              return <tr key={at}><td colSpan={columns.length} class="soft">…</td></tr>;
            }
            return (
              <tr key={at} aria-rowindex={at + 2} class={atom === selected ? "chosen" : ""}>
                {values.map((value, column) => (
                  <td key={column}>
                    {column === 0 ? (
                      <button
                        type="button" class="link" aria-pressed={atom === selected} aria-label={atom}
                        onClick={() => set({ selected: atom === selected ? null : { subject: atom, atom: true } })}
                      >
                        {String(value)}
                      </button>
                    ) : String(value ?? "")}
                  </td>
                ))}
              </tr>
            );
          }}
        />
      )}
      {selected !== undefined && Object.values(pages).some(({ atoms }) => atoms.includes(selected)) && <Chosen />}
      {file && total <= EDITABLE && <Cells key={file.name} name={file.name} text={file.text ?? ""} />}
    </section>
  );
}

/** A small table of text, a box a cell; what is typed is the file's text at once. */
function Cells({ name, text }: { name: string; text: string }) {
  const apart = /\.tsv$/i.test(name) ? "\t" : ",";
  const rows = useMemo(() => parse(text, apart), [text, apart]);
  const width = Math.max(1, ...rows.map((row) => row.length));
  const put = (changed: string[][]) => replaceText(name, changed.map((row) => row.map((cell) => quote(cell, apart)).join(apart)).join("\n") + (changed.length ? "\n" : ""));
  const change = (at: number, column: number, value: string) =>
    put(rows.map((row, place) => (place === at ? Array.from({ length: width }, (_, here) => (here === column ? value : (row[here] ?? ""))) : row)));
  return (
    <details>
      <summary>Edit the rows of {name}</summary>
      <table class="cells" aria-label={`Cells of ${name}`}>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>
              {Array.from({ length: width }, (_, column) => (
                <td key={column}>
                  <input aria-label={`Row ${at + 1}, column ${column + 1}`} value={row[column] ?? ""} onChange={(event) => change(at, column, event.currentTarget.value)} />
                </td>
              ))}
              <td><button type="button" class="link" aria-label={`Delete row ${at + 1}`} onClick={() => put(rows.filter((_, place) => place !== at))}>✕</button></td>
            </tr>
          ))}
        </tbody>
      </table>
      <button type="button" onClick={() => put([...rows, Array.from({ length: width }, () => "")])}>Add a row</button>
      <small class="soft"> Save writes the file.</small>
    </details>
  );
}

/** Rows of cells, quotes undone; an empty last line is none. */
export function parse(text: string, apart: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = "";
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    const sign = text[at]!;
    if (quoted) {
      if (sign !== '"') cell += sign;
      else if (text[at + 1] === '"') cell += text[++at]!;
      else quoted = false;
    } else if (sign === '"' && cell === "") quoted = true;
    else if (sign === apart) row.push(cell), (cell = "");
    else if (sign === "\n" || sign === "\r") {
      if (sign === "\r" && text[at + 1] === "\n") at++;
      rows.push([...row, cell]);
      row = [];
      cell = "";
    } else cell += sign;
  }
  if (cell !== "" || row.length) rows.push([...row, cell]);
  return rows;
}

const quote = (cell: string, apart: string) =>
  cell.includes(apart) || /["\n\r]/.test(cell) ? `"${cell.replace(/"/g, '""')}"` : cell;
