// The head of the page: files of the project, the gallery, saving and sharing.
import { useState } from "preact/hooks";
import { addFile, exportPage, openExample, openFile, removeFile, save } from "./actions";
import { unsaved, useStore } from "./store";

export function Keep() {
  const state = useStore((all) => all);
  const [naming, setNaming] = useState<string | null>(null);
  const waiting = unsaved(state);
  const add = (event: Event) => {
    event.preventDefault();
    if (naming) addFile(/\./.test(naming) ? naming : `${naming}.hb`);
    setNaming(null);
  };
  return (
    <header>
      <h1><img src="./icon.svg" alt="" width="22" height="22" /> Herbrand</h1>
      <label>
        <span>File</span>
        <select value={state.current} onChange={(event) => openFile(event.currentTarget.value)}>
          {state.files.filter((file) => file.text !== null).map(({ name }) => (
            <option key={name} value={name}>{waiting.includes(name) ? `${name} •` : name}</option>
          ))}
        </select>
      </label>
      {naming === null ? (
        <button type="button" onClick={() => setNaming("")}>New</button>
      ) : (
        <form onSubmit={add}>
          <input
            aria-label="Name of the new file" placeholder="rules.hb" value={naming} ref={(input) => input?.focus()}
            onInput={(event) => setNaming(event.currentTarget.value)}
            onKeyDown={(event) => event.key === "Escape" && setNaming(null)}
          />
          <button type="submit">Add</button>
        </form>
      )}
      <button type="button" onClick={() => void save()} title="Ctrl+S">Save{waiting.length ? ` (${waiting.length})` : ""}</button>
      <button
        type="button"
        onClick={() => confirm(`Remove ${state.current} from the project?`) && void removeFile(state.current)}
      >
        Remove
      </button>
      <span class="gap" />
      {state.examples.length > 0 && (
        <label>
          <span>Gallery</span>
          <select
            value="" onChange={(event) => {
              const name = event.currentTarget.value;
              event.currentTarget.value = "";
              if (name) void openExample(name);
            }}
          >
            <option value="">an example…</option>
            {state.examples.map(({ name, title }) => <option key={name} value={name}>{title}</option>)}
          </select>
        </label>
      )}
      <button type="button" onClick={() => void exportPage()}>Export</button>
    </header>
  );
}
