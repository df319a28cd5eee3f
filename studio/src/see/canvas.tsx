// The place of a drawing, and what its colours mean. Cytoscape loads when the first one is seen.
import { useEffect, useRef } from "preact/hooks";
import type { Drawn } from "./drawing";

export function Canvas({ drawn, name, version }: { drawn: Drawn; name: string; version: string }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let core: { destroy(): void } | null = null;
    let wanted = true;
    void import("./drawing").then(({ draw }) => {
      if (wanted && place.current) core = draw(place.current, drawn);
    });
    return () => {
      wanted = false;
      core?.destroy();
    };
  }, [version, drawn.nodes.length, drawn.edges.length]);
  return <div class="drawing" ref={place} role="img" aria-label={name} />;
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
