import { useEffect } from "preact/hooks";
import { cancel, leave, openTab, run, save } from "./actions";
import { Ask } from "./ask/ask";
import { Facts } from "./facts";
import { Keep } from "./keep";
import { Answers } from "./see/answers";
import { Compare } from "./see/compare";
import { GraphView } from "./see/graph";
import { Trace } from "./see/trace";
import { WhyView } from "./see/why";
import { TABS, unsaved, useStore, now, type Tab } from "./store";
import { Write } from "./write/write";

const VIEWS: Record<Tab, () => preact.JSX.Element> = {
  Facts, Answers, Graph: GraphView, Why: WhyView, Trace, Compare,
};

export function App() {
  useEffect(() => {
    const keys = (event: KeyboardEvent) => {
      if (event.defaultPrevented) return; // the editor has done it
      const command = event.ctrlKey || event.metaKey;
      if (command && event.key === "Enter") void run();
      else if (command && event.key === "s") void save();
      else if (event.key === "Escape" && now().ongoing) cancel();
      else if (event.altKey && /^[1-6]$/.test(event.key)) openTab(TABS[Number(event.key) - 1]!);
      else return;
      event.preventDefault();
    };
    const leaving = (event: BeforeUnloadEvent) => {
      if (unsaved(now()).some((name) => name in now().saved)) event.preventDefault();
    };
    addEventListener("keydown", keys);
    addEventListener("beforeunload", leaving);
    addEventListener("pagehide", leave);
    return () => {
      removeEventListener("keydown", keys);
      removeEventListener("beforeunload", leaving);
      removeEventListener("pagehide", leave);
    };
  }, []);
  const opened = useStore((state) => state.opened);
  const trouble = useStore((state) => state.trouble);
  if (!opened) return <p class="loading" role={trouble ? "alert" : undefined}>{trouble ? `${trouble.message}: ${trouble.hint ?? ""}` : "Herbrand studio"}</p>;
  return (
    <>
      <Keep />
      <main>
        <Write />
        <div class="right">
          <Ask />
          <Views />
        </div>
      </main>
    </>
  );
}

function Views() {
  const tab = useStore((state) => state.tab);
  const View = VIEWS[tab];
  const move = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1 };
    const at = TABS.indexOf(tab);
    const to = event.key === "Home" ? 0 : event.key === "End" ? TABS.length - 1 : at + (steps[event.key] ?? 0);
    if (to === at) return;
    event.preventDefault();
    const next = TABS[(to + TABS.length) % TABS.length]!;
    openTab(next);
    document.getElementById(`tab-${next}`)?.focus();
  };
  return (
    <section class="views" aria-label="Results">
      <div role="tablist" aria-label="Views" onKeyDown={move}>
        {TABS.map((name) => (
          <button
            key={name} type="button" role="tab" id={`tab-${name}`} aria-selected={name === tab} aria-controls="view"
            tabIndex={name === tab ? 0 : -1} onClick={() => openTab(name)}
          >
            {name}
          </button>
        ))}
      </div>
      <div role="tabpanel" id="view" aria-labelledby={`tab-${tab}`} tabIndex={-1}>
        <View />
      </div>
    </section>
  );
}
