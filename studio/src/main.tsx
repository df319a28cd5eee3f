import { render } from "preact";
import { open } from "./actions";
import { App } from "./app";
import "./style.css";

const place = document.getElementById("studio")!;
place.textContent = "";
render(<App />, place);
void open();
