// CodeMirror's styles as a constructed sheet. Its own way is a <style> element, which the page's content
// policy (style-src 'self') forbids; sheets that a script constructs are allowed.
import { StyleModule as Original } from "../../node_modules/style-mod/src/style-mod.js";

type Root = Document | ShadowRoot;
interface Mounted {
  sheet: CSSStyleSheet;
  modules: Original[];
}
const mounted = new WeakMap<Root, Mounted>();

export class StyleModule extends Original {
  /** Rules of later modules win, as in the original. */
  static override mount(root: Root, given: Original | readonly Original[]): void {
    const modules = [given].flat() as Original[];
    let here = mounted.get(root);
    if (!here) {
      here = { sheet: new CSSStyleSheet(), modules: [] };
      mounted.set(root, here);
      root.adoptedStyleSheets = [here.sheet, ...root.adoptedStyleSheets];
    }
    const kept = here.modules.filter((module) => !modules.includes(module));
    const all = [...kept, ...modules];
    if (all.length === here.modules.length && all.every((module, place) => module === here.modules[place])) return;
    here.modules = all;
    here.sheet.replaceSync(all.map((module) => module.getRules()).join("\n"));
  }
}
