// Graph: constants as nodes, atoms as arrows, probabilities as colour. Cytoscape loads when it is first seen.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Graph, Mark } from "../api";
import { graphOf } from "../actions";
import { fixed } from "../numbers";
import { latest, useStore } from "../store";

export function GraphView() {
  const last = useStore(latest);
  const [graph, setGraph] = useState<Graph | null>(null);
  const [trouble, setTrouble] = useState<string | null>(null);
  const [predicate, setPredicate] = useState("");
  const [around, setAround] = useState(false);
  const selected = useStore((state) => state.selected?.subject);
  useEffect(() => {
    let wanted = true;
    graphOf().then(
      (found) => wanted && (setGraph(found), setTrouble(null)),
      (error: unknown) => wanted && setTrouble(error instanceof Error ? error.message : String(error)),
    );
    return () => void (wanted = false);
  }, [last]);
  if (trouble) return <p class="soft">{trouble}</p>;
  if (!graph) return <p class="soft">Drawing…</p>;
  const marks = graph.nodes.flatMap((node) => node.marks);
  const predicates = [...new Set([...graph.edges, ...marks].map((mark) => mark.predicate))].sort();
  const wanted = <T extends Mark>(some: T[]) => some.filter((mark) => !predicate || mark.predicate === predicate);
  const near = around && selected ? nearTo(graph, selected) : null;
  const edges = wanted(graph.edges).filter(({ source, target }) => !near || (near.has(source) && near.has(target)));
  const nodes = graph.nodes.filter(({ id }) => !near || near.has(id)).map((node) => ({ ...node, marks: wanted(node.marks) }));
  const { left_out: left } = graph;
  const labels = new Map(nodes.map(({ id, label }) => [id, label]));
  const atoms = [
    ...nodes.flatMap((node) => node.marks.map((mark) => ({ ...mark, of: node.label }))),
    ...edges.map((edge) => ({ ...edge, of: `${labels.get(edge.source)}, ${labels.get(edge.target)}` })),
  ];
  return (
    <div class="graph">
      <div class="bar">
        <label><span>Relation</span>
          <select value={predicate} onChange={(event) => setPredicate(event.currentTarget.value)}>
            <option value="">all</option>
            {predicates.map((name) => <option key={name} value={name}>{name}</option>)}
          </select>
        </label>
        {selected && (
          <label>
            <input type="checkbox" checked={around} onChange={(event) => setAround(event.currentTarget.checked)} />
            <span>only around <code>{selected}</code></span>
          </label>
        )}
        <small class="soft">{`${nodes.length} constants, ${atoms.length} atoms${left.nodes + left.edges ? `; ${left.nodes} constants and ${left.edges} atoms are too many to draw` : ""}`}</small>
        <span class="gap" />
        <Legend />
      </div>
      <Drawing nodes={nodes} edges={edges} shown={`${last?.number}-${predicate}-${near ? selected : ""}`} />
      <details>
        <summary>The same as a list</summary>
        <ul class="atoms">
          {atoms.map(({ predicate: name, of, probability, value }, place) => (
            <li key={place}>
              <code>{`${name}(${of})${value === undefined ? "" : ` = ${String(value)}`}`}</code>
              {probability === null ? "" : ` ${fixed(probability)}`}
            </li>
          ))}
        </ul>
      </details>
    </div>
  );
}

/** The constants of an atom, and those that share an atom with one of them. */
function nearTo({ nodes, edges }: Graph, atom: string): Set<string> {
  const constants = new Set(atom.match(/"(?:[^"\\]|\\.)*"|-?\d[\d.e+-]*/g) ?? []);
  const own = new Set(nodes.map(({ id }) => id).filter((id) => constants.has(id.slice(id.indexOf(":") + 1))));
  const touching = edges.filter(({ source, target }) => own.has(source) || own.has(target));
  return new Set([...own, ...touching.flatMap(({ source, target }) => [source, target])]);
}

function Legend() {
  return (
    <small class="legend soft">0
      <svg aria-hidden="true" width="80" height="10"><defs><linearGradient id="shades"><stop offset="0" class="cold" /><stop offset="1" class="hot" /></linearGradient></defs>
        <rect width="80" height="10" fill="url(#shades)" /></svg>
      1
    </small>
  );
}

const read = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Between two colours of the page's own, as the probability is between 0 and 1. */
function shade(share: number, cold: string, hot: string): string {
  const parts = (colour: string) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  const [from, to] = [parts(cold), parts(hot)];
  return `#${from.map((part, at) => Math.round(part + (to[at]! - part) * share).toString(16).padStart(2, "0")).join("")}`;
}

function Drawing({ nodes, edges, shown }: Pick<Graph, "nodes" | "edges"> & { shown: string }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let drawn: { destroy(): void } | null = null;
    let wanted = true;
    void import("./drawing").then(({ draw }) => {
      if (wanted && place.current) drawn = draw(place.current, { nodes, edges }, read, shade);
    });
    return () => {
      wanted = false;
      drawn?.destroy();
    };
  }, [shown, nodes.length, edges.length]);
  return <div class="drawing" ref={place} role="img" aria-label={`A graph of ${nodes.length} constants and ${edges.length} links`} />;
}
