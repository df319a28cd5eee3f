// The place of a drawing, and what its colours mean. Cytoscape loads when the first one is seen.
import type { Core } from "cytoscape";
import { useEffect, useRef } from "preact/hooks";
import type { Drawn } from "./drawing";
import { SavePicture } from "./picture";

const SCALE = 2;

export function Canvas({ drawn, name, version }: { drawn: Drawn; name: string; version: string }) {
  const place = useRef<HTMLDivElement>(null);
  const core = useRef<Core | null>(null);
  useEffect(() => {
    let wanted = true;
    void import("./drawing").then(({ draw }) => {
      if (wanted && place.current) core.current = draw(place.current, drawn);
    });
    return () => {
      wanted = false;
      core.current?.destroy();
      core.current = null;
    };
  }, [version, drawn.nodes.length, drawn.edges.length]);
  const taken = () => core.current?.png({ output: "blob", full: true, scale: SCALE, bg: getComputedStyle(document.body).backgroundColor }) ?? null;
  return (
    <>
      <div class="drawing" ref={place} role="img" aria-label={name} />
      <SavePicture name="graph.png" taken={taken} />
    </>
  );
}

export function Legend() {
  return (
    <small class="legend soft">0
      <svg aria-hidden="true" width="80" height="10"><defs><linearGradient id="shades"><stop offset="0" class="cold" /><stop offset="1" class="hot" /></linearGradient></defs>
        <rect width="80" height="10" fill="url(#shades)" /></svg>
      1
    </small>
  );
}
