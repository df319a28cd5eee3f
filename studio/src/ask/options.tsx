// The options of a command as a form, from the server's table of options.
import type { Option } from "../api";
import { now, set, useStore } from "../store";

/** What the page itself asks for elsewhere, or what has no meaning in it. */
const ELSEWHERE = new Set([
  ...["query", "given", "facts", "format", "output", "on", "dialect", "resume", "save", "goal", "theory"],
]);

export function Options() {
  const command = useStore((state) => state.command);
  const all = useStore((state) => state.allOptions);
  const chosen = useStore((state) => state.chosen[state.command] ?? {});
  const engine = chosen["engine"] ?? "";
  const options = (all[command] ?? []).filter(({ name, taken_by }) => !ELSEWHERE.has(name) && taken_by !== "command line");
  const count = Object.values(chosen).filter((value) => value !== "").length;
  if (!options.length) return null;
  const first = options.filter(({ name }) => name === "engine" || name === "target" || name === "worlds");
  const others = options.filter((option) => !first.includes(option));
  return (
    <details class="options" open={command === "induce" || command === "compare"}>
      <summary>{count ? `Options (${count} set)` : "Options"}</summary>
      <div class="form">
        {[...first, ...others].map((option) => (
          <Field key={`${command}-${option.name}`} option={option} value={chosen[option.name] ?? ""} engine={engine} />
        ))}
      </div>
    </details>
  );
}

function choose(name: string, value: string): void {
  const { command, chosen } = now();
  set({ chosen: { ...chosen, [command]: { ...chosen[command], [name]: value } } });
}

function Field({ option, value, engine }: { option: Option; value: string; engine: string }) {
  const command = useStore((state) => state.command);
  const { name, choices, help, engines, type } = option;
  const unused = engine && engine !== "auto" && engines?.length && !engines.includes(engine);
  const label = option.flag.replace(/^--/, "").replace(/-/g, " ");
  const shown = option.default === null || option.default === undefined || option.default === "" ? "" : String(option.default);
  const id = `option-${name}`;
  const common = { id, "aria-describedby": `${id}-help` };
  const many = command === "compare" && name === "engine";
  return (
    <div class={unused ? "field unused" : "field"}>
      {many ? <span>{label}</span> : <label for={id}>{label}</label>}
      {many ? (
        <Several option={option} value={value} />
      ) : type === "flag" ? (
        <input {...common} type="checkbox" checked={value === "true"} onChange={(event) => choose(name, event.currentTarget.checked ? "true" : "")} />
      ) : choices?.length ? (
        <select {...common} value={value} onChange={(event) => choose(name, event.currentTarget.value)}>
          <option value="">{shown || "default"}</option>
          {choices.filter((one) => one !== shown).map((one) => <option key={one} value={one}>{one}</option>)}
        </select>
      ) : (
        <input
          {...common} value={value} placeholder={shown} inputMode={type === "whole" || type === "number" ? "decimal" : "text"}
          onInput={(event) => choose(name, event.currentTarget.value)}
        />
      )}
      <small id={`${id}-help`}>{unused ? `${help} (${engine} does not use it)` : help}</small>
    </div>
  );
}

/** Any number of choices: a box for each. */
function Several({ option: { name, flag, choices }, value }: { option: Option; value: string }) {
  const picked = value.split(",").filter(Boolean);
  const toggle = (one: string, on: boolean) =>
    choose(name, (on ? [...picked, one] : picked.filter((other) => other !== one)).join(","));
  return (
    <fieldset>
      <legend class="hidden">{flag.replace(/^--/, "")}</legend>
      {(choices ?? []).map((one) => (
        <label key={one}>
          <input type="checkbox" checked={picked.includes(one)} onChange={(event) => toggle(one, event.currentTarget.checked)} />
          {one}
        </label>
      ))}
    </fieldset>
  );
}
