// How far the probabilities of the last answer can be believed: against a table of labels.
import { useRef, useState } from "preact/hooks";
import * as api from "../api";
import { fixed } from "../numbers";
import { latest, useStore, type Finished } from "../store";
import { Figure } from "./picture";

type Answered = { found: api.Score } | { trouble: string } | null;

const FIGURES = [
  ["average precision", "average_precision"], ["ROC area", "roc_area"], ["log loss", "log_loss"],
  ["Brier", "brier"], ["calibration error", "calibration_error"], ["accuracy", "accuracy"],
] as const;

export function Calibration() {
  const last = useStore(latest);
  const files = useStore((state) => state.files);
  const outside = useStore((state) => state.outside);
  const [answered, setAnswered] = useState<Answered>(null);
  const wanted = useRef<FormData | null>(null);
  const tables = [...outside, ...files.filter(({ kind }) => kind === "facts").map(({ name }) => name)];
  const predicates = predicatesOf(last);
  const scored = async (event: Event) => {
    event.preventDefault();
    const asked = (wanted.current = new FormData(event.currentTarget as HTMLFormElement));
    const answer = (found: Answered) => wanted.current === asked && setAnswered(found);
    const [file, predicate] = [String(asked.get("labels")), String(asked.get("predicate"))];
    try {
      const closed = asked.get("closed") ? [predicate] : [];
      answer({ found: await api.score({ facts: [{ predicate, file }], marginals: last?.answer["marginals"], closed }) });
    } catch (error) {
      answer({ trouble: error instanceof Error ? error.message : String(error) });
    }
  };
  return (
    <>
      <h2>Calibration</h2>
      {!predicates.length || !tables.length ? (
        <p class="soft">With an answer of infer and a table of labels, how often what is likely is true stands here.</p>
      ) : (
        <form class="bar" onSubmit={(event) => void scored(event)}>
          <label><span>Labels</span><select name="labels">{tables.map((name) => <option key={name}>{name}</option>)}</select></label>
          <label><span>Predicate</span><select name="predicate">{predicates.map((name) => <option key={name}>{name}</option>)}</select></label>
          <label><input type="checkbox" name="closed" /><span>what is not listed is false</span></label>
          <button type="submit">Score</button>
        </form>
      )}
      {answered && ("trouble" in answered ? <p class="soft" role="alert">{answered.trouble}</p> : <Scored found={answered.found} />)}
    </>
  );
}

function Scored({ found }: { found: api.Score }) {
  return (
    <>
      <table aria-label="Score">
        <thead><tr><th scope="col" class="number">rows</th>{FIGURES.map(([head]) => <th key={head} scope="col" class="number">{head}</th>)}</tr></thead>
        <tbody>
          <tr>
            <td class="number">{found.rows.toLocaleString("en")}</td>
            {FIGURES.map(([head, name]) => <td key={head} class="number">{found[name] === null ? "" : fixed(found[name])}</td>)}
          </tr>
        </tbody>
      </table>
      <Figure name="calibration"><Drawing bins={found.calibration} rows={found.rows} /></Figure>
    </>
  );
}

const [SIDE, MARGIN] = [180, 46];
const LARGEST = 14;

/** A disc for each interval of probabilities, as large as its rows; on the diagonal what is said is so. */
function Drawing({ bins, rows }: { bins: api.Bin[]; rows: number }) {
  const [across, up] = [(value: number) => MARGIN + value * SIDE, (value: number) => MARGIN / 2 + (1 - value) * SIDE];
  return (
    <svg class="calibration" role="img" aria-label={`Calibration of ${rows.toLocaleString("en")} rows`} width={SIDE + 1.5 * MARGIN} height={SIDE + 1.5 * MARGIN}>
      <rect x={across(0)} y={up(1)} width={SIDE} height={SIDE} class="frame" />
      <line x1={across(0)} y1={up(0)} x2={across(1)} y2={up(1)} class="diagonal" />
      {[0, 0.5, 1].map((value) => (
        <g key={value}>
          <text x={across(value)} y={up(0) + 14} text-anchor="middle">{value}</text>
          <text x={across(0) - 6} y={up(value) + 4} text-anchor="end">{value}</text>
        </g>
      ))}
      <text x={across(0.5)} y={up(0) + 30} text-anchor="middle">mean probability</text>
      <text x={-up(0.5)} y={12} text-anchor="middle" transform="rotate(-90)">share true</text>
      {bins.map((bin) => (
        <circle key={bin.lower} cx={across(bin.probability)} cy={up(bin.truth)} r={Math.max(3, LARGEST * Math.sqrt(bin.rows / rows))}>
          <title>{`${bin.rows.toLocaleString("en")} rows from ${bin.lower} to ${bin.upper}: mean ${fixed(bin.probability)}, true ${fixed(bin.truth)}`}</title>
        </circle>
      ))}
    </svg>
  );
}

/** The predicates that the last answer has marginals of. */
function predicatesOf(last: Finished | null): string[] {
  const rows = (last?.answer["marginals"] ?? []) as { predicate: string | null }[];
  return [...new Set(rows.flatMap(({ predicate }) => predicate ?? []))];
}
