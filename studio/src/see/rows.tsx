// A table that draws only the rows in sight, so that ten thousand scroll like ten.
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

export const ROW = 30;
const SPARE = 12;
const ALL_UP_TO = 200;

interface Props {
  label: string;
  head: JSX.Element;
  count: number;
  row: (place: number) => JSX.Element;
  columns: number;
  /** The row to keep in sight, if any. */
  sight?: number | null;
}

export function Rows({ label, head, count, row, columns, sight = null }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const [[top, height], see] = useState([0, 600]);
  const look = () => place.current && see([place.current.scrollTop, place.current.clientHeight]);
  useLayoutEffect(() => void look(), [count]);
  useEffect(() => {
    const watch = new ResizeObserver(() => look());
    watch.observe(place.current!);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    const box = place.current;
    if (sight === null || !box || count <= ALL_UP_TO) return;
    const [from, to] = [sight * ROW, (sight + 2) * ROW];
    if (from < box.scrollTop) box.scrollTop = from;
    else if (to > box.scrollTop + box.clientHeight) box.scrollTop = to - box.clientHeight;
  }, [sight]);
  const all = count <= ALL_UP_TO;
  const first = all ? 0 : Math.max(0, Math.floor(top / ROW) - SPARE);
  const last = all ? count : Math.min(count, Math.ceil((top + height) / ROW) + SPARE);
  const rows = [];
  for (let at = first; at < last; at++) rows.push(row(at));
  return (
    <div class="rows" ref={place} onScroll={look} tabIndex={0} role="group" aria-label={`${label}, scrolling`}>
      <table aria-label={label} aria-rowcount={count + 1}>
        {head}
        <tbody>
          <Gap height={first * ROW} columns={columns} />
          {rows}
          <Gap height={(count - last) * ROW} columns={columns} />
        </tbody>
      </table>
    </div>
  );
}

function Gap({ height, columns }: { height: number; columns: number }) {
  return height > 0 ? <tr aria-hidden="true"><td colSpan={columns} style={{ height: `${height}px`, padding: 0 }} /></tr> : null;
}

/** A bar from one share of the width to another; only for the eye, the number stands beside it. */
export function Bar({ from, to }: { from: number; to: number }) {
  const [left, width] = [Math.min(from, to) * 100, Math.max(Math.abs(to - from) * 100, 0.6)];
  return (
    <svg class="bar-line" aria-hidden="true" focusable="false" viewBox="0 0 100 8" preserveAspectRatio="none">
      <rect class="track" width="100" height="8" rx="1" />
      <rect class="filled" x={Math.min(left, 99.4)} width={width} height="8" />
    </svg>
  );
}
