// The compiled circuit of one atom: choices as discs, "and" and "or" as squares above what they join.
import type { ComponentChildren } from "preact";
import { circuitOf } from "../actions";
import type { Circuit as Found } from "../api";
import { fixed } from "../numbers";
import { Around } from "./around";
import { Canvas } from "./canvas";

export function Circuit({ children }: { children: ComponentChildren }) {
  return (
    <Around ask={circuitOf} hint="the circuit of its choices is drawn here" show={(found) => <Gates found={found} />}>
      {children}
    </Around>
  );
}

function Gates({ found: { nodes } }: { found: Found }) {
  const drawn = {
    nodes: nodes.map(({ kind, text, share, row }, at) => ({
      id: String(at), label: kind === "literal" ? `${text}\n${share.toFixed(2)}` : kind, probability: share,
      shape: kind === "literal" ? ("disc" as const) : ("square" as const), row,
    })),
    edges: nodes.flatMap(({ parts }, at) => parts.map((part) => (
      { source: String(at), target: String(part), label: "", probability: nodes[part]!.share, arrows: "none" as const }
    ))),
  };
  const choices = new Set(nodes.filter(({ kind }) => kind === "literal").map(({ text }) => text.replace(/^not /, "")));
  return (
    <>
      <small class="soft">{`${nodes.length} nodes over ${choices.size} choices. One part of an “or” holds. The number is the share of the worlds with this atom in which a node counts.`}</small>
      <Canvas drawn={drawn} name={`The circuit of ${nodes.length} nodes over ${choices.size} choices`} version={JSON.stringify(nodes)} />
      <details>
        <summary>The same as a list</summary>
        <ol class="groundings">
          {nodes.map(({ kind, text, share, parts }, at) => (
            <li key={at}>{kind === "literal" ? <code>{text}</code> : `${kind} of ${parts.map((part) => part + 1).join(", ")}`} <small class="soft">{fixed(share)}</small></li>
          ))}
        </ol>
      </details>
    </>
  );
}
