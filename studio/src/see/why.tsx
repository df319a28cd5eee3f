// Why: the statements and groundings that moved a number, as a tree whose parts add up to it.
import type { Answer } from "../api";
import { explain } from "../actions";
import { constant, fixed, numberOf, signed } from "../numbers";
import { latest, useStore } from "../store";
import { sheetOf } from "./sheet";
import { Bar } from "./rows";

interface Reason {
  statement: string;
  grounding: Record<string, unknown>;
  contribution: unknown;
  parts?: Reason[];
}
interface End {
  subject: string;
  quantity: string;
  value: unknown;
  engine: string;
  guarantee: string;
  base: unknown;
  remainder: unknown;
  note: string;
  reasons: Reason[];
}

const UNSEEN = 5e-5;

export function WhyView() {
  const why = useStore((state) => state.why);
  return (
    <div class="why">
      <Choice />
      {!why ? <p class="soft">Choose an answer, and what speaks for and against it stands here.</p> : why.trouble ? (
        <div role="alert" class="trouble"><pre>{why.trouble.message}</pre>{why.trouble.hint && <em>{why.trouble.hint}</em>}</div>
      ) : why.explanation ? <Ends answer={why.explanation} /> : <p class="soft">Explaining {why.subject}…</p>}
    </div>
  );
}

/** Another answer to explain: one of the table, or any that is typed. */
function Choice() {
  const last = useStore(latest);
  const why = useStore((state) => state.why);
  const subjects = last ? (sheetOf(last.answer)?.rows ?? []).flatMap((row) => row.subject ?? []).slice(0, 500) : [];
  const take = (event: Event) => {
    event.preventDefault();
    const asked = new FormData(event.currentTarget as HTMLFormElement).get("subject");
    if (typeof asked === "string" && asked.trim()) void explain(asked.trim());
  };
  return (
    <form class="bar" onSubmit={take}>
      <label class="wide">
        <span>Explain</span>
        <input name="subject" list="subjects" key={why?.subject} defaultValue={why?.subject ?? ""} placeholder={'smokes("anna")'} spellcheck={false} />
      </label>
      <datalist id="subjects">{[...new Set(subjects)].map((subject) => <option key={subject} value={subject} />)}</datalist>
      <button type="submit">Explain</button>
    </form>
  );
}

function Ends({ answer }: { answer: Answer }) {
  const ends = "lower" in answer && "upper" in answer ? [answer["lower"], answer["upper"]] : [answer];
  return <>{(ends as End[]).map((end) => <Tree key={end.quantity} end={end} />)}</>;
}

function Tree({ end }: { end: End }) {
  const sure = end.engine === end.guarantee ? end.guarantee : `${end.engine}; ${end.guarantee}`;
  const value = numberOf(end.value);
  const base = numberOf(end.base);
  const rest = numberOf(end.remainder);
  const seen = end.reasons.filter((reason) => Math.abs(numberOf(reason.contribution)) > UNSEEN);
  const shown = seen.length ? seen : end.reasons;
  // What is too small to be shown counts among the others, so that the parts still add up.
  const small = end.reasons.filter((reason) => !shown.includes(reason)).reduce((sum, reason) => sum + numberOf(reason.contribution), 0);
  const others = rest + small;
  const parts = [base, others, ...shown.map((reason) => numberOf(reason.contribution))].filter(Number.isFinite);
  const largest = Math.max(1e-9, ...parts.map(Math.abs));
  const probability = end.quantity === "log-odds" ? `, probability ${fixed(1 / (1 + Math.exp(-value)))}` : "";
  const name = `Why ${end.subject}: ${end.quantity}`;
  return (
    <section class="tree" aria-label={name}>
      <h2><code>{end.subject}</code> {`${end.quantity} ${fixed(value)}${probability}`} <small class="soft">({sure})</small></h2>
      {end.note && <p class="soft">{end.note}</p>}
      <ul role="tree" aria-label={name} onKeyDown={walk}>
        {Math.abs(base) > UNSEEN && <Leaf number={base} largest={largest} text="before any statement" place={0} />}
        {shown.map((reason, place) => <Branch key={place} reason={reason} largest={largest} place={place} />)}
        {Math.abs(others) > UNSEEN && <Leaf number={others} largest={largest} text="all others" place={1} />}
      </ul>
      <p class="total"><strong data-total={value}>{signed(value)}</strong> {`in all: the ${end.quantity} of ${end.subject}`}</p>
    </section>
  );
}

const half = (number: number, largest: number) => 0.5 + Math.max(-0.5, Math.min(0.5, (0.5 * number) / largest));

function Leaf({ number, largest, text, place }: { number: number; largest: number; text: string; place: number }) {
  return (
    <li role="treeitem" tabIndex={place === 0 ? 0 : -1} aria-selected={false} data-contribution={number}>
      <span class="number">{signed(number)}</span><Bar from={0.5} to={half(number, largest)} /><span class="soft">({text})</span>
    </li>
  );
}

function Branch({ reason, largest, place, inner = false }: { reason: Reason; largest: number; place: number; inner?: boolean }) {
  const number = numberOf(reason.contribution);
  const where = Object.entries(reason.grounding).map(([name, value]) => `${name} = ${constant(value)}`).join(", ");
  const parts = reason.parts ?? [];
  return (
    <li
      role="treeitem" tabIndex={place === 0 && !inner ? 0 : -1} aria-selected={false}
      {...(parts.length ? { "aria-expanded": true } : {})} {...(inner ? {} : { "data-contribution": number })}
    >
      <span class="number">{inner ? "" : signed(number)}</span>
      {inner ? <span /> : <Bar from={0.5} to={half(number, largest)} />}
      <span><code>{reason.statement}</code>{where && <small class="soft"> {where}</small>}</span>
      {parts.length > 0 && <ul role="group">{parts.map((part, at) => <Branch key={at} reason={part} largest={largest} place={at} inner />)}</ul>}
    </li>
  );
}

/** Arrow keys walk the tree; left and right close and open a branch. */
function walk(event: KeyboardEvent): void {
  const item = (event.target as HTMLElement).closest<HTMLElement>('[role="treeitem"]');
  const tree = event.currentTarget as HTMLElement;
  if (!item) return;
  const all = [...tree.querySelectorAll<HTMLElement>('[role="treeitem"]')].filter((one) => one.offsetParent !== null);
  const at = all.indexOf(item);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
  if (to !== undefined) all[to]?.focus();
  else if (event.key === "ArrowRight" && item.hasAttribute("aria-expanded")) item.setAttribute("aria-expanded", "true");
  else if (event.key === "ArrowLeft" && item.hasAttribute("aria-expanded")) item.setAttribute("aria-expanded", "false");
  else return;
  event.preventDefault();
}
