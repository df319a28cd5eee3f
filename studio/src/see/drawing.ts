// A graph on a canvas, by Cytoscape: a chunk of its own, since it is larger than all the rest.
import cytoscape from "cytoscape";

export interface DrawnNode {
  id: string;
  label: string;
  probability: number | null;
  /** A grounding is a small square, all others are discs; the one that was asked for has a thick rim. */
  shape: "disc" | "asked" | "square";
  /** Rows from the top; where the first node has one, all have. */
  row?: number;
}
export interface DrawnEdge {
  source: string;
  target: string;
  label: string;
  probability: number | null;
  arrows: "none" | "end" | "both";
}
export interface Drawn {
  nodes: DrawnNode[];
  edges: DrawnEdge[];
}

const LABELLED_EDGES = 40;
const LAID_OUT = 400;
const [SIDE, BELOW] = [70, 60];

const read = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Between two colours of the page's own, as the probability is between 0 and 1. */
function shade(share: number, cold: string, hot: string): string {
  const parts = (colour: string) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  const [from, to] = [parts(cold), parts(hot)];
  return `#${from.map((part, at) => Math.round(part + (to[at]! - part) * share).toString(16).padStart(2, "0")).join("")}`;
}

export function draw(container: HTMLElement, { nodes, edges }: Drawn): cytoscape.Core {
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
      ...nodes.map(({ id, label, probability, shape }) => ({ data: { id, label, colour: shown(probability) }, classes: shape })),
      ...edges.map(({ source, target, label, probability, arrows }, at) => ({
        data: { id: `edge ${at}`, source, target, label, colour: shown(probability) }, classes: arrows,
      })),
    ],
    style: [
      {
        selector: "node",
        style: {
          label: "data(label)", "text-wrap": "wrap", color: text, "font-size": 13, "background-color": "data(colour)",
          "border-width": 1, "border-color": text, width: 26, height: 26, "text-valign": "bottom", "text-margin-y": 3,
          "text-background-color": page, "text-background-opacity": 0.75, "z-index": 1,
        },
      },
      { selector: "node.asked", style: { "border-width": 4 } },
      { selector: "node.square", style: { shape: "rectangle", width: 13, height: 13, "background-color": text, "font-size": 11 } },
      {
        selector: "edge",
        style: {
          width: 2, "line-color": "data(colour)", "target-arrow-color": "data(colour)", "source-arrow-color": "data(colour)",
          "curve-style": "bezier", label: edges.length <= LABELLED_EDGES ? "data(label)" : "", "font-size": 11, color: text,
          "text-background-color": page, "text-background-opacity": 0.8, "text-rotation": "autorotate",
        },
      },
      { selector: "edge.end, edge.both", style: { "target-arrow-shape": "triangle" } },
      { selector: "edge.both", style: { "source-arrow-shape": "triangle" } },
    ],
    layout: nodes[0]?.row !== undefined
      ? { name: "preset", positions: inRows(nodes, edges), fit: false }
      : nodes.length > LAID_OUT ? { name: "grid" }
      : { name: "cose", animate: false, randomize: false, fit: false, nodeDimensionsIncludeLabels: true, nodeRepulsion: () => 400_000, idealEdgeLength: () => 80, componentSpacing: 80 },
    minZoom: 0.1,
    maxZoom: 4,
  });
  if (nodes.length <= LAID_OUT) fill(core, container);
  return core;
}

/** A place for each node: its row, and in the row the order of what it hangs from. */
function inRows(nodes: DrawnNode[], edges: DrawnEdge[]): Record<string, { x: number; y: number }> {
  const rows: DrawnNode[][] = [];
  for (const node of nodes) (rows[node.row ?? 0] ??= []).push(node);
  const places: Record<string, { x: number; y: number }> = {};
  rows.forEach((row, y) => {
    const above = ({ id }: DrawnNode) => {
      const known = edges.flatMap(({ source, target }) => (source === id ? (places[target] ?? []) : target === id ? (places[source] ?? []) : []));
      return known.reduce((sum, { x }) => sum + x, 0) / Math.max(known.length, 1);
    };
    const ordered = row.map((node) => ({ node, at: above(node) })).sort((one, other) => one.at - other.at);
    ordered.forEach(({ node }, at) => (places[node.id] = { x: 1000 * (at + 0.5) / row.length, y: 100 * y }));
  });
  return places;
}

/** Stretch the places of the nodes over the whole canvas, so that words keep their size and have room. */
function fill(core: cytoscape.Core, container: HTMLElement): void {
  const places = core.nodes().map((node) => node.position());
  const spread = (values: number[], from: number, to: number) => {
    const [low, high] = [Math.min(...values), Math.max(...values)];
    return (value: number) => (high - low < 1 ? (from + to) / 2 : from + ((value - low) / (high - low)) * (to - from));
  };
  if (!places.length) return;
  const across = spread(places.map(({ x }) => x), SIDE, Math.max(container.clientWidth - SIDE, SIDE + 1));
  const down = spread(places.map(({ y }) => y), SIDE / 2, Math.max(container.clientHeight - BELOW, SIDE / 2 + 1));
  core.nodes().positions((node) => ({ x: across(node.position().x), y: down(node.position().y) }));
  core.zoom(1);
  core.pan({ x: 0, y: 0 });
}
