// Ask: a command, a question, evidence, options; run and cancel; how far a run is.
import { useState } from "preact/hooks";
import type { Command } from "../api";
import { addEvidence, cancel, run, setEvidence } from "../actions";
import { COMMANDS, set, useStore } from "../store";
import { Options } from "./options";

const EXAMPLES: Record<Command, string> = {
  infer: 'smokes, or an atom or formula a line; empty: all',
  bound: 'cancer("anna") | smokes("anna"); empty: all',
  query: 'uncle("liam", y)',
  learn: "none: it learns from the facts",
  induce: "the predicate that rules are wanted for",
  compare: "as for infer",
};

export function Ask() {
  const command = useStore((state) => state.command);
  const question = useStore((state) => state.question);
  const running = useStore((state) => state.ongoing !== null);
  return (
    <section class="ask" aria-label="Ask">
      <div class="bar">
        <label>
          <span>Command</span>
          <select
            aria-label="Command" value={command}
            onChange={(event) => set({ command: event.currentTarget.value as Command })}
          >
            {COMMANDS.map((name) => <option key={name} value={name}>{name}</option>)}
          </select>
        </label>
        <label class="wide question">
          <span>Question</span>
          <textarea
            aria-label="Question" rows={Math.max(1, question.split("\n").length)} value={question} spellcheck={false}
            placeholder={EXAMPLES[command]} onInput={(event) => set({ question: event.currentTarget.value })}
            onKeyDown={(event) => {
              if (event.key !== "Enter" || event.shiftKey || event.ctrlKey || event.metaKey || event.isComposing) return;
              event.preventDefault();
              void run();
            }}
          />
        </label>
        <button type="button" class="main" disabled={running} onClick={() => void run()} title="Ctrl+Enter">Run</button>
        <button type="button" disabled={!running} onClick={cancel} title="Escape">Cancel</button>
      </div>
      <Evidence />
      <Options />
      <Going />
      <Trouble />
    </section>
  );
}

function Evidence() {
  const given = useStore((state) => state.given);
  const [literal, setLiteral] = useState("");
  const add = (event: Event) => {
    event.preventDefault();
    addEvidence(literal);
    setLiteral("");
  };
  return (
    <form class="bar evidence" onSubmit={add}>
      <label class="wide">
        <span>Evidence</span>
        <input
          aria-label="Evidence" value={literal} placeholder={'smokes("anna") or not smokes("bob"); Enter adds it'}
          onInput={(event) => setLiteral(event.currentTarget.value)} spellcheck={false}
        />
      </label>
      <button type="submit" class="hidden">Add evidence</button>
      {given.length > 0 && (
        <ul aria-label="Given">
          {given.map((one) => (
            <li key={one}>
              <code>{one}</code>
              <button type="button" class="link" aria-label={`Take back ${one}`} onClick={() => setEvidence(one.replace(/^not\s+/, ""), null)}>
                ✕
              </button>
            </li>
          ))}
        </ul>
      )}
    </form>
  );
}

function Going() {
  const ongoing = useStore((state) => state.ongoing);
  const status = useStore((state) => state.status);
  const fraction = ongoing?.progress?.fraction;
  const value = ongoing === null ? 0 : fraction;
  const detail = ongoing ? [ongoing.cost, ongoing.notes.at(-1), ongoing.progress?.text].filter(Boolean).join(" · ") : "";
  const known = value !== null && value !== undefined;
  return (
    <div class="going">
      <progress aria-label="Progress" max={1} {...(known ? { value } : {})} />
      <p role="status" aria-label="Status">{status}</p>
      {detail && <small class="soft">{detail}</small>}
    </div>
  );
}

function Trouble() {
  const trouble = useStore((state) => state.trouble);
  if (!trouble) return null;
  return (
    <div role="alert" class="trouble">
      {trouble.where && <code>{trouble.where}</code>}
      <pre>{trouble.message}</pre>
      {trouble.hint && <em>{trouble.hint}</em>}
    </div>
  );
}
