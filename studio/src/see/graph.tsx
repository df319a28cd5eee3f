// Graph: the relations between constants, the ground network around one atom, or its circuit.
import { useState } from "preact/hooks";
import { Circuit } from "./circuit";
import { Relations } from "./relations";
import { Surroundings } from "./surroundings";

const DRAWINGS = { relations: Relations, "ground network": Surroundings, circuit: Circuit };
type Name = keyof typeof DRAWINGS;

export function GraphView() {
  const [name, choose] = useState<Name>("relations");
  const View = DRAWINGS[name];
  return (
    <div class="graph">
      <View>
        <label><span>Draw</span>
          <select value={name} onChange={(event) => choose(event.currentTarget.value as Name)}>
            {Object.keys(DRAWINGS).map((one) => <option key={one} value={one}>{one}</option>)}
          </select>
        </label>
      </View>
    </div>
  );
}
