// Numbers as the command line writes them, digit for digit.

/** `places` digits after the point; a tie goes to the even digit, as Python rounds it and JavaScript does not. */
export function fixed(value: number, places = 4): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
  if (Math.abs(value) >= 1e21) return String(value);
  const rounded = value.toFixed(places);
  const exact = Math.abs(value).toFixed(Math.min(places + 60, 100));
  const cut = exact.indexOf(".") + 1 + places;
  if (!/^50*$/.test(exact.slice(cut))) return rounded;
  const down = exact.slice(0, cut);
  return /[13579]$/.test(down) ? rounded : (value < 0 ? "-" : "") + down;
}

function exponent(value: number, places: number): string {
  const [digits, power] = value.toExponential(places).split("e") as [string, string];
  return `${digits}e${power[0]}${power.slice(1).padStart(2, "0")}`;
}

/** JSON has no infinity: the command line names it. */
export function numberOf(value: unknown): number {
  if (typeof value === "number") return value;
  if (typeof value === "string") return Number(value.replace(/^(-?)inf$/, "$1Infinity"));
  return NaN;
}

/** An end of an interval; small ones by their leading digits. */
export function end(value: number): string {
  if (Number.isNaN(value)) return "-";
  return value > 0 && value < 1e-3 ? exponent(value, 3) : fixed(value);
}

export function weight(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) >= 1e12) return exponent(value, 4);
  return value === 0 || (Math.abs(value) >= 1e-3 && Math.abs(value) < 1e12) ? fixed(value) : exponent(value, 4);
}

export function signed(value: number): string {
  return (value >= 0 ? "+" : "") + fixed(value);
}

/** A constant as a theory has it. */
export function constant(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}
