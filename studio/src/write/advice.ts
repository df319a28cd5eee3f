// What the checker advises, as a change of the text, where its words name one.

export interface Change {
  from: number;
  to: number;
  insert: string;
  says: string;
}

const OPERATORS = "=>|<=>|:-|!=|<=|>=|=";
const WRITE = new RegExp(`^write (?:'(and|or|xor|not|${OPERATORS})'|(${OPERATORS})(?= |$))`);

/** The change that the advice names for the text from `from` to `to`, if it names one. */
export function changeOf(text: string, from: number, to: number, message: string, hint: string): Change | null {
  const spoken = text.slice(from, to);
  const similar = /did you mean '([^']+)'/.exec(hint)?.[1];
  if (similar !== undefined) {
    const wrong = /'([^']+)'/.exec(message)?.[1];
    const at = wrong === undefined ? -1 : spoken.indexOf(wrong);
    if (wrong !== undefined && at >= 0) {
      return { from: from + at, to: from + at + wrong.length, insert: similar, says: `write ${similar}` };
    }
    return { from, to, insert: similar, says: `write ${similar}` };
  }
  const write = WRITE.exec(hint);
  const operator = write?.[1] ?? write?.[2];
  if (operator !== undefined && spoken.length <= 8) {
    const apart = operator === "not" && /\S/.test(text[to] ?? " ") ? " " : "";
    return { from, to, insert: operator + apart, says: `write ${operator}` };
  }
  const quoted = /^constants stand in quotes: ("(?:[^"\\]|\\.)*")/.exec(hint)?.[1];
  if (quoted !== undefined && quoted === `"${spoken}"`) {
    return { from, to, insert: quoted, says: `write ${quoted}` };
  }
  if (hint === "comments begin with #" && spoken.length <= 2) {
    return { from, to, insert: "#", says: "write #" };
  }
  return null;
}
