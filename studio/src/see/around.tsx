// A drawing around one atom: the form that names it, and what the server finds.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { latest, useStore, type Finished } from "../store";
import { Legend } from "./canvas";
import { sheetOf } from "./sheet";

interface Drawing<Found> {
  ask: (atom: string) => Promise<Found>;
  /** What stands here once an atom is named. */
  hint: string;
  show: (found: Found, last: Finished | null) => JSX.Element;
  children: ComponentChildren;
}

export function Around<Found>({ ask, hint, show, children }: Drawing<Found>) {
  const last = useStore(latest);
  const selected = useStore((state) => state.selected?.subject ?? null);
  const [typed, setTyped] = useState<string | null>(null);
  const [answered, setAnswered] = useState<{ found: Found } | { trouble: string } | null>(null);
  const atoms = last ? (sheetOf(last.answer)?.rows ?? []).flatMap((row) => (row.atom && row.subject) || []) : [];
  const atom = typed ?? selected ?? atoms[0] ?? "";
  useEffect(() => {
    let wanted = true;
    setAnswered(null);
    if (atom) ask(atom).then(
      (found) => wanted && setAnswered({ found }),
      (error: unknown) => wanted && setAnswered({ trouble: error instanceof Error ? error.message : String(error) }),
    );
    return () => void (wanted = false);
  }, [atom, last, ask]);
  const take = (event: Event) => {
    event.preventDefault();
    const asked = new FormData(event.currentTarget as HTMLFormElement).get("atom");
    if (typeof asked === "string" && asked.trim()) setTyped(asked.trim());
  };
  return (
    <>
      <form class="bar" onSubmit={take}>
        {children}
        <label class="wide"><span>Around</span>
          <input name="atom" key={atom} defaultValue={atom} list="atoms" placeholder={'smokes("anna")'} spellcheck={false} />
        </label>
        <datalist id="atoms">{atoms.slice(0, 500).map((one) => <option key={one} value={one} />)}</datalist>
        <button type="submit">Draw</button>
        <Legend />
      </form>
      {!atom ? <p class="soft">{`Name an atom, and ${hint}.`}</p>
        : !answered ? <p class="soft">Drawing…</p>
        : "trouble" in answered ? <p class="soft" role="alert">{answered.trouble}</p>
        : show(answered.found, last)}
    </>
  );
}
