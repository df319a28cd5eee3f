// Graph: the relations between constants, or the ground network around one atom.
import { useState } from "preact/hooks";
import { Relations } from "./relations";
import { Surroundings } from "./surroundings";

const DRAWINGS = { relations: Relations, "ground network": Surroundings };
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
