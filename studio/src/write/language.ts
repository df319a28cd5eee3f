// The language's words and colours. Only what an eye needs: what a statement means is the checker's to say.
import { HighlightStyle, StreamLanguage, syntaxHighlighting, type StreamParser } from "@codemirror/language";
import { tags } from "@lezer/highlight";

export const KEYWORDS = [
  ...["type", "predicate", "hard", "where", "exists", "forall", "and", "or", "xor", "not", "in", "true", "false"],
  ...["P", "observed", "learned", "independent", "number", "date", "time"],
];
const DECLARING = new Set(["type", "predicate", "hard", "observed", "learned", "independent"]);
const WORDS = new Set(KEYWORDS);

const parser: StreamParser<null> = {
  name: "herbrand",
  startState: () => null,
  token(stream) {
    if (stream.eatSpace()) return null;
    if (stream.match(/^#.*/)) return "comment";
    if (stream.match(/^"(?:[^"\\]|\\.)*"?/)) return "string";
    if (stream.match(/^`[^`]*`?/)) return "propertyName";
    if (stream.match(/^\[[^\]"]*\](?=\s)/) && stream.start === 0) return "labelName";
    if (stream.match(/^[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/)) return "number";
    if (stream.match(/^(?::-|::|<=>|=>|!=|<=|>=|\.\.|[-+*/%=<>|?@~:;])/)) return "operator";
    const word = stream.match(/^[\p{L}_][\p{L}\p{N}_]*/u);
    if (word && word !== true) {
      if (DECLARING.has(word[0])) return "modifier";
      if (WORDS.has(word[0])) return "keyword";
      return /^\s*\(/.test(stream.string.slice(stream.pos)) ? "propertyName" : "variableName";
    }
    stream.next();
    return null;
  },
  languageData: { commentTokens: { line: "#" }, closeBrackets: { brackets: ["(", "[", "{", '"'] } },
};

export const herbrand = StreamLanguage.define(parser);

export const colours = syntaxHighlighting(
  HighlightStyle.define([
    { tag: tags.comment, color: "var(--soft)", fontStyle: "italic" },
    { tag: tags.string, color: "var(--string)" },
    { tag: tags.number, color: "var(--number)" },
    { tag: tags.keyword, color: "var(--keyword)" },
    { tag: tags.modifier, color: "var(--keyword)", fontWeight: "bold" },
    { tag: tags.operator, color: "var(--operator)" },
    { tag: tags.propertyName, color: "var(--name)" },
    { tag: tags.labelName, color: "var(--soft)" },
  ]),
);
