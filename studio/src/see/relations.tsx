// Constants as nodes, atoms of two arguments as arrows, probabilities as colour.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { graphOf } from "../actions";
import type { Graph, Mark } from "../api";
import { fixed } from "../numbers";
import { latest, useStore } from "../store";
import { Canvas, Legend } from "./canvas";
import type { Drawn, DrawnEdge } from "./drawing";

export function Relations({ children }: { children: ComponentChildren }) {
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
  if (trouble) return <><div class="bar">{children}</div><p class="soft">{trouble}</p></>;
  if (!graph) return <><div class="bar">{children}</div><p class="soft">Drawing…</p></>;
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
  const binary = [...new Set(edges.map((edge) => edge.predicate))];
  const counted = `${nodes.length} constants, ${atoms.length} atoms`;
  const beyond = left.nodes + left.edges ? `; ${left.nodes} constants and ${left.edges} atoms are too many to draw` : "";
  const arrows = binary.length === 1 ? `; arrows are ${binary[0]}` : "";
  return (
    <>
      <div class="bar">
        {children}
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
        <small class="soft">{counted + beyond + arrows}</small>
        <span class="gap" />
        <Legend />
      </div>
      <Canvas
        drawn={drawnOf({ nodes, edges }, binary.length > 1)} name={`A graph of ${nodes.length} constants and ${edges.length} links`}
        version={`${last?.number}-${predicate}-${near ? selected : ""}`}
      />
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
    </>
  );
}

/** The constants of an atom, and those that share an atom with one of them. */
function nearTo({ nodes, edges }: Graph, atom: string): Set<string> {
  const constants = new Set(atom.match(/"(?:[^"\\]|\\.)*"|-?\d[\d.e+-]*/g) ?? []);
  const own = new Set(nodes.map(({ id }) => id).filter((id) => constants.has(id.slice(id.indexOf(":") + 1))));
  const touching = edges.filter(({ source, target }) => own.has(source) || own.has(target));
  return new Set([...own, ...touching.flatMap(({ source, target }) => [source, target])]);
}

/** A predicate with its probability; of a many-valued one with its value. */
function written({ predicate, probability, value }: Mark, named = true): string {
  const name = value === undefined ? predicate : `${predicate} = ${String(value)}`;
  const number = probability === null ? "" : probability.toFixed(2);
  return [named ? name : "", number].filter(Boolean).join(" ");
}

/** Two arrows that say the same in both directions are one with two heads. */
function drawnOf({ nodes, edges }: Pick<Graph, "nodes" | "edges">, named: boolean): Drawn {
  const drawn = new Map<string, DrawnEdge>();
  for (const edge of edges) {
    const { source, target, probability } = edge;
    const label = written(edge, named);
    const back = drawn.get(JSON.stringify([target, source, edge.predicate, label]));
    if (back && source !== target) back.arrows = "both";
    else drawn.set(JSON.stringify([source, target, edge.predicate, label]), { source, target, label, probability, arrows: "end" });
  }
  return {
    nodes: nodes.map(({ id, label, marks }) => {
      const first = marks.find(({ probability }) => probability !== null);
      return { id, label: [label, ...marks.map((mark) => written(mark))].join("\n"), probability: first?.probability ?? null, shape: "disc" };
    }),
    edges: [...drawn.values()],
  };
}
