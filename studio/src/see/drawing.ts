// The graph on a canvas, by Cytoscape: a chunk of its own, since it is larger than all the rest.
import cytoscape from "cytoscape";
import type { Graph, Mark } from "../api";

type Read = (name: string) => string;
type Shade = (share: number, cold: string, hot: string) => string;

/** A predicate with its probability; of a many-valued one with its value. */
function written({ predicate, probability, value }: Mark): string {
  const name = value === undefined ? predicate : `${predicate} = ${String(value)}`;
  return probability === null ? name : `${name} ${probability.toFixed(2)}`;
}

export function draw(container: HTMLElement, graph: Pick<Graph, "nodes" | "edges">, read: Read, shade: Shade): cytoscape.Core {
  const [cold, hot, text, edge, page] = ["--cold", "--hot", "--text", "--edge", "--page"].map(read) as [string, string, string, string, string];
  const shown = (probability: number | null) => (probability === null ? edge : shade(probability, cold, hot));
  // Cytoscape adds a <style> element unless one of this name stands there; the content policy forbids that.
  if (!document.getElementById("__________cytoscape_stylesheet")) {
    const stands = document.createElement("meta");
    stands.id = "__________cytoscape_stylesheet";
    document.head.append(stands);
  }
  const core = cytoscape({
    container,
    elements: [
      ...graph.nodes.map(({ id, label, marks }) => {
        const first = marks.find(({ probability }) => probability !== null);
        return { data: { id, label: [label, ...marks.map(written)].join("\n"), colour: shown(first ? first.probability : null) } };
      }),
      ...graph.edges.map((edge, at) => ({
        data: { id: `e${at}`, source: edge.source, target: edge.target, label: written(edge), colour: shown(edge.probability) },
      })),
    ],
    style: [
      {
        selector: "node",
        style: {
          label: "data(label)", "text-wrap": "wrap", color: text, "font-size": 11, "background-color": "data(colour)",
          "border-width": 1, "border-color": text, width: 26, height: 26, "text-valign": "bottom", "text-margin-y": 3,
        },
      },
      {
        selector: "edge",
        style: {
          width: 2, "line-color": "data(colour)", "target-arrow-color": "data(colour)", "target-arrow-shape": "triangle",
          "curve-style": "bezier", label: graph.edges.length <= 40 ? "data(label)" : "", "font-size": 8, color: text,
          "text-background-color": page, "text-background-opacity": 0.8, "text-rotation": "autorotate",
        },
      },
    ],
    layout: graph.nodes.length > 400
      ? { name: "grid" }
      : { name: "cose", animate: false, randomize: false, padding: 24, nodeDimensionsIncludeLabels: true, nodeRepulsion: () => 400_000, idealEdgeLength: () => 110, componentSpacing: 80 },
    minZoom: 0.1,
    maxZoom: 4,
  });
  return core;
}
