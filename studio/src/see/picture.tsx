// Saving what is drawn: a canvas as PNG, lines and discs as SVG with the page's colours in it.
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { download } from "../actions";

const PAINTED = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "font-family", "font-size"];

export function SavePicture({ name, taken }: { name: string; taken: () => Blob | null }) {
  const saved = () => {
    const picture = taken();
    if (picture) download(picture, name);
  };
  return <button type="button" class="save-picture" onClick={saved}>Save picture</button>;
}

/** A drawing of the page's own, with the button that saves it under a name. */
export function Figure({ name, children }: { name: string; children: ComponentChildren }) {
  const place = useRef<HTMLElement>(null);
  const taken = () => {
    const drawn = place.current?.querySelector("svg");
    return drawn ? new Blob([written(drawn)], { type: "image/svg+xml" }) : null;
  };
  return <figure ref={place}>{children}<SavePicture name={`${name}.svg`} taken={taken} /></figure>;
}

/** A copy that needs no style sheet, on the page's background. */
function written(drawn: SVGSVGElement): string {
  const copy = drawn.cloneNode(true) as SVGSVGElement;
  const parts = [...copy.querySelectorAll("*")];
  [...drawn.querySelectorAll("*")].forEach((part, at) => {
    const style = getComputedStyle(part);
    for (const property of PAINTED) parts[at]!.setAttribute(property, style.getPropertyValue(property));
  });
  const { width, height } = drawn.getBoundingClientRect();
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  const page = document.createElementNS(copy.namespaceURI, "rect");
  page.setAttribute("width", "100%");
  page.setAttribute("height", "100%");
  page.setAttribute("fill", getComputedStyle(document.body).backgroundColor);
  copy.prepend(page);
  return new XMLSerializer().serializeToString(copy);
}
