// The ground network around one atom: atoms as discs, groundings of statements as squares between them.
// A grounding of a rule or a choice points to what it derives.
import type { ComponentChildren } from "preact";
import { surroundingsOf } from "../actions";
import type { Surroundings as Found } from "../api";
import { fixed } from "../numbers";
import type { Finished } from "../store";
import { Around } from "./around";
import { Canvas } from "./canvas";

export function Surroundings({ children }: { children: ComponentChildren }) {
  return (
    <Around ask={surroundingsOf} hint="the groundings that it is in are drawn here" show={(found, last) => <Network found={found} last={last} />}>
      {children}
    </Around>
  );
}

function Network({ found, last }: { found: Found; last: Finished | null }) {
  const probabilities = probabilitiesOf(last);
  const labelled = (atom: string) => {
    const probability = probabilities.get(atom);
    return probability === undefined ? atom : `${atom}\n${probability.toFixed(2)}`;
  };
  const derived = found.groundings.some(({ heads }) => heads.length);
  const steps = new Map(found.atoms.map(({ atom, steps }) => [atom, steps]));
  /** A rule stands below the lowest atom that it derives, and above those it rests on where no circle is. */
  const below = (heads: string[]) => 2 * Math.max(...heads.map((head) => steps.get(head) ?? 0)) + 1;
  const drawn = {
    nodes: [
      ...found.atoms.map(({ atom, steps }) => ({
        id: atom, label: labelled(atom), probability: probabilities.get(atom) ?? null, shape: steps ? ("disc" as const) : ("asked" as const), ...(derived ? { row: 2 * steps } : {}),
      })),
      ...found.groundings.map(({ statement, heads }, at) => ({
        id: `grounding ${at}`, label: weightOf(statement), probability: null, shape: "square" as const, ...(derived ? { row: below(heads) } : {}),
      })),
    ],
    edges: found.groundings.flatMap(({ atoms, heads }, at) => [
      ...atoms.map((atom) => ({ source: atom, target: `grounding ${at}`, label: "", probability: null, arrows: "none" as const })),
      ...heads.map((head) => ({ source: `grounding ${at}`, target: head, label: "", probability: null, arrows: "end" as const })),
    ]),
  };
  const what = derived ? "of the rules and choices that they rest on" : "of their statements, two steps far";
  const beyond = found.left_out ? `; ${found.left_out} atoms more are too many to draw` : "";
  const name = `The ground network of ${found.atoms.length} atoms and ${found.groundings.length} groundings`;
  return (
    <>
      <small class="soft">{`${found.atoms.length} atoms, ${found.groundings.length} groundings ${what}${beyond}. Evidence is absorbed.`}</small>
      <Canvas drawn={drawn} name={name} version={JSON.stringify(found)} />
      <details>
        <summary>The same as a list</summary>
        <ul class="groundings">
          {found.groundings.map(({ statement, where, atoms, heads }, place) => (
            <li key={place}>
              <code>{statement}</code>{where && <small class="soft"> {where}</small>}: {[...heads, ...atoms].map((atom) => {
                const probability = probabilities.get(atom);
                return probability === undefined ? atom : `${atom} ${fixed(probability)}`;
              }).join(", ")}
            </li>
          ))}
        </ul>
      </details>
    </>
  );
}

/** What stands before the colon: a weight, hard, or the probability of a choice's first outcome. */
const weightOf = (statement: string) => (/^(\S+?)(?:: | :: )/.exec(statement)?.[1] ?? "").replace(/(\.\d{3})\d+/, "$1");

/** The probability of each atom that is true or false; one of many values has several, and so no colour. */
function probabilitiesOf(last: Finished | null): Map<string, number> {
  const rows = (last?.answer["marginals"] ?? []) as { atom: string; probability: number; value: unknown }[];
  return new Map(rows.filter(({ value }) => value === null || value === undefined).map(({ atom, probability }) => [atom, probability]));
}
