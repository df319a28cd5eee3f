// Write: the theory, its mistakes, its outline.
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Mistake } from "../api";
import { checkNow, format, getEditor, openFile, run, save, setEditor, setText } from "../actions";
import { constant } from "../numbers";
import { now, textOf, useStore } from "../store";
import { TheoryEditor } from "./editor";

const words = () => {
  const { checked } = now();
  return { predicates: (checked?.predicates ?? []).map(({ name }) => name), constants: (checked?.constants ?? []).map(constant) };
};

export function Write() {
  return (
    <section class="write" aria-label="Write">
      <div class="bar">
        <button type="button" onClick={checkNow}>Check</button>
        <button type="button" onClick={() => void format()}>Format</button>
        <Outline />
        <span class="gap" />
        <Speed />
      </div>
      <Editor />
      <Mistakes />
    </section>
  );
}

function Editor() {
  const place = useRef<HTMLDivElement>(null);
  const current = useStore((state) => state.current);
  const revision = useStore((state) => state.revision);
  // Both before anything else can happen: what is typed or marked belongs to the file that is shown.
  useLayoutEffect(() => {
    const calls = {
      changed: (changed: string) => setText(now().current, changed),
      text: () => textOf(now(), now().current),
      words,
      run: () => void run(),
      save: () => void save(),
    };
    const made = new TheoryEditor(place.current!, now().current, textOf(now(), now().current), calls);
    setEditor(made);
    made.view.focus();
    return () => {
      setEditor(null);
      made.view.destroy();
    };
  }, []);
  useLayoutEffect(() => getEditor()?.show(now().current, textOf(now(), now().current)), [current, revision]);
  return <div class="editor" ref={place} />;
}

function Speed() {
  const ms = useStore((state) => state.checkedIn);
  return ms === null ? null : <small class="soft" data-checked-in={ms.toFixed(1)}>{`checked in ${ms.toFixed(0)} ms`}</small>;
}

function Outline() {
  const all = useStore((state) => state.checked?.outline);
  const current = useStore((state) => state.current);
  const outline = (all ?? []).filter(({ file }) => file === current);
  if (!outline.length) return null;
  return (
    <label>
      <span>Outline</span>
      <select
        value="" onChange={(event) => {
          const line = Number(event.currentTarget.value);
          event.currentTarget.value = "";
          if (line) getEditor()?.goTo(line, 1);
        }}
      >
        <option value="">{`${outline.length} statements`}</option>
        {outline.map(({ name, kind, line }, place) => (
          <option key={place} value={line}>{`${line}: ${kind === name ? "" : `${kind} `}${name}`.slice(0, 90)}</option>
        ))}
      </select>
    </label>
  );
}

function Mistakes() {
  const mistakes = useStore((state) => state.checked?.mistakes);
  const current = useStore((state) => state.current);
  return (
    <section class="mistakes" aria-label="Mistakes" aria-live="polite" tabIndex={0}>
      {!mistakes ? null : mistakes.length === 0 ? <p class="soft">No mistakes.</p> : (
        <ul>{mistakes.map((mistake, place) => <One key={place} mistake={mistake} current={current} />)}</ul>
      )}
    </section>
  );
}

function One({ mistake, current }: { mistake: Mistake; current: string }) {
  const { file, line, column } = mistake;
  const here = file === null || file === current;
  const place = line === null ? (here ? "" : file) : `${here ? "line " : `${file}:`}${line}${here ? "" : `:${column}`}`;
  const advice = here && line !== null ? getEditor()?.adviceOf(mistake) : null;
  const go = () => {
    if (!here && file !== null) openFile(file);
    setTimeout(() => getEditor()?.goTo(line, column));
  };
  return (
    <li class={mistake.severity === "warning" ? "warning" : "error"}>
      {place && <button type="button" class="link" onClick={go} aria-label={`Go to ${place}`}>{place}</button>}
      <span>
        {mistake.message}
        {mistake.hint && <em>{mistake.hint}</em>}
      </span>
      {advice && (
        <button type="button" onClick={() => getEditor()?.apply(mistake)} aria-label={`Take the advice, ${place}`} title="Ctrl+.">
          {advice}
        </button>
      )}
    </li>
  );
}
