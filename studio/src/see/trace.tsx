// Trace: how the residual of a run fell, step by step.
import { latest, useStore } from "../store";
import type { TracePoint } from "../api";
import { Figure } from "./picture";

const [WIDE, HIGH, LEFT, LOW] = [640, 260, 64, 36];

export function Trace() {
  const last = useStore(latest);
  const ongoing = useStore((state) => state.ongoing);
  const points = ongoing?.trace ?? last?.trace ?? [];
  if (points.filter(({ value }) => value !== null).length < 2) {
    const exact = last ? "This run took no steps that could be drawn: it is exact at once, or ended within a step." : "The steps of a run stand here.";
    return <p class="soft">{ongoing ? "Waiting for the first steps." : exact}</p>;
  }
  return <Line points={points} />;
}

function Line({ points }: { points: TracePoint[] }) {
  const seen = points.flatMap(({ step, value }) => (value === null ? [] : [{ step, value }]));
  const logs = seen.every(({ value }) => value > 0);
  const scale = (value: number) => (logs ? Math.log10(value) : value);
  const steps = seen.map(({ step }) => step);
  const values = seen.map(({ value }) => scale(value));
  const [first, final] = [Math.min(...steps), Math.max(...steps)];
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const x = (step: number) => LEFT + ((step - first) / (final - first || 1)) * (WIDE - LEFT - 12);
  const y = (value: number) => 12 + ((high - value) / (high - low || 1)) * (HIGH - LOW - 12);
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => low + share * (high - low));
  const shown = (value: number) => (logs ? (10 ** value).toExponential(1) : value.toPrecision(4));
  const end = seen[seen.length - 1]!;
  return (
    <Figure name="trace">
      <svg class="trace" viewBox={`0 0 ${WIDE} ${HIGH}`} role="img" aria-label={`${seen.length} steps, from ${shown(values[0]!)} to ${shown(values[values.length - 1]!)}`}>
        {ticks.map((tick) => (
          <g key={tick}>
            <line class="grid" x1={LEFT} x2={WIDE - 12} y1={y(tick)} y2={y(tick)} />
            <text x={LEFT - 6} y={y(tick) + 4} text-anchor="end">{shown(tick)}</text>
          </g>
        ))}
        <text x={LEFT} y={HIGH - 10}>{first}</text>
        <text x={WIDE - 12} y={HIGH - 10} text-anchor="end">{final}</text>
        <text x={(LEFT + WIDE) / 2} y={HIGH - 10} text-anchor="middle">step</text>
        <polyline class="line" points={seen.map(({ step, value }) => `${x(step).toFixed(1)},${y(scale(value)).toFixed(1)}`).join(" ")} />
      </svg>
      <figcaption class="soft">{`Step ${end.step}: ${shown(scale(end.value))}.`}</figcaption>
    </Figure>
  );
}
